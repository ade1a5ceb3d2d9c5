"""The local executor: how programs may end, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.executors import local
from jobs.protocols import Executor, JobOutcome, JobSpec, JobState, JobStatus

Ended = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]
Mentioning = Callable[[Path], list[int]]


def _outcome(executor: Executor, spec: JobSpec, ended: Ended) -> JobStatus:
    executor.start(spec)
    return ended(executor, spec.key)


def _kinds(executor: Executor, key: str) -> dict[str, Path]:
    return {output.kind: output.path for output in executor.fetch(key)}


# --- how a program may end -------------------------------------------------------------------------------------


def test_an_exit_code_is_told_with_the_last_line_that_was_printed(executor: Executor, job: Job, ended: Ended) -> None:
    spec = job("fails", "import sys\nprint('loading')\nraise ModuleNotFoundError('no module named thing')")
    status = _outcome(executor, spec, ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.exit_code == 1
    assert status.detail == "exit code 1: ModuleNotFoundError: no module named thing"


def test_a_crash_is_told_by_the_name_of_its_signal(executor: Executor, job: Job, ended: Ended) -> None:
    status = _outcome(executor, job("crash", "import os\nos.kill(os.getpid(), 11)"), ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "ended by SIGSEGV"
    assert status.exit_code == -11


def test_success_without_a_result_is_a_failure(executor: Executor, job: Job, ended: Ended) -> None:
    status = _outcome(executor, job("nothing", "print('done')"), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "wrote no result.json")
    assert "result" not in _kinds(executor, "nothing")


def test_garbage_in_the_result_is_handed_over_as_it_is(executor: Executor, job: Job, ended: Ended) -> None:
    status = _outcome(executor, job("garbage", "open('result.json','wb').write(bytes(range(256)))"), ended)
    assert status.outcome is JobOutcome.OK
    assert _kinds(executor, "garbage")["result"].read_bytes() == bytes(range(256))


def test_a_result_written_before_a_failure_is_kept(executor: Executor, job: Job, ended: Ended) -> None:
    status = _outcome(executor, job("half", "open('result.json','w').write('{}')\nraise SystemExit(3)"), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "exit code 3")
    assert "result" in _kinds(executor, "half")


@pytest.mark.parametrize("make", ["os.symlink('/etc/passwd', NAME)", "os.mkfifo(NAME)", "os.mkdir(NAME)"])
def test_a_result_that_is_no_plain_file_is_never_followed(
    executor: Executor, job: Job, ended: Ended, make: str
) -> None:
    status = _outcome(executor, job("special", f"import os\nNAME='result.json'\n{make}"), ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "wrote something that is not a plain file as result.json"
    assert "result" not in _kinds(executor, "special")


@pytest.mark.parametrize(
    "plant",
    [
        "open('../status.json', 'w').write('{}')",
        "open('../status.json', 'w').write('{\"outcome\": \"ok\"}')",
        "open('../status.json', 'w').write('{\"outcome\": \"ok\", \"detail\": \"\", \"exit_code\": ' + '9' * 30 + '}')",
        "open('../status.json', 'w').write('[' * 100_000)",
        "os.symlink('/etc/passwd', '../status.json')",
        "os.mkfifo('../status.json')",
        "os.mkdir('../status.json')",
    ],
)
def test_an_end_that_a_program_forges_badly_counts_as_lost(
    executor: Executor, job: Job, ended: Ended, plant: str
) -> None:
    status = _outcome(executor, job("forged", f"import os\n{plant}"), ended)
    assert status.outcome is JobOutcome.LOST
    assert "status.json is damaged" in status.detail


@pytest.mark.parametrize(
    "plant",
    [
        "os.remove('../running.json'); os.mkfifo('../running.json')",
        "open('../running.json', 'w').write('{\"started_at\": 5}')",
        "open('../running.json', 'w').write('{\"started_at\": \"0001-01-01T00:00:00+14:00\"}')",
        "open('../session.json', 'w').write('{\"session\": []}')",
        'open(\'../claimed.json\', \'w\').write(\'{"pid": "1", "began": "1"}\')',
        "open('../claimed.json', 'w').write('{\"pid\": ' + '9' * 30 + '}')",
        "os.symlink('/etc', '../result')",
    ],
)
def test_a_program_that_writes_beside_its_folder_spoils_only_its_own_attempt(
    executor: Executor, job: Job, ended: Ended, plant: str
) -> None:
    spec = job("beside", f"import os\nopen('result.json', 'w').write('{{}}')\n{plant}")
    status = _outcome(executor, spec, ended)
    assert status.outcome in {JobOutcome.OK, JobOutcome.LOST}
    assert {path.name for path in _kinds(executor, "beside").values()} <= {
        "result.json", "run.log", "setup.log", "environment.json"
    }  # fmt: skip


def test_a_result_over_the_limit_is_refused(executor: Executor, job: Job, ended: Ended) -> None:
    spec = job("big", "open('result.json','w').write('x' * 5000)", output_limit_bytes=4096)
    status = _outcome(executor, spec, ended)
    assert (status.outcome, status.detail) == (
        JobOutcome.TOOL_FAILED,
        "result.json has 5000 bytes, more than 4096 bytes",
    )


def test_a_program_that_floods_is_ended_and_its_log_cut(executor: Executor, job: Job, ended: Ended) -> None:
    spec = job("flood", "while True: print('x' * 100_000)", output_limit_bytes=1024 * 1024)
    status = _outcome(executor, spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "more than 1 MB of output")
    assert _kinds(executor, "flood")["log"].stat().st_size == 1024 * 1024


def test_a_program_that_fills_its_folder_is_ended(folder: Path, cache: Path, job: Job, ended: Ended) -> None:
    executor = local.create({"work_limit_bytes": 2 * 1024 * 1024}, folder=folder, cache=cache)
    spec = job("fill", "import time\nopen('scratch','wb').write(b'x' * 3 * 1024 * 1024)\ntime.sleep(600)")
    status = _outcome(executor, spec, ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "more than 2 MB of files in its working folder"


def test_a_program_that_hangs_is_ended_at_its_time_limit(
    executor: Executor, job: Job, ended: Ended, mentioning: Mentioning
) -> None:
    spec = job("hang", "import time\nprint('start')\ntime.sleep(600)", timeout_s=0.3)
    status = _outcome(executor, spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, "over the time limit of 0.3 s")
    assert "start" in _kinds(executor, "hang")["log"].read_text()
    assert mentioning(Path(spec.program)) == []


def test_a_program_that_ignores_sigterm_is_killed(
    executor: Executor, job: Job, ended: Ended, mentioning: Mentioning
) -> None:
    text = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    spec = job("deaf", text, timeout_s=0.3)
    assert _outcome(executor, spec, ended).outcome is JobOutcome.TIMEOUT
    assert mentioning(Path(spec.program)) == []


def test_a_full_disk_is_the_machines_fault(executor: Executor, job: Job, ended: Ended) -> None:
    status = _outcome(executor, job("full", "import errno, os\nraise OSError(28, os.strerror(28))"), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert status.detail.startswith("the disk is full")


def test_a_missing_program_and_a_missing_command_are_named(executor: Executor, job: Job, ended: Ended) -> None:
    gone = replace(job("gone"), program="/nowhere/bench.py")
    assert _outcome(executor, gone, ended).detail == "the program /nowhere/bench.py does not exist"
    unknown = replace(job("unknown"), program="no-such-command")
    status = _outcome(executor, unknown, ended)
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert "no command 'no-such-command'" in status.detail


def test_a_command_on_the_path_gets_its_arguments(executor: Executor, job: Job, ended: Ended) -> None:
    spec = replace(job("command"), program="sh", arguments=("-c", 'echo "{\\"n\\": $1}" > result.json', "sh", "7"))
    assert _outcome(executor, spec, ended).outcome is JobOutcome.OK
    assert json.loads(_kinds(executor, "command")["result"].read_text()) == {"n": 7}


# --- what a program sees ---------------------------------------------------------------------------------------


def test_a_program_sees_a_clean_environment_of_its_own(
    executor: Executor, job: Job, ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_SLACK_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    text = "import json, os\njson.dump({**os.environ, 'cwd': os.getcwd()}, open('result.json', 'w'))"
    spec = job("clean", text, environment={"BENCHMARK_REPEAT": "3", "TRACKER_ATTEMPT": "forged"})
    assert _outcome(executor, spec, ended).outcome is JobOutcome.OK
    seen = json.loads(_kinds(executor, "clean")["result"].read_text())
    assert not seen.keys() & {"TRACKER_SLACK_TOKEN", "PYTHONPATH"}
    assert seen["BENCHMARK_REPEAT"] == "3"
    assert seen["OMP_NUM_THREADS"] == "1"
    assert seen["TRACKER_ATTEMPT"] != "forged"
    assert seen["HOME"].startswith(seen["cwd"])
    assert seen["TMPDIR"].startswith(seen["cwd"])


def test_the_supervisor_is_not_given_our_secrets(
    executor: Executor, folder: Path, job: Job, until: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_SLACK_TOKEN", "secret")
    executor.start(job("slow", "import time\ntime.sleep(600)"))
    until(lambda: executor.poll("slow").state is JobState.RUNNING, "slow to run")
    pid = json.loads((folder / "slow" / "claimed.json").read_text())["pid"]
    assert b"TRACKER_" not in Path(f"/proc/{pid}/environ").read_bytes()
    executor.cancel("slow")


def test_pinning_takes_the_highest_core_and_is_written_down(executor: Executor, job: Job, ended: Ended) -> None:
    text = "import json, os\njson.dump(sorted(os.sched_getaffinity(0)), open('result.json', 'w'))"
    assert _outcome(executor, job("pinned", text, pin_cores=1), ended).outcome is JobOutcome.OK
    files = _kinds(executor, "pinned")
    record = json.loads(files["environment"].read_text())
    assert json.loads(files["result"].read_text()) == record["pinned_cores"] == [max(os.sched_getaffinity(0))]
    assert record["pinned"] is True


def test_a_pinning_that_is_impossible_is_flagged_and_runs_unpinned(executor: Executor, job: Job, ended: Ended) -> None:
    assert _outcome(executor, job("toomany", pin_cores=100_000), ended).outcome is JobOutcome.OK
    record = json.loads(_kinds(executor, "toomany")["environment"].read_text())
    assert record["pinned"] is False
    assert record["pin_note"].startswith("100000 cores were asked for")


def test_the_record_names_host_program_and_build(executor: Executor, job: Job, ended: Ended) -> None:
    _outcome(executor, job("record"), ended)
    record = json.loads(_kinds(executor, "record")["environment"].read_text())
    assert record["replayed"] is False
    assert record["build"]["digest"] == "sha256:00"
    assert len(record["program"]["sha256"]) == 64
    assert record["packages"] == []
    assert record["host"]["kernel"]


def test_the_working_folder_is_gone_afterwards(executor: Executor, folder: Path, job: Job, ended: Ended) -> None:
    _outcome(executor, job("tidy", "open('result.json','w').write('{}')\nopen('scratch','w').write('x')"), ended)
    assert not (folder / "tidy" / "work").exists()


# --- nothing is left behind ------------------------------------------------------------------------------------

DAEMON = """
    import os, subprocess, sys, time
    if len(sys.argv) > 1:
        time.sleep(600)
    child = subprocess.Popen(
        [sys.executable, __file__, "daemon"], start_new_session=True, env=ENVIRONMENT, cwd="/",
    )
    open("result.json", "w").write("{}")
    WAIT
"""


def test_a_daemon_that_a_program_leaves_is_ended_with_it(
    executor: Executor, job: Job, ended: Ended, mentioning: Mentioning
) -> None:
    spec = job("daemon", DAEMON.replace("WAIT", "").replace("ENVIRONMENT", "{}"))
    assert _outcome(executor, spec, ended).outcome is JobOutcome.OK
    assert mentioning(Path(spec.program)) == []


@pytest.mark.parametrize("environment", ["dict(os.environ)", "{}"], ids=["marked", "unmarked"])
def test_killing_the_supervisor_leaves_no_process_and_the_attempt_is_lost(
    executor: Executor,
    folder: Path,
    job: Job,
    until: Callable[..., object],
    ended: Ended,
    mentioning: Mentioning,
    environment: str,
) -> None:
    spec = job("killed", DAEMON.replace("WAIT", "time.sleep(600)").replace("ENVIRONMENT", environment))
    executor.start(spec)
    until(lambda: (folder / "killed" / "work" / "result.json").exists(), "the program to run")
    os.kill(json.loads((folder / "killed" / "claimed.json").read_text())["pid"], 9)
    status = ended(executor, "killed")
    assert (status.state, status.outcome) == (JobState.ENDED, JobOutcome.LOST)
    until(lambda: not mentioning(Path(spec.program)), "all processes to be gone", 5.0)
    executor.start(spec)
    assert executor.poll("killed") == status


def test_killing_the_guard_leaves_no_process(
    executor: Executor, folder: Path, job: Job, until: Callable[..., object], ended: Ended, mentioning: Mentioning
) -> None:
    spec = job("guard", DAEMON.replace("WAIT", "time.sleep(600)").replace("ENVIRONMENT", "{}"))
    executor.start(spec)
    until(lambda: (folder / "guard" / "work" / "result.json").exists(), "the program to run")
    os.kill(json.loads((folder / "guard" / "session.json").read_text())["session"], 9)
    assert ended(executor, "guard").detail.startswith("ended by SIGKILL")
    assert mentioning(Path(spec.program)) == []


def test_a_process_that_hides_the_marker_is_found_by_its_session(
    executor: Executor, folder: Path, job: Job, until: Callable[..., object], ended: Ended, mentioning: Mentioning
) -> None:
    spec = job(
        "hidden",
        """
        import subprocess, sys, time
        if len(sys.argv) == 1:
            subprocess.Popen([sys.executable, __file__, "again"], env={})
        else:
            open("ready", "w").close()
        time.sleep(600)
        """,
    )
    executor.start(spec)
    until(lambda: (folder / "hidden" / "work" / "ready").exists(), "the program to run")
    supervisor = json.loads((folder / "hidden" / "claimed.json").read_text())["pid"]
    guard = json.loads((folder / "hidden" / "session.json").read_text())["session"]
    for pid, number in ((guard, signal.SIGSTOP), (supervisor, signal.SIGKILL), (guard, signal.SIGKILL)):
        os.kill(pid, number)
    assert ended(executor, "hidden").outcome is JobOutcome.LOST
    assert mentioning(Path(spec.program)) == []


def test_a_supervisor_told_to_stop_by_the_machine_is_lost_not_cancelled(
    executor: Executor, folder: Path, job: Job, until: Callable[..., object], ended: Ended
) -> None:
    executor.start(job("shutdown", "import time\ntime.sleep(600)"))
    until(lambda: executor.poll("shutdown").state is JobState.RUNNING, "it to run")
    os.kill(json.loads((folder / "shutdown" / "claimed.json").read_text())["pid"], 15)
    status = ended(executor, "shutdown")
    assert status.outcome is JobOutcome.LOST
    assert "SIGTERM" in status.detail


def test_cancel_ends_a_supervisor_that_does_not_answer(
    executor: Executor,
    folder: Path,
    job: Job,
    until: Callable[..., object],
    mentioning: Mentioning,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "_CANCEL_WITHIN_S", 0.2)
    spec = job("frozen", "import time\ntime.sleep(600)")
    executor.start(spec)
    until(lambda: executor.poll("frozen").state is JobState.RUNNING, "it to run")
    os.kill(json.loads((folder / "frozen" / "claimed.json").read_text())["pid"], 19)
    executor.cancel("frozen")
    assert executor.poll("frozen").outcome is JobOutcome.CANCELLED
    assert mentioning(Path(spec.program)) == []


def test_ended_supervisors_leave_no_zombie(
    executor: Executor, folder: Path, job: Job, ended: Ended, until: Callable[..., object]
) -> None:
    _outcome(executor, job("reaped"), ended)
    pid = json.loads((folder / "reaped" / "claimed.json").read_text())["pid"]
    until(lambda: executor.poll("reaped") and not Path(f"/proc/{pid}").exists(), "the supervisor to be reaped", 5.0)


def test_a_claim_of_a_process_whose_number_was_taken_by_another_is_lost(
    executor: Executor, folder: Path, job: Job
) -> None:
    attempt = folder / "reused"
    attempt.mkdir(parents=True)
    (attempt / "claimed.json").write_text(json.dumps({"pid": os.getpid(), "began": "1", "boot": "other"}))
    assert executor.poll("reused").outcome is JobOutcome.LOST
    executor.sweep(frozenset())


def test_another_process_takes_over_where_the_first_one_died(
    executor: Executor, folder: Path, cache: Path, job: Job, until: Callable[..., object], ended: Ended
) -> None:
    spec = job(
        "handed",
        "import time\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)\n"
        "open('result.json','w').write('{}')",
    )
    starter = (
        "import os\nfrom pathlib import Path\nfrom jobs.executors import local\nfrom jobs.protocols import JobSpec\n"
        f"executor = local.create({{}}, folder=Path({str(folder)!r}), cache=Path({str(cache)!r}))\n"
        f"executor.start(JobSpec(key='handed', component='thing', version='1.0', build_kind='wheel', "
        f"build_location='', build_digest='', program={spec.program!r}))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(local.__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", starter], cwd=root, check=False).returncode == -9
    until(lambda: executor.poll("handed").state is JobState.RUNNING, "it to run")
    executor.start(spec)
    (folder / "handed" / "work" / "go").touch()
    assert ended(executor, "handed").outcome is JobOutcome.OK


def test_options_of_a_wrong_type_are_refused(tmp_path: Path) -> None:
    for options in ({"work_limit_bytes": "2 GB"}, {"work_limit_bytes": True}, {"uv": 3}):
        with pytest.raises(UserError, match="executor local"):
            local.create(options, folder=tmp_path, cache=tmp_path)


@pytest.mark.parametrize("name", ["claimed.json", "status.json"])
def test_a_damaged_file_makes_an_attempt_lost_and_it_never_runs(
    executor: Executor, folder: Path, job: Job, name: str
) -> None:
    attempt = folder / "damaged"
    attempt.mkdir(parents=True)
    (attempt / name).write_text('{"pid": 1')
    assert executor.poll("damaged").outcome is JobOutcome.LOST
    executor.start(job("damaged"))
    assert executor.poll("damaged").outcome is JobOutcome.LOST
    assert not (attempt / "result").exists()


def test_a_damaged_order_is_the_machines_fault(executor: Executor, folder: Path, job: Job, ended: Ended) -> None:
    (folder / "order").mkdir(parents=True)
    (folder / "order" / "job.json").write_text("{")
    status = _outcome(executor, job("order"), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert status.detail.endswith("job.json is missing or damaged")
