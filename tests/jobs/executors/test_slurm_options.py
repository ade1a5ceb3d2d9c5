"""What may be set about Slurm, and what sbatch and srun are then given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.executors._commands import Ended
from jobs.executors._slurm_commands import passed_on
from jobs.executors._slurm_container import blame, container_words, image_argument, mount_argument
from jobs.executors._slurm_node import check_gpus
from jobs.executors._slurm_options import read_options, sbatch_options
from jobs.protocols import ContainerLimits, JobOutcome, JobSpec, Nodes

DIGEST = "sha256:" + "ab" * 32
JOB = JobSpec(
    key="run-1-1",
    component="tensorrt-llm",
    version="1.2.0",
    build_kind="image",
    build_location="nvcr.io/nvidia/tensorrt-llm/release:1.2.0",
    build_digest=DIGEST,
    program="trtllm-bench",
)


def _words(job: JobSpec = JOB, **options: object) -> list[str]:
    return sbatch_options(read_options(options, ()), job, name="tracker-0a-run-1-1", log=Path("/data/run-1-1/s.log"))


def test_a_job_is_named_and_may_not_be_requeued() -> None:
    words = _words()
    assert {"--parsable", "--no-requeue", "--job-name=tracker-0a-run-1-1", "--comment=tracker-0a-run-1-1"} <= {*words}
    assert not any(word.startswith(("--partition", "--account", "--qos", "--gres", "--mem")) for word in words)


def test_what_is_set_is_asked_for() -> None:
    words = _words(
        partition="gpu",
        account="lab",
        qos="hi",
        memory_mb=64_000,
        cpus=16,
        exclusive=True,
        options=["--constraint=a&b"],
    )
    wanted = {"--partition=gpu", "--account=lab", "--qos=hi", "--mem=64000M", "--cpus-per-task=16", "--exclusive"}
    assert {*wanted, "--constraint=a&b"} <= {*words}


def test_slurms_time_limit_leaves_the_attempts_own_limits_room() -> None:
    assert "--time=12" in _words(replace(JOB, setup_timeout_s=300, timeout_s=300))


@pytest.mark.parametrize(
    ("gres", "gpus", "asked"),
    [
        ("", 0, None),
        ("", 4, "gpu:4"),
        ("gpu:h200:{gpus}", 2, "gpu:h200:2"),
        ("gpu:h200:{gpus}", 0, None),
        ("gpu:h200:{gpus},lustre", 0, "lustre"),
        ("gpu:8", 2, "gpu:8"),
    ],
)
def test_gpus_are_asked_for_as_gres(gres: str, gpus: int, asked: str | None) -> None:
    found = [word for word in _words(replace(JOB, gpus=gpus), gres=gres) if word.startswith("--gres=")]
    assert found == ([f"--gres={asked}"] if asked else [])


@pytest.mark.parametrize(
    ("gres", "count"), [("gpu", 1), ("gpu:2", 2), ("gpu:h200:3", 3), ("gpu:h200", 1), ("fpga:2", 0)]
)
def test_gpus_in_a_gres_are_counted(gres: str, count: int) -> None:
    assert read_options({"gres": gres}, ()).gpus_of(JOB) == count


INJECTIONS = ["a\nb", "a b", "a;b", "$(id)", "--wrap=id", "-x", "a\0", "a\n#SBATCH --uid=0", "é"]


@pytest.mark.parametrize("name", ["partition", "account", "qos", "gres", "mpi"])
@pytest.mark.parametrize("value", INJECTIONS)
def test_a_value_cannot_turn_into_another_option(name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"executor slurm: {name} must look like"):
        read_options({name: value}, ())


@pytest.mark.parametrize(
    "option",
    [
        "--wrap=id",
        "--wr=id",
        "--array=1-9",
        "--export=ALL",
        "--job-name=x",
        "--uid=0",
        "--requeue",
        "--wait",
        "--sig=9",
    ],
)
def test_options_that_would_break_what_is_promised_are_refused(option: str) -> None:
    with pytest.raises(UserError, match=r"is set by the tracker"):
        read_options({"options": [option]}, ())


@pytest.mark.parametrize(
    "option", ["constraint=a", "--constraint=a b", "--x=`id`", "--x=$(id)", "-C a", "--", "--x=\n", ""]
)
def test_options_that_do_not_look_like_one_are_refused(option: str) -> None:
    with pytest.raises(UserError, match="options must look like"):
        read_options({"options": [option]}, ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"options": "--constraint=a"}, "must be a list of texts"),
        ({"mounts": ["models"]}, "mounts must look like"),
        ({"mounts": ["/a:/b:rw"]}, "mounts must look like"),
        ({"cpus": 0}, "cpus must be a number from 1"),
        ({"cpus": 1.5}, "cpus must be a whole number"),
        ({"memory_mb": -1}, "memory_mb must be a number from 0"),
        ({"exclusive": "yes"}, "exclusive must be true or false"),
        ({"answers": "xml"}, "answers must be 'text' or 'json'"),
        ({"python": "python3"}, "python must look like"),
        ({"partition": 5}, "partition must look like"),
        ({"ask_every_s": float("nan")}, "ask_every_s must be a number"),
        ({"acount": "x"}, "Did you mean 'account'"),
    ],
)
def test_an_option_that_cannot_be_says_what_was_expected_and_found(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_options(options, ())


@given(st.dictionaries(st.sampled_from(["partition", "gres", "options", "mounts", "cpus", "python"]), st.text()))
def test_no_text_makes_a_word_that_is_not_one_option(options: dict[str, str]) -> None:
    try:
        words = _words(**options)
    except UserError:
        return
    assert all(word.startswith("--") and "\n" not in word and "\0" not in word for word in words)


def test_only_what_installers_need_is_passed_on() -> None:
    given_ = {"PATH": "/bin", "PIP_INDEX_URL": "x", "https_proxy": "p", "TRACKER_SLACK__TOKEN": "s", "AWS_SECRET": "s"}
    given_ |= {"SBATCH_ACCOUNT": "x", "SLURM_JOB_ID": "5", "SLURM_CONF": "/c", "PYTHONPATH": "/elsewhere"}
    assert passed_on(given_) == {"PATH": "/bin", "PIP_INDEX_URL": "x", "https_proxy": "p", "SLURM_CONF": "/c"}


# --- containers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "digest", "expected"),
    [
        ("nvcr.io/nvidia/tensorrt-llm/release:1.2.0", DIGEST, f"nvcr.io#nvidia/tensorrt-llm/release:{DIGEST}"),
        ("nvcr.io/nvidia/tensorrt-llm/release@" + DIGEST, DIGEST, f"nvcr.io#nvidia/tensorrt-llm/release:{DIGEST}"),
        ("vllm/vllm-openai:v0.20.1", "", "vllm/vllm-openai:v0.20.1"),
        ("docker.io/vllm/vllm-openai@" + DIGEST, DIGEST, f"vllm/vllm-openai:{DIGEST}"),
        ("localhost/bench", DIGEST, f"localhost#bench:{DIGEST}"),
        ("10.0.0.7:5000/bench:1", "", "10.0.0.7:5000#bench:1"),
        ("/images/release.sqsh", DIGEST, "/images/release.sqsh"),
    ],
)
def test_images_are_named_as_pyxis_takes_them_and_by_digest(location: str, digest: str, expected: str) -> None:
    assert image_argument(replace(JOB, build_location=location, build_digest=digest)) == expected


@pytest.mark.parametrize("location", ["", "--container-remap-root", "a b", "nvcr.io/x:1\n", "images/x.sqsh", "UPPER/x"])
def test_what_is_no_image_is_refused(location: str) -> None:
    with pytest.raises(UserError, match="expected"):
        image_argument(replace(JOB, build_location=location))


def test_all_but_the_working_folder_is_mounted_to_read_only() -> None:
    mounts = mount_argument(["/models", "/data/engines:/engines"], Path("/a/work"), Path("/suites/bench.py"))
    assert mounts == "/a/work:/a/work,/models:/models:ro,/data/engines:/engines:ro,/suites/bench.py:/suites/bench.py:ro"
    with pytest.raises(UserError, match="cannot be mounted"):
        mount_argument([], Path("/a,b/work"), None)


def test_a_program_in_a_container_is_a_step_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "16")
    order = {"srun": "/usr/bin/srun", "mpi": "pmix", "mounts": ["/models"]}
    job = replace(JOB, container=ContainerLimits(entrypoint=False))
    words = container_words(job, order, "/cache/images/x.sqsh", Path("/a/work"))
    assert words[0] == "/usr/bin/srun"
    assert words[-1] == "trtllm-bench"
    assert {"--mpi=pmix", "--cpus-per-task=16", "--no-container-mount-home", "--no-container-entrypoint"} <= {*words}
    assert "--container-image=/cache/images/x.sqsh" in words
    script = container_words(replace(JOB, program="/suites/bench.py"), order, "x", Path("/a/work"))
    assert script[-2:] == ("python3", "/suites/bench.py")


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        ("slurmstepd: error: pyxis: failed to import docker image\n", JobOutcome.INFRA_FAILED),
        ("srun: unrecognized option '--container-image=x'\n", JobOutcome.INFRA_FAILED),
        ("pyxis: importing docker image\nRuntimeError: no engine\n", JobOutcome.TOOL_FAILED),
        ("trtllm-bench: not found\n", JobOutcome.TOOL_FAILED),
    ],
)
def test_a_container_that_does_not_come_up_is_not_the_benchmarks_fault(
    tmp_path: Path, log: str, outcome: JobOutcome
) -> None:
    path = tmp_path / "run.log"
    path.write_text(log)
    assert blame(Ended(JobOutcome.TOOL_FAILED, "exit code 1", 1), path).outcome is outcome


def test_a_gpu_in_name_only_is_noticed_before_anything_is_measured() -> None:
    check_gpus(2, {"CUDA_VISIBLE_DEVICES": "0,1"})
    check_gpus(0, {})
    for variables in ({}, {"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, {"CUDA_VISIBLE_DEVICES": "0"}):
        with pytest.raises(Ended, match=r"asked Slurm for 2 GPU\(s\)") as caught:
            check_gpus(2, variables)
        assert caught.value.outcome is JobOutcome.INFRA_FAILED


# --- several nodes -------------------------------------------------------------------------------------------------


WIDE = replace(JOB, gpus=8, nodes=Nodes(count=2, ranks_per_node=4, launcher=("{srun}", "llm-launch", "{program}")))


def test_gpus_are_counted_over_all_nodes_and_asked_for_on_each() -> None:
    words = _words(WIDE, gres="gpu:gb200:{gpus}", cpus=8)
    wanted = {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--gres=gpu:gb200:4", "--cpus-per-task=8"}
    assert wanted <= {*words}
    assert read_options({}, ()).gpus_of(WIDE) == 4


def test_one_process_is_asked_for_as_ever() -> None:
    words = _words()
    assert {"--nodes=1", "--ntasks=1"} <= {*words}
    assert not any(word.startswith("--ntasks-per-node") for word in words)


def test_ranks_in_containers_run_below_the_ranks_script_which_the_image_sees(tmp_path: Path) -> None:
    order = {"srun": "/usr/bin/srun", "mpi": "pmix", "mounts": ["/data/models:/models"]}
    words = container_words(WIDE, order, "nvcr.io#nvidia/tensorrt-llm/release:1.2.0", tmp_path)
    assert words[:6] == (
        "/usr/bin/srun",
        "--nodes=2",
        "--ntasks=8",
        "--ntasks-per-node=4",
        "--kill-on-bad-exit=1",
        "--input=none",
    )
    assert "--mpi=pmix" in words
    assert f"--container-mounts={tmp_path}:{tmp_path},/data/models:/models:ro" in words
    assert words[-5:] == ("--container-entrypoint", "sh", f"{tmp_path}/.ranks/rank.sh", "llm-launch", "trtllm-bench")
