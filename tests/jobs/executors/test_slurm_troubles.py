"""What Slurm itself does to jobs, and any process killed anywhere: a run is measured once or ends as it says."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from jobs.errors import TryLater
from jobs.executors._attempts import Attempt
from jobs.executors._slurm_orders import JobNames
from jobs.protocols import Executor, JobOutcome, JobState
from tests.fakes.slurm import Cluster
from tests.jobs.executors.slurm_bench import HANGS, WRITES, Ended, Job, Until, job_of, run, running

pytestmark = pytest.mark.real("slurm")


# --- Slurm's own doings ----------------------------------------------------------------------------------------


def test_a_job_cancelled_by_hand_is_cancelled(
    make_slurm: Callable[..., Executor], shared_cluster: Cluster, job: Job, ended: Ended, until: Until, folder: Path
) -> None:
    executor = make_slurm()
    executor.start(job("byhand", HANGS))
    running(executor, "byhand", until)
    shared_cluster.ask("scancel", job_of(folder, "byhand"))
    status = ended(executor, "byhand")
    assert status.outcome is JobOutcome.CANCELLED
    assert "cancelled in Slurm" in status.detail


def test_a_job_that_a_service_cancelled_before_it_went_is_not_somebody_elses_doing(
    make_slurm: Callable[..., Executor], shared_cluster: Cluster, job: Job, ended: Ended, until: Until, folder: Path
) -> None:
    executor = make_slurm(options=["--begin=now+1hour"])
    executor.start(job("left", WRITES))
    until(lambda: executor.poll("left").detail.startswith("in Slurm's queue"), "the job in the queue")
    attempt = Attempt(folder.resolve() / "left")
    attempt.file("cancel").touch()
    shared_cluster.ask("scancel", attempt.file("submitted.txt").read_text().split()[0])
    assert ended(executor, "left").detail == "cancelled"


def test_a_job_that_waits_longer_than_its_limit_is_taken_out_of_the_queue(
    make_slurm: Callable[..., Executor], shared_cluster: Cluster, job: Job, ended: Ended, nothing_left: None
) -> None:
    status = run(make_slurm(options=["--begin=now+1hour"], queue_limit_s=1), job("waits", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "in Slurm's queue: BeginTime" in status.detail


def test_while_it_waits_slurms_own_reason_is_told(
    make_slurm: Callable[..., Executor], job: Job, until: Until, nothing_left: None
) -> None:
    executor = make_slurm(options=["--begin=now+1hour"])
    executor.start(job("queued", WRITES))
    until(lambda: executor.poll("queued").detail.startswith("in Slurm's queue: BeginTime (job "), "the reason")
    assert executor.poll("queued").state is JobState.PREPARING
    executor.cancel("queued")
    assert executor.poll("queued").detail == "cancelled"


def test_a_job_put_back_into_the_queue_while_it_ran_is_lost_and_measures_nothing_twice(
    make_slurm: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    nothing_left: None,
) -> None:
    executor = make_slurm()
    executor.start(job("again", HANGS))
    running(executor, "again", until)
    number = job_of(folder, "again")
    shared_cluster.ask("scontrol", "update", f"jobid={number}", "requeue=1")
    shared_cluster.ask("scontrol", "requeue", number)
    status = ended(executor, "again")
    assert status.outcome is JobOutcome.LOST
    assert "back into its queue while it ran" in status.detail
    assert json.loads((folder / "again" / "claimed.json").read_text())["restart"] == "0"


def test_a_job_for_an_attempt_that_is_claimed_leaves_at_once(
    make_slurm: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    tmp_path: Path,
) -> None:
    executor, counter = make_slurm(), tmp_path / "times"
    spec = job("twice", f"open({str(counter)!r}, 'a').write('x')\n{WRITES}")
    run(executor, spec, ended)
    options = [f"--output={folder}/second.log", f"--export=ALL,PYTHONPATH={Path(__file__).parents[3]}"]
    shared_cluster.ask("sbatch", *options, str(folder / "twice" / "job.sh"))
    until(lambda: "claimed already" in _read(folder / "second.log"), "the second job to leave")
    assert counter.read_text() == "x"


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_sweep_ends_a_job_whose_folder_is_gone(
    make_slurm: Callable[..., Executor], shared_cluster: Cluster, job: Job, until: Until, folder: Path
) -> None:
    executor = make_slurm()
    executor.start(job("gone", HANGS))
    running(executor, "gone", until)
    shutil.rmtree(folder / "gone", ignore_errors=True)
    executor.sweep(frozenset())
    prefix = JobNames.of(folder.resolve()).prefix
    until(lambda: not shared_cluster.active_jobs(prefix), "the job to be over")


def test_a_sweep_leaves_the_attempts_of_other_executors_alone(
    make_slurm: Callable[..., Executor], executor: Executor, job: Job, until: Until
) -> None:
    executor.start(job("local", HANGS))
    running(executor, "local", until)
    assert list(make_slurm().sweep(frozenset())) == []
    assert executor.poll("local").state is JobState.RUNNING
    executor.cancel("local")


# --- trouble ---------------------------------------------------------------------------------------------------


def test_a_controller_that_is_killed_under_a_run_is_asked_later_and_the_run_goes_on(
    on_own: Executor, own_cluster: Cluster, job: Job, until: Until, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    waits = f"""
        import os, time
        while not os.path.exists({str(go)!r}):
            time.sleep(0.05)
        {WRITES}
    """
    on_own.start(job("run", waits))
    running(on_own, "run", until)
    own_cluster.kill("slurmctld")
    until(lambda: _is_away(on_own, "run"), "the controller to be missed")
    go.touch()
    until(lambda: _ended_or_later(on_own, "run"), "the run to end without a controller")
    assert on_own.poll("run").outcome is JobOutcome.OK
    own_cluster.start_controller()
    own_cluster.wait_until_ready()


def _is_away(executor: Executor, key: str) -> bool:
    try:
        executor.poll(key)
    except TryLater as error:
        return "Slurm does not answer" in str(error)
    return False


def test_what_is_started_while_the_controller_is_away_runs_once_it_is_back(
    on_own: Executor, own_cluster: Cluster, job: Job, until: Until, folder: Path
) -> None:
    own_cluster.kill("slurmctld")
    on_own.start(job("early", WRITES))
    assert [_is_away(on_own, "early") for _ in range(3)] == [True] * 3, "away between two questions too"
    own_cluster.start_controller()
    own_cluster.wait_until_ready()
    until(lambda: _ended_or_later(on_own, "early"), "the attempt to end")
    assert on_own.poll("early").outcome is JobOutcome.OK
    assert len((folder / "early" / "submitted.txt").read_text().split()) == 1


def _ended_or_later(executor: Executor, key: str) -> bool:
    try:
        return executor.poll(key).state is JobState.ENDED
    except TryLater:
        return False


def test_a_running_attempt_is_cancelled_without_the_controller_too(
    on_own: Executor, own_cluster: Cluster, job: Job, until: Until
) -> None:
    on_own.start(job("cut", HANGS))
    running(on_own, "cut", until)
    own_cluster.kill("slurmctld")
    on_own.cancel("cut")
    assert on_own.poll("cut").outcome is JobOutcome.CANCELLED


def test_a_lost_node_is_a_lost_attempt(
    on_own: Executor, own_cluster: Cluster, job: Job, ended: Ended, until: Until, folder: Path
) -> None:
    on_own.start(job("node", HANGS))
    running(on_own, "node", until)
    own_cluster.ask("scontrol", "update", f"nodename={own_cluster.host}", "state=down", "reason=pulled")
    status = ended(on_own, "node")
    assert status.outcome is JobOutcome.LOST
    assert "its node was lost" in status.detail


def test_a_result_is_not_taken_before_all_of_it_has_arrived(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended, folder: Path
) -> None:
    executor = make_slurm(files_within_s=60)
    executor.start(job("half", "open('result.json', 'w').write('[1, 2, 3]')"))
    attempt = Attempt(folder.resolve() / "half")
    _wait_for(attempt.file("status.json"))
    result = folder / "half" / "result" / "result.json"
    result.write_text("[1, 2")
    assert executor.poll("half").state is JobState.RUNNING
    result.write_text("[1, 2, 3]")
    assert executor.poll("half").outcome is JobOutcome.OK


def test_a_result_that_never_arrives_whole_is_a_lost_attempt_for_every_caller(
    make_slurm: Callable[..., Executor], job: Job, folder: Path
) -> None:
    executor = make_slurm(files_within_s=0)
    executor.start(job("cut", "open('result.json', 'w').write('[1, 2, 3]')"))
    _wait_for(folder / "cut" / "status.json")
    (folder / "cut" / "result" / "result.json").write_text("[1, 2")
    status = executor.poll("cut")
    assert (status.outcome, status.detail) == (
        JobOutcome.LOST,
        "not all of its files arrived whole: result/result.json",
    )
    assert make_slurm(files_within_s=60).poll("cut") == status


def _wait_for(path: Path) -> None:
    from tests.jobs.executors.conftest import wait

    wait(path.exists, f"{path} to be written")


# --- any process may die anywhere ------------------------------------------------------------------------------


def test_a_caller_killed_after_sbatch_and_before_it_read_the_number_leaves_one_job(
    slurm_options: dict[str, object],
    make_slurm: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    folder: Path,
    cache: Path,
    tmp_path: Path,
) -> None:
    """A wrapper around sbatch kills its caller once the job is in, and prints nothing, as if killed as well."""
    real = shutil.which("sbatch")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("squeue", "scontrol", "sacct", "scancel", "srun"):
        if found := shutil.which(name):
            (bin_folder / name).symlink_to(found)
    wrapper = bin_folder / "sbatch"
    wrapper.write_text(f'#!/bin/sh\n{real} "$@" >/dev/null\nkill -9 $PPID\n')
    wrapper.chmod(0o755)
    spec = job("orphan", WRITES)
    starter = tmp_path / "starter.py"
    starter.write_text(
        dedent(f"""
            from pathlib import Path
            from jobs.executors import slurm
            from jobs.protocols import JobSpec
            options = {dict(slurm_options, bin=str(bin_folder))!r}
            spec = JobSpec(key="orphan", component="thing", version="1.0", build_kind="wheel", build_location="thing",
                           build_digest="sha256:00", program={spec.program!r})
            slurm.create(options, folder=Path({str(folder)!r}), cache=Path({str(cache)!r})).start(spec)
        """)
    )
    done = subprocess.run([sys.executable, str(starter)], cwd=Path(__file__).parents[3], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    executor = make_slurm()
    executor.start(spec)
    assert ended(executor, "orphan").outcome is JobOutcome.OK
    name = JobNames.of(folder.resolve()).name_of("orphan")
    jobs = shared_cluster.ask("squeue", "-h", "-t", "all", "-o", "%j").splitlines()
    assert jobs.count(name) == 1


def test_a_claim_for_nobody_whose_writer_died_ends_as_it_says(
    make_slurm: Callable[..., Executor], job: Job, folder: Path
) -> None:
    executor = make_slurm()
    Attempt(folder.resolve() / "half").claim({"nobody": "cancelled", "outcome": "cancelled"})
    assert executor.poll("half").outcome is JobOutcome.CANCELLED
    executor.start(replace(job("half", WRITES), key="half"))
    assert executor.poll("half").outcome is JobOutcome.CANCELLED
