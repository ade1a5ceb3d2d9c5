"""A carrier, a container or the engine itself gone in the middle: no attempt runs twice, none is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import TryLater
from jobs.executors import docker_engine
from jobs.executors._attempts import Attempt, replace
from jobs.protocols import Executor, JobOutcome
from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import make_image
from tests.jobs.executors.engine_bench import FILES, PREFIX, Bench, Ended, running

pytestmark = [pytest.mark.real("podman"), pytest.mark.timeout(180)]


def test_a_carrier_that_is_killed_leaves_the_container_to_the_next_one(
    bench: Bench, until: Callable[..., Any], ended: Ended
) -> None:
    executor = bench.executor()
    job = bench.job("for i in 1 2 3; do echo $i; sleep 1; done; echo '{}' > result.json")
    executor.start(job)
    running(executor, job.key, until)
    os.kill(bench.carrier(), signal.SIGKILL)
    status = ended(bench.executor(), job.key)
    assert status.outcome is JobOutcome.OK
    assert bench.file("run.log").read_text() == "1\n2\n3\n"
    assert sum(name.endswith(f"-{job.key}") for name in bench.started()) == 1


def test_a_container_made_but_not_started_before_a_crash_is_made_anew(bench: Bench, ended: Ended) -> None:
    executor, job = bench.executor(), bench.job("echo '{}' > result.json")
    home = docker_engine._home(bench.folder, make=True)
    label = f"{PREFIX}.attempt={job.key}"
    bench.podman.run("create", "--name", f"tracker-{home}-{job.key}", "--label", label, "localhost/tools:1.0", "true")
    executor.start(job)
    assert ended(executor, job.key).outcome is JobOutcome.OK


def test_an_attempt_whose_carriers_all_die_is_given_up_and_its_container_removed(bench: Bench) -> None:
    executor, job = bench.executor(), bench.job("true")
    home = docker_engine._home(bench.folder, make=True)
    name = f"tracker-{home}-{job.key}"
    bench.podman.run(
        "run", "--detach", "--network=none", "--stop-timeout=1", "--name", name, bench.image, "sleep", "60"
    )
    attempt = Attempt(bench.folder / job.key)
    attempt.claim({"executor": "docker_engine"})
    replace(attempt.file("launched.json"), {"pid": 1, "began": "long ago", "times": 50})
    attempt.file("carrier.log").write_text("Traceback ...\nMemoryError\n")
    status = executor.poll(job.key)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert status.detail == "its carrier ended 50 times before its work was done: MemoryError"
    assert bench.own() == []


def test_a_container_of_somebody_else_under_our_name_is_left_alone(bench: Bench, ended: Ended) -> None:
    executor, job = bench.executor(), bench.job("true")
    name = f"tracker-{docker_engine._home(bench.folder, make=True)}-{job.key}"
    bench.podman.run("create", "--name", name, "localhost/tools:1.0", "true")
    executor.start(job)
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "is not ours" in status.detail
    assert bench.own() == [name]
    bench.podman.run("rm", name)


def test_a_container_that_somebody_removes_is_lost_and_not_run_again(
    bench: Bench, until: Callable[..., Any], ended: Ended
) -> None:
    executor, job = bench.executor(), bench.job("sleep 60")
    executor.start(job)
    running(executor, job.key, until)
    bench.podman.run("rm", "--force", "--time", "0", *bench.own())
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.LOST
    assert "removed by somebody else" in status.detail
    assert len(bench.started()) == 1


def test_a_sweep_removes_containers_that_no_attempt_speaks_for(bench: Bench) -> None:
    executor = bench.executor()
    home = docker_engine._home(bench.folder, make=True)
    labels = ["--label", f"{PREFIX}.home={home}", "--label", f"{PREFIX}.attempt=run-9-1"]
    for name in ("stray", "wanted"):
        labels[-1] = f"{PREFIX}.attempt={name}"
        bench.podman.run(
            "run", "--detach", "--network=none", "--name", f"{name}-{home}", *labels, bench.image, "sleep", "60"
        )
    assert list(executor.sweep(frozenset({"wanted"}))) == ["stray"]
    assert bench.own() == [f"wanted-{home}"]


@pytest.fixture
def own_podman(images: Path) -> Iterator[Podman]:
    """A Podman for one test that ends its service."""
    with serve_podman() as served:
        served.load(make_image(images, FILES, name="tools"), "localhost/tools:1.0")
        yield served


def test_an_engine_that_is_away_during_a_run_fails_nothing(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 3; echo '{}' > result.json")
    executor.start(job)
    running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    assert ended(executor, job.key).outcome is JobOutcome.OK


def test_what_is_cancelled_while_the_engine_is_away_ends_when_it_is_back(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 600")
    executor.start(job)
    running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    with pytest.raises(TryLater, match="does not answer"):
        executor.cancel(job.key)
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    assert ended(executor, job.key).outcome is JobOutcome.CANCELLED
    assert bench.own() == []


def test_a_container_that_ends_while_the_engine_is_away_says_nothing_about_the_release(
    own_podman: Podman, tools_digest: str, folder: Path, until: Callable[..., Any], ended: Ended
) -> None:
    bench = Bench(podman=own_podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    executor, job = bench.executor(), bench.job("sleep 600")
    executor.start(job)
    running(executor, job.key, until)
    own_podman.kill()
    until(lambda: _is_away(executor, job.key), "the engine to be missed")
    own_podman.run("kill", *bench.own())
    own_podman.start()
    until(lambda: not _is_away(executor, job.key), "the engine to be back")
    status = ended(executor, job.key)
    assert status.outcome is JobOutcome.LOST
    assert "the engine was away during the run" in status.detail


def _is_away(executor: Executor, key: str) -> bool:
    try:
        executor.poll(key)
    except TryLater:
        return True
    return False
