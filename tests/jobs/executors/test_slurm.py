"""The Slurm executor on a real cluster of one node: how jobs may end there, and what is left of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from jobs.errors import TryLater, UserError
from jobs.executors import slurm
from jobs.executors._attempts import Attempt
from jobs.executors._slurm_orders import JobNames
from jobs.protocols import Executor, JobOutcome, JobSpec, JobState, JobStatus
from tests.fakes.slurm import Cluster

pytestmark = pytest.mark.real("slurm")

Ended = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]
Until = Callable[..., object]
HANGS = "import time\ntime.sleep(600)"
WRITES = "open('result.json', 'w').write('{}')"


@pytest.fixture
def make(slurm_options: dict[str, object], folder: Path, cache: Path) -> Callable[..., Executor]:
    """Make an executor on the shared cluster, with options of the test's own."""

    def create(**options: object) -> Executor:
        return slurm.create({**slurm_options, **options}, folder=folder, cache=cache)

    return create


@pytest.fixture
def on_own(own_cluster: Cluster, folder: Path, cache: Path) -> Executor:
    """An executor on a cluster that belongs to the test."""
    options = {"conf": str(own_cluster.conf), "ask_every_s": 0.1, "answer_within_s": 10, "files_within_s": 5}
    return slurm.create(options, folder=folder, cache=cache)


@pytest.fixture
def nothing_left(shared_cluster: Cluster, folder: Path, until: Until) -> Iterator[None]:
    """After the test no job of its folder is queued or runs."""
    yield
    prefix = JobNames.of(folder.resolve()).prefix
    until(lambda: not shared_cluster.active_jobs(prefix), "its jobs to be over")


def _run(executor: Executor, spec: JobSpec, ended: Ended) -> JobStatus:
    executor.start(spec)
    return ended(executor, spec.key)


def _running(executor: Executor, key: str, until: Until) -> None:
    until(lambda: executor.poll(key).state is JobState.RUNNING, f"{key} to run")


def _texts(executor: Executor, key: str) -> dict[str, str]:
    return {output.kind: output.path.read_text() for output in executor.fetch(key)}


def _job_of(folder: Path, key: str) -> str:
    number: str = json.loads((folder / key / "claimed.json").read_text())["slurm_job"]
    return number


# --- how a program may end -------------------------------------------------------------------------------------


def test_a_log_and_a_result_come_back_with_where_it_ran(
    make: Callable[..., Executor], job: Job, ended: Ended, nothing_left: None
) -> None:
    executor = make()
    spec = job("bench", f"print('tokens per second: 812.5')\n{WRITES}")
    status = _run(executor, spec, ended)
    assert (status.outcome, status.exit_code) == (JobOutcome.OK, 0)
    texts = _texts(executor, "bench")
    assert texts["log"] == "tokens per second: 812.5\n"
    scheduler = json.loads(texts["environment"])["scheduler"]
    assert scheduler["kind"] == "slurm"
    assert scheduler["job_partition"] == "debug"


def test_exit_codes_and_signals_of_the_program_are_told_apart(
    make: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    executor = make()
    code = _run(executor, job("code", "import sys\nprint('no engine', file=sys.stderr)\nsys.exit(7)"), ended)
    crash = _run(executor, job("crash", "import os\nos.kill(os.getpid(), 11)"), ended)
    assert (code.outcome, code.exit_code, code.detail) == (JobOutcome.TOOL_FAILED, 7, "exit code 7: no engine")
    assert (crash.outcome, crash.exit_code, crash.detail) == (JobOutcome.TOOL_FAILED, -11, "ended by SIGSEGV")


def test_a_time_limit_is_kept_to_the_second_even_against_a_program_that_traps_sigterm(
    make: Callable[..., Executor], job: Job, ended: Ended, mentioning: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    spec = job("stubborn", f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{HANGS}", timeout_s=1.0)
    status = _run(make(), spec, ended)
    assert (status.outcome, status.detail) == (JobOutcome.TIMEOUT, "over the time limit of 1 s")
    assert mentioning(tmp_path / "program-stubborn.py") == []


def test_a_program_that_eats_memory_fails_and_the_machine_is_not_blamed(
    make: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    eats = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))\nbytearray(2**29)"
    status = _run(make(), job("eats", eats), ended)
    assert (status.outcome, status.detail) == (JobOutcome.TOOL_FAILED, "exit code 1: MemoryError")


def test_daemons_of_a_program_end_with_it(
    make: Callable[..., Executor], job: Job, ended: Ended, mentioning: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    child = tmp_path / "child.py"
    child.write_text("import time\ntime.sleep(600)")
    program = f"""
        import subprocess, sys
        subprocess.Popen([sys.executable, {str(child)!r}], start_new_session=True)
        {WRITES}
    """
    assert _run(make(), job("forks", program), ended).outcome is JobOutcome.OK
    assert mentioning(child) == []


def test_a_path_with_blanks_quotes_and_percent_signs_is_one_path(
    slurm_options: dict[str, object], cache: Path, job: Job, ended: Ended, tmp_path: Path
) -> None:
    executor = slurm.create(slurm_options, folder=tmp_path / "a %j 'b' $(c)", cache=cache)
    assert _run(executor, job("odd", WRITES), ended).outcome is JobOutcome.OK


# --- what the program is given ---------------------------------------------------------------------------------


def test_no_variable_of_the_service_reaches_the_job(
    make: Callable[..., Executor], job: Job, ended: Ended, monkeypatch: pytest.MonkeyPatch, folder: Path
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
    executor = make()
    assert _run(executor, job("nosy", program), ended).outcome is JobOutcome.OK
    assert "SLURM_JOB_ID" in _texts(executor, "nosy")["log"]
    for path in folder.rglob("*"):
        assert not path.is_file() or b"-secret" not in path.read_bytes()


def test_gpus_that_a_suite_needs_are_asked_for_and_named_to_the_program(
    make: Callable[..., Executor], job: Job, ended: Ended
) -> None:
    executor = make(gres="gpu:h200:{gpus}")
    spec = job("gpus", f"import os\nprint(os.environ['CUDA_VISIBLE_DEVICES'])\n{WRITES}", gpus=2)
    assert _run(executor, spec, ended).outcome is JobOutcome.OK
    assert _texts(executor, "gpus")["log"] == "0,1\n"


def test_a_job_that_slurm_refuses_is_a_user_error_with_slurms_words(make: Callable[..., Executor], job: Job) -> None:
    with pytest.raises(UserError, match=r"refused the job: invalid partition specified: nowhere.*check partition"):
        make(partition="nowhere").start(job("wrong", WRITES))
    with pytest.raises(UserError, match="Requested node configuration is not available"):
        make().start(job("many", WRITES, gpus=3))


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


def test_commands_that_are_not_installed_are_named(make: Callable[..., Executor], job: Job, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sbatch was not found on .*set slurm\.bin"):
        make(bin=str(tmp_path)).start(job("no", WRITES))


def test_a_node_without_the_python_is_blamed(make: Callable[..., Executor], job: Job, ended: Ended) -> None:
    status = _run(make(python="/nowhere/python"), job("nopython", WRITES), ended)
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
    status = _run(on_own, job("apart", WRITES), ended)
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
        _running(executor, "full", until)
        with suppress(OSError):
            (small / "filler").write_bytes(bytes(2**20))
        shared_cluster.ask("scancel", _job_of(small / "attempts", "full"))
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
    make: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    answers: str,
) -> None:
    executor = make(answers=answers)
    executor.start(job("killed", HANGS))
    _running(executor, "killed", until)
    process = json.loads((folder / "killed" / "claimed.json").read_text())["process"]
    os.kill(process, signal.SIGKILL)
    status = ended(executor, "killed")
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "failed while it ran: ended by SIGKILL" in status.detail
    assert not (folder / "killed" / "work").exists()


# --- containers: pyxis and enroot are replaced by programs of our own ------------------------------------------

SRUN = """#!/bin/sh
for word; do case $word in
    --*container*) echo "$word" >> {told} ;;
    *) set -- "$@" "$word" ;;
esac; shift; done
exec {srun} "$@"
"""
ENROOT = """#!/bin/sh
echo "$4" >> {told}
echo image > "$3"
"""


@pytest.fixture
def pyxis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands in which srun takes pyxis' options; `told` in it lists them and what enroot imported."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        (bin_folder / name).symlink_to(shutil.which(name) or "")
    values = {"told": bin_folder / "told", "srun": shutil.which("srun")}
    for name, text in (("srun", SRUN), ("enroot", ENROOT)):
        (bin_folder / name).write_text(text.format(**values))
        (bin_folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    return bin_folder


def _in_image(job: Job, key: str, program: str) -> JobSpec:
    digest = "sha256:" + "ab" * 32
    location = f"nvcr.io/nvidia/tensorrt-llm/release@{digest}"
    return job(key, program, build_kind="image", build_location=location, build_digest=digest, requirements=("x==1",))


def test_a_build_that_is_an_image_runs_as_a_step_in_a_container_imported_once(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path
) -> None:
    options = {**slurm_options, "bin": str(pyxis), "mounts": [str(tmp_path)]}
    cache = tmp_path / "cache"
    executor = slurm.create(options, folder=folder, cache=cache)
    for key in ("image-1", "image-2"):
        status = _run(executor, _in_image(job, key, f"print('in a step')\n{WRITES}"), ended)
        assert (status.outcome, status.detail) == (JobOutcome.OK, "")
    assert _texts(executor, "image-1")["log"] == "in a step\n"
    told = (pyxis / "told").read_text().splitlines()
    hexes = "ab" * 32
    assert [line for line in told if "docker://" in line] == [
        f"docker://nvcr.io#nvidia/tensorrt-llm/release:sha256:{hexes}"
    ]
    assert told.count(f"--container-image={cache.resolve()}/images/{hexes}.sqsh") == 2
    assert any(word.startswith("--container-mounts=") and f"{tmp_path}:{tmp_path}:ro" in word for word in told)


def test_a_program_in_a_container_ends_at_its_time_limit_and_with_its_own_exit_code(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path, until: Until
) -> None:
    executor = slurm.create({**slurm_options, "bin": str(pyxis)}, folder=folder, cache=tmp_path / "cache")
    failed = _run(executor, _in_image(job, "code", "import sys\nsys.exit(7)"), ended)
    assert (failed.outcome, failed.exit_code) == (JobOutcome.TOOL_FAILED, 7)
    late = _run(executor, replace(_in_image(job, "late", HANGS), timeout_s=1.0), ended)
    assert late.outcome is JobOutcome.TIMEOUT
    until(lambda: _program_is_gone(tmp_path / "program-late.py"), "the step to be over")


def _program_is_gone(path: Path) -> bool:
    done = subprocess.run(["pgrep", "-f", f"^python3 {path}"], capture_output=True, check=False)
    return done.returncode == 1


def test_an_image_that_cannot_be_imported_is_not_the_benchmarks_fault(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path
) -> None:
    (pyxis / "enroot").write_text("#!/bin/sh\necho '[ERROR] Could not process JSON input' >&2\nexit 1\n")
    executor = slurm.create({**slurm_options, "bin": str(pyxis)}, folder=folder, cache=tmp_path / "cache")
    status = _run(executor, _in_image(job, "noimage", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "could not be imported: [ERROR] Could not process JSON input" in status.detail
    assert list((tmp_path / "cache" / "images").glob("*.sqsh")) == []


def test_a_cluster_without_pyxis_is_named_as_the_trouble(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended
) -> None:
    executor = slurm.create(slurm_options, folder=folder, cache=tmp_path / "cache")
    status = _run(executor, _in_image(job, "nopyxis", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "the container did not start: " in status.detail
    assert "unrecognized option" in status.detail


# --- Slurm's own doings ----------------------------------------------------------------------------------------


def test_a_job_cancelled_by_hand_is_cancelled(
    make: Callable[..., Executor], shared_cluster: Cluster, job: Job, ended: Ended, until: Until, folder: Path
) -> None:
    executor = make()
    executor.start(job("byhand", HANGS))
    _running(executor, "byhand", until)
    shared_cluster.ask("scancel", _job_of(folder, "byhand"))
    status = ended(executor, "byhand")
    assert status.outcome is JobOutcome.CANCELLED
    assert "cancelled in Slurm" in status.detail


def test_a_job_that_waits_longer_than_its_limit_is_taken_out_of_the_queue(
    make: Callable[..., Executor], shared_cluster: Cluster, job: Job, ended: Ended, nothing_left: None
) -> None:
    status = _run(make(options=["--begin=now+1hour"], queue_limit_s=1), job("waits", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "in Slurm's queue: BeginTime" in status.detail


def test_while_it_waits_slurms_own_reason_is_told(
    make: Callable[..., Executor], job: Job, until: Until, nothing_left: None
) -> None:
    executor = make(options=["--begin=now+1hour"])
    executor.start(job("queued", WRITES))
    until(lambda: executor.poll("queued").detail.startswith("in Slurm's queue: BeginTime (job "), "the reason")
    assert executor.poll("queued").state is JobState.PREPARING
    executor.cancel("queued")
    assert executor.poll("queued").detail == "cancelled"


def test_a_job_put_back_into_the_queue_while_it_ran_is_lost_and_measures_nothing_twice(
    make: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    nothing_left: None,
) -> None:
    executor = make()
    executor.start(job("again", HANGS))
    _running(executor, "again", until)
    number = _job_of(folder, "again")
    shared_cluster.ask("scontrol", "update", f"jobid={number}", "requeue=1")
    shared_cluster.ask("scontrol", "requeue", number)
    status = ended(executor, "again")
    assert status.outcome is JobOutcome.LOST
    assert "back into its queue while it ran" in status.detail
    assert json.loads((folder / "again" / "claimed.json").read_text())["restart"] == "0"


def test_a_job_for_an_attempt_that_is_claimed_leaves_at_once(
    make: Callable[..., Executor],
    shared_cluster: Cluster,
    job: Job,
    ended: Ended,
    until: Until,
    folder: Path,
    tmp_path: Path,
) -> None:
    executor, counter = make(), tmp_path / "times"
    spec = job("twice", f"open({str(counter)!r}, 'a').write('x')\n{WRITES}")
    _run(executor, spec, ended)
    options = [f"--output={folder}/second.log", f"--export=ALL,PYTHONPATH={Path(__file__).parents[3]}"]
    shared_cluster.ask("sbatch", *options, str(folder / "twice" / "job.sh"))
    until(lambda: "claimed already" in _read(folder / "second.log"), "the second job to leave")
    assert counter.read_text() == "x"


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_sweep_ends_a_job_whose_folder_is_gone(
    make: Callable[..., Executor], shared_cluster: Cluster, job: Job, until: Until, folder: Path
) -> None:
    executor = make()
    executor.start(job("gone", HANGS))
    _running(executor, "gone", until)
    shutil.rmtree(folder / "gone", ignore_errors=True)
    executor.sweep(frozenset())
    prefix = JobNames.of(folder.resolve()).prefix
    until(lambda: not shared_cluster.active_jobs(prefix), "the job to be over")


def test_a_sweep_leaves_the_attempts_of_other_executors_alone(
    make: Callable[..., Executor], executor: Executor, job: Job, until: Until
) -> None:
    executor.start(job("local", HANGS))
    _running(executor, "local", until)
    assert list(make().sweep(frozenset())) == []
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
    _running(on_own, "run", until)
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
    _running(on_own, "cut", until)
    own_cluster.kill("slurmctld")
    on_own.cancel("cut")
    assert on_own.poll("cut").outcome is JobOutcome.CANCELLED


def test_a_lost_node_is_a_lost_attempt(
    on_own: Executor, own_cluster: Cluster, job: Job, ended: Ended, until: Until, folder: Path
) -> None:
    on_own.start(job("node", HANGS))
    _running(on_own, "node", until)
    own_cluster.ask("scontrol", "update", f"nodename={own_cluster.host}", "state=down", "reason=pulled")
    status = ended(on_own, "node")
    assert status.outcome is JobOutcome.LOST
    assert "its node was lost" in status.detail


def test_a_result_is_not_taken_before_all_of_it_has_arrived(
    make: Callable[..., Executor], job: Job, ended: Ended, folder: Path
) -> None:
    executor = make(files_within_s=60)
    executor.start(job("half", "open('result.json', 'w').write('[1, 2, 3]')"))
    attempt = Attempt(folder.resolve() / "half")
    _wait_for(attempt.file("status.json"))
    result = folder / "half" / "result" / "result.json"
    result.write_text("[1, 2")
    assert executor.poll("half").state is JobState.RUNNING
    result.write_text("[1, 2, 3]")
    assert executor.poll("half").outcome is JobOutcome.OK


def test_a_result_that_never_arrives_whole_is_a_lost_attempt_for_every_caller(
    make: Callable[..., Executor], job: Job, folder: Path
) -> None:
    executor = make(files_within_s=0)
    executor.start(job("cut", "open('result.json', 'w').write('[1, 2, 3]')"))
    _wait_for(folder / "cut" / "status.json")
    (folder / "cut" / "result" / "result.json").write_text("[1, 2")
    status = executor.poll("cut")
    assert (status.outcome, status.detail) == (
        JobOutcome.LOST,
        "not all of its files arrived whole: result/result.json",
    )
    assert make(files_within_s=60).poll("cut") == status


def _wait_for(path: Path) -> None:
    from tests.jobs.executors.conftest import wait

    wait(path.exists, f"{path} to be written")


# --- any process may die anywhere ------------------------------------------------------------------------------


def test_a_caller_killed_after_sbatch_and_before_it_read_the_number_leaves_one_job(
    slurm_options: dict[str, object],
    make: Callable[..., Executor],
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
    executor = make()
    executor.start(spec)
    assert ended(executor, "orphan").outcome is JobOutcome.OK
    name = JobNames.of(folder.resolve()).name_of("orphan")
    jobs = shared_cluster.ask("squeue", "-h", "-t", "all", "-o", "%j").splitlines()
    assert jobs.count(name) == 1


def test_a_claim_for_nobody_whose_writer_died_ends_as_it_says(
    make: Callable[..., Executor], job: Job, folder: Path
) -> None:
    executor = make()
    Attempt(folder.resolve() / "half").claim({"nobody": "cancelled", "outcome": "cancelled"})
    assert executor.poll("half").outcome is JobOutcome.CANCELLED
    executor.start(replace(job("half", WRITES), key="half"))
    assert executor.poll("half").outcome is JobOutcome.CANCELLED
