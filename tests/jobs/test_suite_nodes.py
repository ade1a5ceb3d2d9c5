"""`[run.nodes]`: ranks on several nodes as data of a suite, their checks, their identity, and the job they become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.executors import docker_engine, kubernetes, local
from jobs.executors._attempts import job_from_json, job_to_json
from jobs.protocols import JobSpec, Nodes
from jobs.suite import BuildUnderTest, example_suites, expand, gpus_of, job_spec, load_suite, suite_revision

PLAIN = """
name = "wide"
title = "Two nodes"
component = "thing"

[source]
kind = "folder"
path = "/builds"

[matrix]
model = ["small"]

[run]
executor = "slurm"
program = "thing-bench"
arguments = ["--model", "{model}"]
timeout_s = 60

[hardware]
gpus = 8

[output]
tool = "my_bench"
parser = "generic"

[[expect]]
metrics = ["output_tok_s"]
"""
NODES = """
[run.nodes]
count = 2
ranks_per_node = 4
launcher = ["{srun}", "thing-launch", "{ranks}", "{program}"]
environment = {DEVICE = "mlx5_{local_rank}", MAIN = "{first_host}"}
"""
BUILD = BuildUnderTest(version="1.0", kind="wheel", location="thing-1.0-py3-none-any.whl", digest="sha256:00")
JOB = JobSpec(
    key="run-1-1",
    component="thing",
    version="1.0",
    build_kind="image",
    build_location="localhost/thing:1.0",
    build_digest="sha256:" + "ab" * 32,
    program="thing-bench",
    nodes=Nodes(count=2, ranks_per_node=4),
)


def _write(folder: Path, text: str) -> Path:
    path = folder / "wide.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _changed(folder: Path, old: str, new: str) -> Path:
    whole = PLAIN + NODES
    assert whole.count(old) == 1, f"{old!r} must stand once in the sample"
    return _write(folder, whole.replace(old, new))


def test_nodes_and_gpus_are_identity_and_the_job_is_told_all(tmp_path: Path) -> None:
    suite = load_suite(_write(tmp_path, PLAIN + NODES))
    (config,) = expand(suite, python_minor="3.11")
    assert (config.labels["node_count"], config.labels["gpu_count"], gpus_of(suite, config)) == (2, 8, 8)
    job = job_spec(suite, config, BUILD, key="run-1-1", python_minor="3.11")
    assert job.nodes is not None
    assert (job.nodes.count, job.nodes.ranks, job.gpus, job.gpus_per_node) == (2, 8, 8, 4)
    assert job.nodes.launcher == ("{srun}", "thing-launch", "{ranks}", "{program}")
    assert job.nodes.environment == {"DEVICE": "mlx5_{local_rank}", "MAIN": "{first_host}"}


def test_a_suite_without_the_table_is_one_process_and_has_no_number_of_nodes(tmp_path: Path) -> None:
    suite = load_suite(_write(tmp_path, PLAIN))
    (config,) = expand(suite, python_minor="3.11")
    assert "node_count" not in config.labels
    assert job_spec(suite, config, BUILD, key="run-1-1", python_minor="3.11").nodes is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NODES, ""),
        ("count = 2", "count = 4"),
        ("ranks_per_node = 4", "ranks_per_node = 2"),
        ('"thing-launch", ', ""),
        ("ranks_per_node = 4", "ranks_per_node = 4\nresult_rank = 1"),
        ("mlx5_{local_rank}", "mlx5_{rank}"),
    ],
)
def test_every_key_of_the_table_decides_the_revision(tmp_path: Path, old: str, new: str) -> None:
    before = suite_revision(load_suite(_write(tmp_path, PLAIN + NODES)))
    assert suite_revision(load_suite(_changed(tmp_path, old, new))) != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count = 2", "", "run.nodes.count: this key is missing; add it (nodes of one run)"),
        ("count = 2", "cuont = 2", "run.nodes.cuont: unknown key; did you mean 'count'?"),
        ("count = 2", "count = 0", "run.nodes.count: input should be greater than or equal to 1"),
        ("count = 2", "count = 2.0", "run.nodes.count: input should be a valid integer"),
        ("count = 2", 'count = "2"', "run.nodes.count: input should be a valid integer"),
        ("count = 2", "count = 3", "hardware.gpus: 8 GPUs cannot be shared evenly by 3 nodes"),
        ("gpus = 8", "gpus = 7", "hardware.gpus: 7 GPUs cannot be shared evenly by 2 nodes"),
        ("[hardware]\ngpus = 8\n", "", "matrix.node_count: run.nodes.count = 2 says it; remove the label"),
        ("ranks_per_node = 4", "ranks_per_node = 0", "run.nodes.ranks_per_node: input should be greater than"),
        ("ranks_per_node = 4", "ranks_per_node = 4\nresult_rank = 8", "expected a rank from 0 to 7, found 8"),
        ("ranks_per_node = 4", "ranks_per_node = 4\nresult_rank = -1", "result_rank: input should be greater than"),
        (', "{program}"]', "]", 'run.nodes.launcher: the last text must be "{program}"'),
        (', "{program}"]', ', "{program}", "-v"]', 'the last text must be "{program}"'),
        ('"{srun}", "thing-launch", "{ranks}", "{program}"', '"{program}"', "nothing starts the ranks"),
        ('"{srun}", "thing-launch"', '"thing-launch", "{srun}"', '"{srun}" must be the first text'),
        ('"{srun}", "thing-launch", "{ranks}", "{program}"', "", "run.nodes.launcher: tuple should have at least 1"),
        ('"{ranks}"', '"{rnaks}"', "nothing fills {rnaks} in '{rnaks}'; did you mean {ranks}?"),
        ('"{ranks}"', '"{rank}"', "nothing fills {rank} in '{rank}'; did you mean {ranks}?"),
        ('"{ranks}"', '"{ranks"', "a brace without its partner in '{ranks'"),
        ("mlx5_{local_rank}", "mlx5_{lokal_rank}", "run.nodes.environment.DEVICE: nothing fills {lokal_rank}"),
        ("mlx5_{local_rank}", "a\\nb", "run.nodes.environment.DEVICE: expected one line of text"),
        ("DEVICE =", '"DE VICE" =', "run.nodes.environment.DE VICE"),
        ("timeout_s = 60", "timeout_s = 60\npin_cores = 2", "run.pin_cores: cores are pinned for one process"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_table_is_named_with_file_key_and_cure(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = _changed(tmp_path, old, new)
    if "matrix.node_count" in message:
        path.write_text(path.read_text().replace('model = ["small"]', 'model = ["small"]\nnode_count = [2]'))
    with pytest.raises(UserError) as caught:
        load_suite(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_gpus_of_the_matrix_are_shared_out_too(tmp_path: Path) -> None:
    text = (PLAIN + NODES).replace("[hardware]\ngpus = 8\n", "")
    path = _write(tmp_path, text.replace('model = ["small"]', 'model = ["small"]\ngpu_count = [8, 5]'))
    with pytest.raises(UserError, match=r"matrix\.gpu_count: 5 GPUs cannot be shared evenly by 2 nodes"):
        load_suite(path)


def test_images_need_srun_as_the_launcher(tmp_path: Path) -> None:
    text = (PLAIN + NODES).replace('"{srun}", "thing-launch"', '"mpirun", "-n"')
    load_suite(_write(tmp_path, text))
    registry = 'kind = "oci_registry"\nrepository = "localhost/thing"'
    with pytest.raises(UserError, match=r'only "\{srun\}" starts ranks in containers of an image'):
        load_suite(_write(tmp_path, text.replace('kind = "folder"\npath = "/builds"', registry)))


@pytest.mark.parametrize("executor", ["local", "docker_engine", "kubernetes", "replay"])
def test_an_executor_that_cannot_start_ranks_is_refused_when_the_suite_is_checked(
    tmp_path: Path, executor: str
) -> None:
    path = _changed(tmp_path, 'executor = "slurm"', f'executor = "{executor}"')
    with pytest.raises(UserError) as caught:
        load_suite(path)
    said = f"executor '{executor}' starts one process on one machine and cannot start ranks on several"
    assert f"run.nodes: {said}; use run.executor = 'slurm', or remove the table" in str(caught.value)


def test_an_executor_that_cannot_start_ranks_refuses_the_job_too(tmp_path: Path) -> None:
    places = {"folder": tmp_path / "attempts", "cache": tmp_path / "cache"}
    server = {"server": "http://127.0.0.1:9", "namespace": "benchmarks"}
    made = [local.create({}, **places), docker_engine.create({}, **places), kubernetes.create(server, **places)]
    for executor in made:
        with pytest.raises(UserError, match="found 8 ranks on 2 node"):
            executor.start(JOB)
    assert not (tmp_path / "attempts" / JOB.key).exists()


texts = st.text(max_size=20)


@given(
    count=st.integers(1, 9),
    ranks=st.integers(1, 9),
    launcher=st.lists(texts, min_size=1).map(tuple),
    environment=st.dictionaries(texts, texts),
)
def test_the_order_on_disk_holds_the_ranks_as_they_were(
    count: int, ranks: int, launcher: tuple[str, ...], environment: dict[str, str]
) -> None:
    nodes = Nodes(count=count, ranks_per_node=ranks, launcher=launcher, environment=environment)
    job = JobSpec(**{**{name: getattr(JOB, name) for name in JobSpec.__slots__}, "nodes": nodes})
    assert job_from_json(json.loads(json.dumps(job_to_json(job)))) == job


def test_the_example_of_two_nodes_asks_for_eight_ranks_and_eight_gpus() -> None:
    (path,) = (path for path in example_suites() if path.stem == "trtllm_two_nodes")
    suite = load_suite(path)
    configs = expand(suite, python_minor="3.11")
    assert {(c.labels["node_count"], c.labels["gpu_count"], c.labels["tp"]) for c in configs} == {(2, 8, 8)}
    assert suite.run.nodes is not None
    assert suite.run.nodes.launcher[:2] == ("{srun}", "trtllm-llmapi-launch")
