"""What every executor promises, run over each of them. A new one joins by a `Case` of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.executors import docker_engine, kubernetes, local, replay, slurm
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobSpec, JobState, JobStatus
from tests.fakes.podman import Podman
from tests.fakes.ssh_server import SshServer

HANGS = """
    import time
    open("ready", "w").close()
    time.sleep(600)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One executor: how to make it again (as after a restart) and two jobs for it."""

    make: Callable[[], Executor]
    quick: JobSpec
    endless: JobSpec
    make_endless: Callable[[], Executor]
    times_run: Callable[[JobSpec], int]


def _local_case(folder: Path, cache: Path, job: Callable[..., JobSpec], tmp_path: Path) -> Case:
    counter = tmp_path / "times"
    quick = job(
        "quick-1",
        f"""
        open({str(counter)!r}, "a").write("x")
        print("{{}}")
        open("result.json", "w").write("{{}}")
        """,
    )

    def make() -> Executor:
        return local.create({}, folder=folder, cache=cache)

    return Case(
        make=make,
        make_endless=make,
        quick=quick,
        endless=job("endless-1", HANGS),
        times_run=lambda _: len(counter.read_text()) if counter.exists() else 0,
    )


def _replay_case(folder: Path, cache: Path, job: Callable[..., JobSpec], tmp_path: Path) -> Case:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    line = {
        "component": "thing",
        "version": "1.0",
        "config": "c",
        "repeat": 1,
        "outcome": "ok",
        "result": {},
        "log": "{}",
    }
    (recordings / "all.jsonl").write_text(json.dumps(line))
    named = {"BENCHMARK_CONFIG": "c", "BENCHMARK_REPEAT": "1"}

    def make(pace_s: float) -> Executor:
        return replay.create({"recordings": str(recordings), "pace_s": pace_s}, folder=folder, cache=cache)

    return Case(
        make=lambda: make(0),
        make_endless=lambda: make(600),
        quick=job("quick-1", environment=named),
        endless=job("endless-1", environment=named),
        times_run=lambda spec: len(list((folder / spec.key).glob("result/*"))),
    )


def _slurm_case(
    folder: Path, cache: Path, job: Callable[..., JobSpec], tmp_path: Path, options: dict[str, object]
) -> Case:
    """The local case, with every attempt a job of a real cluster."""
    case = _local_case(folder, cache, job, tmp_path)

    def make() -> Executor:
        return slurm.create(options, folder=folder, cache=cache)

    return replace(case, make=make, make_endless=make)


def _podman_case(podman: Podman, digest: str, folder: Path, cache: Path, **options: str) -> Case:
    given = {"engine": podman.url, "min_free_gb": 0.01, **options}

    def make() -> Executor:
        return docker_engine.create(given, folder=folder, cache=cache)

    def job(key: str, script: str) -> JobSpec:
        named = {"component": "thing", "version": "1.0", "build_kind": "image", "build_digest": digest}
        return JobSpec(key=key, build_location="localhost/bench:1.0", program="sh", arguments=("-c", script), **named)

    def times_run(spec: JobSpec) -> int:
        return sum(name.endswith(spec.key) and _home(folder) in name for name in podman.started())

    return Case(
        make=make,
        make_endless=make,
        quick=job("quick-1", "echo '{}'; echo '{}' > result.json"),
        endless=job("endless-1", "trap 'exit 0' TERM; sleep 600 & wait"),
        times_run=times_run,
    )


def _ssh_case(podman: Podman, server: SshServer, digest: str, folder: Path, cache: Path) -> Case:
    """The same Podman, as one on another machine that is reached by ssh."""
    files = {"known_hosts": str(server.known_hosts), "identity": str(server.identity)}
    return _podman_case(podman, digest, folder, cache, engine=server.url + podman.socket, **files)


def _home(folder: Path) -> str:
    file = folder / ".engine.json"
    return str(json.loads(file.read_text())["home"]) if file.exists() else "none"


def _kubernetes_case(
    folder: Path, cache: Path, job: Callable[..., JobSpec], tmp_path: Path, options: dict[str, object]
) -> Case:
    """The local case, with every attempt a Job of a server that speaks the API."""
    case = _local_case(folder, cache, job, tmp_path)
    image = {"build_kind": "image", "build_location": "nvcr.io/thing", "build_digest": "sha256:" + "ab" * 32}

    def make() -> Executor:
        return kubernetes.create(options, folder=folder, cache=cache)

    return replace(
        case,
        make=make,
        make_endless=make,
        quick=replace(case.quick, **image),
        endless=replace(case.endless, **image),
    )


@pytest.fixture(
    params=[
        pytest.param(_podman_case, id="docker_engine", marks=pytest.mark.real("podman")),
        pytest.param(_ssh_case, id="ssh", marks=[pytest.mark.real("podman"), pytest.mark.real("ssh server")]),
        pytest.param(_local_case, id="local"),
        pytest.param(_replay_case, id="replay"),
        pytest.param(_slurm_case, id="slurm", marks=pytest.mark.real("slurm")),
        pytest.param(_kubernetes_case, id="kubernetes"),
    ]
)
def case(
    request: pytest.FixtureRequest, folder: Path, cache: Path, job: Callable[..., JobSpec], tmp_path: Path
) -> Case:
    if request.param is _kubernetes_case:
        return _kubernetes_case(folder, cache, job, tmp_path, request.getfixturevalue("kubernetes_options"))
    if request.param is _slurm_case:
        return _slurm_case(folder, cache, job, tmp_path, request.getfixturevalue("slurm_options"))
    if request.param in (_podman_case, _ssh_case):
        podman, digest = request.getfixturevalue("podman"), request.getfixturevalue("shell_image")
        if request.param is _ssh_case:
            return _ssh_case(podman, request.getfixturevalue("ssh_server"), digest, folder, tmp_path / "cache")
        return _podman_case(podman, digest, folder, tmp_path / "cache")
    made: Case = request.param(folder, cache, job, tmp_path)
    return made


Ended = Callable[[Executor, str], JobStatus]


def _running(executor: Executor, key: str, until: Callable[..., object]) -> None:
    until(lambda: executor.poll(key).state is JobState.RUNNING, f"{key} to run")


def test_a_key_that_was_never_started_is_unknown_and_may_still_be_started(case: Case, ended: Ended) -> None:
    executor = case.make()
    assert executor.poll(case.quick.key) == JobStatus(state=JobState.UNKNOWN)
    assert list(executor.fetch(case.quick.key)) == []
    executor.start(case.quick)
    assert ended(executor, case.quick.key).outcome is JobOutcome.OK


def test_a_key_started_many_times_runs_once(case: Case, ended: Ended) -> None:
    executors = [case.make(), case.make()]
    for executor in executors * 3:
        executor.start(case.quick)
    assert ended(executors[0], case.quick.key).outcome is JobOutcome.OK
    executors[1].start(case.quick)
    assert ended(executors[1], case.quick.key).outcome is JobOutcome.OK
    assert case.times_run(case.quick) == 1


def test_an_end_has_its_times_and_stays_the_same_for_every_caller(case: Case, ended: Ended) -> None:
    executor = case.make()
    executor.start(case.quick)
    status = ended(executor, case.quick.key)
    assert status.started_at is not None
    assert status.ended_at is not None
    assert status.started_at <= status.ended_at
    assert status.started_at.tzinfo is not None
    assert case.make().poll(case.quick.key) == status


def test_outputs_come_with_their_size_and_hash(case: Case, ended: Ended) -> None:
    executor = case.make()
    executor.start(case.quick)
    ended(executor, case.quick.key)
    outputs = {output.kind: output for output in executor.fetch(case.quick.key)}
    assert {"result", "log", "environment"} <= outputs.keys()
    assert outputs["result"].name == "result.json"
    for output in outputs.values():
        content = output.path.read_bytes()
        assert output.size_bytes == len(content)
        assert output.sha256 == hashlib.sha256(content).hexdigest()


def test_what_is_printed_is_the_result_of_a_suite_that_names_the_log(case: Case, ended: Ended) -> None:
    executor, printing = case.make(), replace(case.quick, result_file="run.log")
    executor.start(printing)
    assert ended(executor, printing.key).outcome is JobOutcome.OK
    outputs = {output.kind: output for output in executor.fetch(printing.key)}
    assert outputs["result"].name == "run.log"
    assert [outputs[kind].path.read_text().strip() for kind in ("result", "log")] == ["{}", "{}"]


def test_a_running_attempt_can_be_cancelled_and_is_ended_when_cancel_returns(
    case: Case, until: Callable[..., object]
) -> None:
    executor = case.make_endless()
    executor.start(case.endless)
    _running(executor, case.endless.key, until)
    executor.cancel(case.endless.key)
    assert executor.poll(case.endless.key).outcome is JobOutcome.CANCELLED
    assert executor.poll(case.endless.key).detail == CALLED_OFF
    assert case.make_endless().poll(case.endless.key).outcome is JobOutcome.CANCELLED


def test_cancelling_an_ended_attempt_changes_nothing(case: Case, ended: Ended) -> None:
    executor = case.make()
    executor.start(case.quick)
    before = ended(executor, case.quick.key)
    executor.cancel(case.quick.key)
    executor.abandon(case.quick.key)
    assert executor.poll(case.quick.key) == before
    assert [o.kind for o in executor.fetch(case.quick.key)].count("result") == 1


@pytest.mark.parametrize("stop", ["abandon", "cancel"])
def test_what_is_stopped_before_its_start_never_runs(case: Case, stop: str) -> None:
    executor = case.make()
    getattr(executor, stop)(case.quick.key)
    executor.start(case.quick)
    status = executor.poll(case.quick.key)
    assert status.state is JobState.ENDED
    assert status.outcome is (JobOutcome.LOST if stop == "abandon" else JobOutcome.CANCELLED)
    assert case.times_run(case.quick) == 0


def test_a_sweep_ends_what_nobody_asks_for_and_leaves_the_rest(case: Case, until: Callable[..., object]) -> None:
    executor = case.make_endless()
    wanted, unwanted = case.endless, replace(case.endless, key="endless-2")
    for spec in (wanted, unwanted):
        executor.start(spec)
        _running(executor, spec.key, until)
    assert list(executor.sweep(frozenset({wanted.key}))) == [unwanted.key]
    assert executor.poll(unwanted.key).state is JobState.ENDED
    assert executor.poll(wanted.key).state is JobState.RUNNING
    assert list(executor.sweep(frozenset({wanted.key}))) == []
    executor.cancel(wanted.key)


def test_a_second_executor_on_the_same_folder_takes_over(case: Case, until: Callable[..., object]) -> None:
    case.make_endless().start(case.endless)
    other = case.make_endless()
    _running(other, case.endless.key, until)
    other.cancel(case.endless.key)
    assert other.poll(case.endless.key).outcome is JobOutcome.CANCELLED


@pytest.mark.parametrize("key", ["", "../elsewhere", "a/b", ".hidden", "a" * 200, "sp ace", "nul\0"])
def test_a_key_that_is_no_folder_name_is_refused(case: Case, key: str) -> None:
    executor = case.make()
    with pytest.raises(UserError, match="attempt key"):
        executor.start(replace(case.quick, key=key))
    with pytest.raises(UserError, match="attempt key"):
        executor.poll(key)


@pytest.mark.parametrize("name", ["", "..", "sub/result.json", "/etc/passwd"])
def test_a_result_file_outside_the_working_folder_is_refused(case: Case, name: str) -> None:
    with pytest.raises(UserError, match="plain file name"):
        case.make().start(replace(case.quick, result_file=name))


@pytest.mark.parametrize("requirement", ["--index-url=http://example", "-e .", " "])
def test_a_requirement_that_is_an_option_is_refused(case: Case, requirement: str) -> None:
    with pytest.raises(UserError, match="is not a requirement"):
        case.make().start(replace(case.quick, requirements=(requirement,)))


def test_an_unknown_option_is_an_error_with_the_near_match(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Did you mean 'index_url'"):
        local.create({"index_ur": ""}, folder=tmp_path, cache=tmp_path)
    with pytest.raises(UserError, match="Did you mean 'engine'"):
        docker_engine.create({"engin": ""}, folder=tmp_path, cache=tmp_path)
    with pytest.raises(UserError, match="Did you mean 'recordings'"):
        replay.create({"recording": "x"}, folder=tmp_path, cache=tmp_path)
    with pytest.raises(UserError, match="Did you mean 'partition'"):
        slurm.create({"partitions": "x"}, folder=tmp_path, cache=tmp_path)
