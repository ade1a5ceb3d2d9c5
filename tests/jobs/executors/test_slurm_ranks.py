"""Runs of several ranks on a real Slurm of two nodes (two slurmd on this machine): who is heard, and who is blamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import UserError
from jobs.executors import slurm
from jobs.executors._slurm_orders import JobNames
from jobs.protocols import Asset, Executor, JobOutcome, JobSpec, JobState, JobStatus, Nodes
from tests.fakes.slurm import Cluster
from tests.jobs.executors.conftest import options_for

pytestmark = pytest.mark.real("slurm")

Ended = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]
Until = Callable[..., object]
TWO_BY_TWO = Nodes(count=2, ranks_per_node=2)
HEAD = """
        import json, os, pathlib, signal, sys, time
        rank = int(os.environ["SLURM_PROCID"])
        def write(**values): pathlib.Path("result.json").write_text(json.dumps(values))
"""


@pytest.fixture
def executor(cluster_of_two: Cluster, folder: Path, cache: Path) -> Executor:
    return slurm.create(options_for(cluster_of_two), folder=folder, cache=cache)


def _program(text: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in text.strip().splitlines())


def _run(executor: Executor, spec: JobSpec, ended: Ended) -> JobStatus:
    executor.start(spec)
    return ended(executor, spec.key)


def _texts(executor: Executor, key: str) -> dict[str, str]:
    return {output.name: output.path.read_text() for output in executor.fetch(key)}


def _is_over(cluster: Cluster, folder: Path, until: Until) -> None:
    until(lambda: not cluster.active_jobs(JobNames.of(folder.resolve()).prefix), "its jobs to be over")


def test_all_ranks_run_on_both_nodes_and_one_of_them_writes_the_result(
    executor: Executor, job: Job, ended: Ended, cluster_of_two: Cluster
) -> None:
    text = """
write(rank=rank, host=os.environ["SLURMD_NODENAME"], gpus=os.environ["CUDA_VISIBLE_DEVICES"])
print("rank", rank, "of", os.environ["SLURM_NTASKS"], "on", os.environ["SLURMD_NODENAME"])
"""
    status = _run(executor, job("whole", _program(text), nodes=TWO_BY_TWO, gpus=4), ended)
    assert (status.outcome, status.detail) == (JobOutcome.OK, "")
    texts = _texts(executor, "whole")
    first, second = cluster_of_two.ask("scontrol", "show", "hostnames", f"{cluster_of_two.host},left").split()
    first, second = sorted((first, second))
    assert json.loads(texts["result.json"]) == {"rank": 0, "host": first, "gpus": "0,1"}
    assert texts["run.log"] == f"rank 0 of 4 on {first}\n"
    others = {
        f"rank-{rank}.log": f"rank {rank} of 4 on {host}\n" for rank, host in ((1, first), (2, second), (3, second))
    }
    assert {name: text for name, text in texts.items() if name.startswith("rank-")} == others
    assert json.loads(texts["environment.json"])["scheduler"]["job_nodelist"] == "left,vm".replace(
        "vm", cluster_of_two.host
    )


def test_another_rank_than_the_first_may_write_the_result(executor: Executor, job: Job, ended: Ended) -> None:
    nodes = replace(TWO_BY_TWO, result_rank=3)
    assert _run(executor, job("last", _program("write(rank=rank)"), nodes=nodes), ended).outcome is JobOutcome.OK
    assert json.loads(_texts(executor, "last")["result.json"]) == {"rank": 3}


def test_assets_lie_in_the_folder_of_every_rank(executor: Executor, job: Job, ended: Ended, tmp_path: Path) -> None:
    maker = tmp_path / "maker.py"
    maker.write_text("import sys\nopen(sys.argv[1], 'w').write('weights')\n")
    text = 'print(rank, open("model.bin").read())\nwrite()'
    spec = job("assets", _program(text), nodes=TWO_BY_TWO, assets=(Asset(name="model.bin", maker=str(maker)),))
    assert _run(executor, spec, ended).outcome is JobOutcome.OK
    texts = _texts(executor, "assets")
    assert (texts["run.log"], texts["rank-3.log"]) == ("0 weights\n", "3 weights\n")


def test_the_log_of_one_rank_is_cut_to_its_share(executor: Executor, job: Job, ended: Ended) -> None:
    text = "write()\nif rank == 2: print('x' * 500_000, flush=True)"
    spec = job("flood", _program(text), nodes=TWO_BY_TWO, output_limit_bytes=300_000)
    assert _run(executor, spec, ended).outcome is JobOutcome.OK
    assert len(_texts(executor, "flood")["rank-2.log"]) == 75_000


def test_a_result_of_the_wrong_rank_is_none(executor: Executor, job: Job, ended: Ended) -> None:
    status = _run(executor, job("wrong", _program("if rank == 1: write(rank=rank)"), nodes=TWO_BY_TWO), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "rank 0: wrote no result.json")


def test_every_rank_has_its_own_variables_and_a_copy_of_nothing_else(
    executor: Executor, job: Job, ended: Ended, cluster_of_two: Cluster
) -> None:
    values = {"PLACE": "it's {rank}/{ranks} = {local_rank}@{node}", "MAIN": "{first_host}:{nodes}x{ranks_per_node}"}
    text = 'write()\nprint(os.environ["PLACE"], os.environ["MAIN"], *sorted(os.listdir(".")))'
    spec = job("own", _program(text), nodes=replace(TWO_BY_TWO, environment=values))
    assert _run(executor, spec, ended).outcome is JobOutcome.OK
    first = min("left", cluster_of_two.host)
    assert _texts(executor, "own")["rank-3.log"] == f"it's 3/4 = 1@1 {first}:2x2 result.json\n"


def test_one_rank_that_fails_fails_the_run_is_named_and_ends_the_others(
    executor: Executor, job: Job, ended: Ended, cluster_of_two: Cluster, folder: Path, until: Until,
    mentioning: Callable[[Path], list[int]], tmp_path: Path,
) -> None:  # fmt: skip
    text = """
write()
if rank == 2:
    sys.exit("no route to rank 0")
time.sleep(600)
"""
    status = _run(executor, job("fails", _program(text), nodes=TWO_BY_TWO), ended)
    host = max("left", cluster_of_two.host)
    wanted = f"rank 2 on {host}: exit code 1: no route to rank 0"
    assert (status.outcome, status.exit_code, status.detail) == (JobOutcome.TOOL_FAILED, 1, wanted)
    assert _texts(executor, "fails")["rank-2.log"] == "no route to rank 0\n"
    assert mentioning(tmp_path / "program-fails.py") == []
    _is_over(cluster_of_two, folder, until)


def test_a_rank_that_is_killed_is_named_with_its_signal(executor: Executor, job: Job, ended: Ended) -> None:
    text = "write()\nif rank == 1: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)"
    status = _run(executor, job("killed", _program(text), nodes=TWO_BY_TWO), ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.TOOL_FAILED, -9)
    assert status.detail.startswith("rank 1 on ")
    assert "ended by SIGKILL" in status.detail


def test_a_rank_that_hangs_is_named_by_the_time_limit_which_ends_it_on_its_node(
    executor: Executor, job: Job, ended: Ended, mentioning: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    text = "write()\nif rank == 3:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(600)"
    status = _run(executor, job("hangs", _program(text), nodes=TWO_BY_TWO, timeout_s=3.0), ended)
    wanted = "over the time limit of 3 s; rank 3 had not ended"
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, wanted)
    assert mentioning(tmp_path / "program-hangs.py") == []


def test_cancelling_ends_the_ranks_of_all_nodes(
    executor: Executor, job: Job, until: Until, cluster_of_two: Cluster, folder: Path,
    mentioning: Callable[[Path], list[int]], tmp_path: Path,
) -> None:  # fmt: skip
    executor.start(job("stop", _program("time.sleep(600)"), nodes=TWO_BY_TWO))
    path = tmp_path / "program-stop.py"
    until(lambda: executor.poll("stop").state is JobState.RUNNING and len(mentioning(path)) >= 8, "four ranks to run")
    executor.cancel("stop")
    assert executor.poll("stop").outcome is JobOutcome.CANCELLED
    until(lambda: mentioning(path) == [], "all ranks to be gone")
    _is_over(cluster_of_two, folder, until)


def test_what_stands_after_srun_is_run_by_every_rank(
    executor: Executor, job: Job, ended: Ended, tmp_path: Path
) -> None:
    wrapper = tmp_path / "only-first"
    wrapper.write_text(
        '#!/bin/sh\n[ "$SLURM_PROCID" = 0 ] || { echo "worker $SLURM_PROCID of $1"; exit 0; }\nshift\nexec "$@"\n'
    )
    wrapper.chmod(0o755)
    nodes = replace(TWO_BY_TWO, launcher=("{srun}", str(wrapper), "{ranks}", "{program}"))
    assert _run(executor, job("wrapped", _program("write()"), nodes=nodes), ended).outcome is JobOutcome.OK
    assert _texts(executor, "wrapped")["rank-3.log"] == "worker 3 of 4\n"


def test_another_launcher_is_called_as_written_and_tells_the_ranks_in_the_words_of_mpi(
    executor: Executor, job: Job, ended: Ended, tmp_path: Path
) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text(
        "#!/bin/sh\nn=$2; shift 2; i=0\n"
        'while [ $i -lt $n ]; do OMPI_COMM_WORLD_RANK=$i "$@" || code=$?; i=$((i + 1)); done\nexit ${code:-0}\n'
    )
    launcher.chmod(0o755)
    fails = 'sys.exit(5 * (os.environ["OMPI_COMM_WORLD_RANK"] == "1"))'
    program = f'import os, sys\nopen("result.json", "w").write("{{}}")\n{fails}'
    nodes = Nodes(count=2, ranks_per_node=1, launcher=(str(launcher), "-n", "{ranks}", "{program}"))
    status = _run(executor, job("mpi", program, nodes=nodes), ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.TOOL_FAILED, 5)
    assert status.detail.startswith("rank 1 on ")


@pytest.mark.parametrize(
    ("launcher", "outcome", "detail"),
    [
        (("/no/such/mpirun", "{program}"), JobOutcome.INFRA_FAILED, "no launcher '/no/such/mpirun' on the PATH of"),
        (("env", "{program}"), JobOutcome.TOOL_FAILED, "no launcher has told this process which rank it is"),
        (("env", "PMI_RANK=9", "{program}"), JobOutcome.TOOL_FAILED, "launcher started rank 9"),
        (("env", "PMI_RANK=0", "SLURM_PROCID=0", "{program}"), JobOutcome.TOOL_FAILED, "ranks 1, 2, 3 of 4 left no"),
    ],
)  # fmt: skip
def test_a_launcher_that_does_not_do_its_part_fails_the_run(
    executor: Executor, job: Job, ended: Ended, launcher: tuple[str, ...], outcome: JobOutcome, detail: str
) -> None:
    status = _run(executor, job("odd", _program("write()"), nodes=replace(TWO_BY_TWO, launcher=launcher)), ended)
    assert status.outcome is outcome
    assert detail in status.detail


def test_ranks_in_containers_are_started_by_srun_or_not_at_all(executor: Executor, job: Job) -> None:
    fields: dict[str, Any] = {"build_kind": "image", "build_location": "localhost/bench:1.0"}
    spec = job("image", nodes=replace(TWO_BY_TWO, launcher=("mpirun", "{program}")), **fields)
    with pytest.raises(UserError, match=r"must begin with '\{srun\}' for an image, found 'mpirun'"):
        executor.start(spec)
