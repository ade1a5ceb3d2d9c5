"""The Slurm executor on a real cluster of one node: how programs may end there, and what they are given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from jobs.errors import TryLater, UserError
from jobs.executors import slurm
from jobs.protocols import Executor, JobOutcome
from tests.fakes.slurm import Cluster
from tests.jobs.executors.slurm_bench import HANGS, WRITES, Ended, Job, Until, job_of, run, running, texts_of

pytestmark = pytest.mark.real("slurm")


# --- how a program may end -------------------------------------------------------------------------------------


def test_a_log_and_a_result_come_back_with_where_it_ran(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended, nothing_left: None
) -> None:
    executor = make_slurm()
    spec = job("bench", f"print('tokens per second: 812.5')\n{WRITES}")
    status = run(executor, spec, ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.OK, 0)
    texts = texts_of(executor, "bench")
    assert texts["log"] == "tokens per second: 812.5\n"
    scheduler = json.loads(texts["environment"])["scheduler"]
    assert scheduler["kind"] == "slurm"
    assert scheduler["job_partition"] == "debug"


def test_exit_codes_and_signals_of_the_program_are_told_apart(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    executor = make_slurm()
    code = run(executor, job("code", "import sys\nprint('no engine', file=sys.stderr)\nsys.exit(7)"), ended)
    crash = run(executor, job("crash", "import os\nos.kill(os.getpid(), 11)"), ended)
    assert (code.outcome, code.exit_code, code.detail) == (JobOutcome.TOOL_FAILED, 7, "exit code 7: no engine")
    assert (crash.outcome, crash.exit_code, crash.detail) == (JobOutcome.TOOL_FAILED, -11, "ended by SIGSEGV")


def test_a_time_limit_is_kept_to_the_second_even_against_a_program_that_traps_sigterm(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended, mentioning: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    spec = job("stubborn", f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{HANGS}", timeout_s=1.0)
    status = run(make_slurm(), spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, "over the time limit of 1 s")
    assert mentioning(tmp_path / "program-stubborn.py") == []


def test_a_program_that_eats_memory_fails_and_the_machine_is_not_blamed(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    eats = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))\nbytearray(2**29)"
    status = run(make_slurm(), job("eats", eats), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "exit code 1: MemoryError")


def test_daemons_of_a_program_end_with_it(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended, mentioning: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    child = tmp_path / "child.py"
    child.write_text("import time\ntime.sleep(600)")
    program = f"""
        import subprocess, sys
        subprocess.Popen([sys.executable, {str(child)!r}], start_new_session=True)
        {WRITES}
    """
    assert run(make_slurm(), job("forks", program), ended).outcome is JobOutcome.OK
    assert mentioning(child) == []


def test_a_path_with_blanks_quotes_and_percent_signs_is_one_path(
    slurm_options: dict[str, object], cache: Path, job: Job, ended: Ended, tmp_path: Path
) -> None:
    executor = slurm.create(slurm_options, folder=tmp_path / "a %j 'b' $(c)", cache=cache)
    assert run(executor, job("odd", WRITES), ended).outcome is JobOutcome.OK


# --- what the program is given ---------------------------------------------------------------------------------


def test_no_variable_of_the_service_reaches_the_job(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("TRACKER_SLACK__TOKEN", "xoxb-secret")
    monkeypatch.setenv("SOME_PASSWORD", "hidden-secret")
    monkeypatch.setenv("SBATCH_PARTITION", "nowhere")
    program = f"""
        import os
        print(open(f"/proc/{{os.getppid()}}/environ").read())
        print(open(f"/proc/{{int(open('/proc/%d/stat' % os.getppid()).read().split()[3])}}/environ").read())
        {WRITES}
    """
    executor = make_slurm()
    assert run(executor, job("nosy", program), ended).outcome is JobOutcome.OK
    assert "SLURM_JOB_ID" in texts_of(executor, "nosy")["log"]
    for path in folder.rglob("*"):
        assert not path.is_file() or b"-secret" not in path.read_bytes()


def test_gpus_that_a_suite_needs_are_asked_for_and_named_to_the_program(
    make_slurm: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    executor = make_slurm(gres="gpu:h200:{gpus}")
    spec = job("gpus", f"import os\nprint(os.environ['CUDA_VISIBLE_DEVICES'])\n{WRITES}", gpus=2)
    assert run(executor, spec, ended).outcome is JobOutcome.OK
    assert texts_of(executor, "gpus")["log"] == "0,1\n"


def test_a_job_that_slurm_refuses_is_a_user_error_with_slurms_words(
    make_slurm: Callable[..., Executor], job: Job
) -> None:
    with pytest.raises(UserError, match=r"refused the job: invalid partition specified: nowhere.*check partition"):
        make_slurm(partition="nowhere").start(job("wrong", WRITES))
    with pytest.raises(UserError, match="Requested node configuration is not available"):
        make_slurm().start(job("many", WRITES, gpus=3))


def test_a_rehearsal_says_where_a_job_would_run_or_why_it_would_not(
    slurm_options: dict[str, object], shared_cluster: Cluster, job: Job, folder: Path
) -> None:
    before = sorted(shared_cluster.ask("squeue", "-h", "--states=all", "-o", "%i").split())
    said = slurm.rehearse(slurm_options, job("try", gpus=2), folder=folder)
    assert f"on nodes {shared_cluster.host} in partition debug" in said
    for wrong, words in (
        ({"options": ["--constraint=h100"]}, "Invalid feature specification.*check partition"),
        ({"partition": "nowhere"}, "invalid partition specified: nowhere"),
        ({"gres": "gpu:a100:{gpus}"}, "Requested node configuration is not available"),
    ):
        with pytest.raises(UserError, match=f"refused the job: .*{words}"):
            slurm.rehearse({**slurm_options, **wrong}, job("try", gpus=2), folder=folder)
    assert sorted(shared_cluster.ask("squeue", "-h", "--states=all", "-o", "%i").split()) == before


def test_commands_that_are_not_installed_are_named(
    make_slurm: Callable[..., Executor], job: Job, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"sbatch was not found on .*set slurm\.bin"):
        make_slurm(bin=str(tmp_path)).start(job("no", WRITES))


def test_a_node_without_the_python_is_blamed(make_slurm: Callable[..., Executor], job: Job, ended: Ended) -> None:
    status = run(make_slurm(python="/nowhere/python"), job("nopython", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "does not have the Python of slurm.python" in status.detail


def test_a_node_that_does_not_see_the_folder_of_attempts_is_told_with_its_cure(
    on_own: Executor, own_cluster: Cluster, job: Job, ended: Ended, folder: Path
) -> None:
    own_cluster.kill("slurmd")
    folder.mkdir()
    elsewhere = f"mount -t tmpfs none {folder} && exec slurmd -N {own_cluster.host} -f {own_cluster.conf}"
    subprocess.run(["unshare", "--mount", "sh", "-c", elsewhere], env=own_cluster.variables(), check=True)
    own_cluster.wait_until_ready()
    status = run(on_own, job("apart", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert (
        "its node does not see the folder of attempts; TRACKER_HOME must be writable at the same path" in status.detail
    )


def test_a_full_disk_is_waited_for_and_then_the_end_is_recorded(
    slurm_options: dict[str, object],
    shared_cluster: Cluster,
    cache: Path,
    job: Job,
    ended: Ended,
    until: Until,
    tmp_path: Path,
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], check=True)
    try:
        executor = slurm.create(slurm_options, folder=small / "attempts", cache=cache)
        executor.start(job("full", HANGS))
        running(executor, "full", until)
        with suppress(OSError):
            (small / "filler").write_bytes(bytes(2**20))
        shared_cluster.ask("scancel", job_of(small / "attempts", "full"))
        until(lambda: _trouble(executor, "full") == "No space left on device", "the trouble to be told")
        (small / "filler").unlink()
        assert ended(executor, "full").outcome is JobOutcome.CANCELLED
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def _trouble(executor: Executor, key: str) -> str:
    """Return why an attempt cannot be looked at now, empty where it can."""
    try:
        executor.poll(key)
    except TryLater as error:
        return str(error).rpartition(": ")[2]
    return ""


@pytest.mark.parametrize("answers", ["text", "json"])
def test_both_kinds_of_answers_tell_the_end_of_a_job_that_left_no_record(
    make_slurm: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    answers: str,
) -> None:
    executor = make_slurm(answers=answers)
    executor.start(job("killed", HANGS))
    running(executor, "killed", until)
    process = json.loads((folder / "killed" / "claimed.json").read_text())["process"]
    os.kill(process, signal.SIGKILL)
    status = ended(executor, "killed")
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "failed while it ran: ended by SIGKILL" in status.detail
    assert not (folder / "killed" / "work").exists()
