"""What containers, engines and registries do to a running service: each run ends once, in plain words, none is left.

One daemon of its own, a real Podman, a real registry with a go-between that can fail. Nothing is measured twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import Registry, make_image, serve_registry
from tests.fakes.troubled_registry import Asked, Cut, Flood, Lie, Redirect, Trouble, TroubledRegistry, serve_troubled
from tests.tracker.test_pushed_tag import Service as Daemon

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.real("podman"),
    pytest.mark.real("container registry"),
    pytest.mark.timeout(1800),
]

REPOSITORY = "bench/thing"
SUITE = """
name = "thing"
title = "A thing in containers"
component = "thing"
[source]
kind = "oci_registry"
repository = "{repository}"
platforms = ["linux/amd64"]
[matrix]
model = ["m"]
[run]
executor = "docker_engine"
program = "bench"
repeats = 1
timeout_s = {timeout_s}
output_limit_mb = 1
[run.container]
memory_gb = 0.25
[output]
tool = "bench"
parser = "generic"
[[expect]]
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
SETTINGS = """
suites = ["thing"]
suite_folders = ["{suites}"]
watch_every_s = 2
[docker]
engine = "{engine}"
min_free_gb = 0.1
work_limit_gb = 0.05
"""
WRITES = """echo '{"tool": "bench", "runs": [{"labels": {}, "metrics": {"latency_p50_ms": 10.0}}]}' > result.json\n"""
NEVER_STOPS = """
trap '' TERM INT HUP
(trap '' TERM; (trap '' TERM; while true; do sleep 1; done) & while true; do sleep 1; done) &
while true; do sleep 1; done
"""
SIGNALS = ("TERM", "KILL", "SEGV", "ABRT", "BUS", "FPE", "PIPE")
#: What a program does -> what is said of its run.
ENDS = {
    NEVER_STOPS: "over the time limit of {timeout_s} s; it had printed nothing",
    "echo begin; sleep 600": "over the time limit of {timeout_s} s; it printed last: begin",
    "x=0123456789; while true; do x=$x$x; done": "out of memory",
    f"dd if=/dev/zero of=big bs=1000000 count=300; sleep 30; {WRITES}": "of files in its working folder",
    f"while true; do echo a line of output as long as lines of output are; done; {WRITES}": "more than 1 MB of output",
    "echo no idea": "wrote no result.json; it printed last: no idea",
    **{f"sh -c 'kill -{name} $$'; exit $?": f"SIG{name}" for name in SIGNALS},
}
SHORT_ENDS = (NEVER_STOPS, "echo no idea")


@dataclass
class Drill(Daemon):
    """A service whose images differ in what their program does."""

    def set_up(self, engine: str, registry_address: str, *, timeout_s: int) -> None:
        suites = self.folder / "suites"
        suites.mkdir()
        self.home.mkdir()
        (self.home / "tracker.toml").write_text(SETTINGS.format(suites=suites, engine=engine))
        text = SUITE.format(repository=f"{registry_address}/{REPOSITORY}", timeout_s=timeout_s)
        (suites / "thing.toml").write_text(text)

    def publish(self, version: str, program: str) -> None:
        files = {"etc/release": version, "bin/bench": f"#!/bin/sh\n{program}", "etc/pad": os.urandom(2_000_000)}
        self.registry.push(make_image(self.folder / "images", files, name=f"thing-{version}"), REPOSITORY, version)

    def state(self, version: str) -> tuple[str, str, str]:
        """Return state, reason and why it is not seen of a release's only run; empty texts before there is one."""
        statement = (
            "SELECT run.state, run.reason, run.unseen_why FROM run JOIN build ON build.id = run.build_id WHERE tag = ?"
        )
        return next(iter(self.ask(statement, version)), ("", "", ""))

    def tell(self, *words: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            [sys.executable, "-m", "tracker.cli", *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def running(self, number: int) -> bool:
        """Return whether so many programs have been started."""
        return len(list(self.home.glob("attempts/*/running.json"))) >= number


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether this is the long form, `make chaos`: absences of minutes, and all the ways to end."""
    kills: int = request.config.getoption("--chaos-kills")
    return kills >= 100


@pytest.fixture
def podman() -> Iterator[Podman]:
    with serve_podman() as served:
        yield served


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with serve_registry(tmp_path / "registry") as served:
        yield served


@pytest.fixture
def drill(tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drill]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    made = Drill(tmp_path, registry)
    yield made
    made.stop()


def test_every_way_a_container_ends_is_told_in_plain_words_and_leaves_nothing(
    drill: Drill, podman: Podman, is_long: bool
) -> None:
    timeout_s = 20 if is_long else 5
    drill.set_up(podman.url, drill.registry.address, timeout_s=timeout_s)
    versions = {f"1.{number}.0": program for number, program in enumerate(ENDS if is_long else SHORT_ENDS)}
    for version, program in versions.items():
        drill.publish(version, program)
    drill.publish("2.0.0", WRITES)
    drill.start()
    everything = [*versions, "2.0.0"]
    drill.wait_for(lambda: all(drill.state(one)[0] in ("done", "failed") for one in everything), 900)

    for version, program in versions.items():
        state, reason, _ = drill.state(version)
        assert state == "failed"
        assert ENDS[program].format(timeout_s=timeout_s) in reason, f"{program!r} gave {reason!r}"
    assert drill.state("2.0.0")[0] == "done"
    assert drill.ask("SELECT count(*), count(DISTINCT run_id) FROM attempt") == [(len(everything),) * 2]
    assert drill.ask("SELECT count(*), count(DISTINCT run_id) FROM measurement") == [(1, 1)]
    assert drill.alerts() == []
    assert podman.containers() == []


def test_an_engine_that_is_away_for_two_minutes_ends_nothing_and_is_told_of(
    drill: Drill, podman: Podman, is_long: bool
) -> None:
    drill.set_up(podman.url, drill.registry.address, timeout_s=400)
    drill.publish("1.0.0", f"for i in 1 2 3 4 5 6; do echo $i; sleep 2; done; {WRITES}")
    drill.start()
    drill.wait_for(lambda: drill.running(1))
    podman.kill()
    drill.wait_for(lambda: drill.state("1.0.0")[2])
    for words in (("runs", "list"), ("doctor",)):
        told = drill.tell(*words)
        assert "not seen since" in told
        assert "does not answer" in told
    time.sleep(60 if is_long else 1)
    assert drill.daemon is not None
    drill.daemon.kill()
    drill.daemon.wait()
    drill.start()
    time.sleep(60 if is_long else 1)
    assert drill.state("1.0.0")[0] == "running"

    podman.start()
    drill.wait_for(lambda: drill.state("1.0.0") == ("done", "", ""))
    log = drill.log.read_text()
    assert "run.seen_again" in log
    assert log.count("run.not_seen") <= 3
    assert drill.ask("SELECT outcome FROM attempt") == [("ok",)]
    assert len(podman.started()) == 1
    assert podman.containers() == []


def of_engine(path: str, trouble: Trouble) -> Callable[[Asked], Trouble | None]:
    """Return the trouble for an engine that pulls, none for the service that watches."""
    return lambda asked: trouble if asked.by_engine and path in asked.path and asked.method == "GET" else None


TROUBLES = {
    "cuts a layer": of_engine("/blobs/", Cut()),
    "lies about a layer": of_engine("/blobs/", Lie()),
    "lies about a manifest": of_engine("/manifests/", Lie()),
    "sends 500 MB for a manifest": of_engine("/manifests/", Flood(500_000_000)),
    "redirects to nowhere": of_engine("/blobs/", Redirect("http://127.0.0.1:1/elsewhere")),
}
SHORT_TROUBLE = "lies about a layer"


@pytest.fixture
def troubled(registry: Registry) -> Iterator[TroubledRegistry]:
    with serve_troubled(registry) as served:
        yield served


@pytest.mark.parametrize("name", TROUBLES)
def test_a_registry_in_trouble_costs_a_try_not_the_release(
    drill: Drill, podman: Podman, troubled: TroubledRegistry, is_long: bool, name: str
) -> None:
    if not is_long and name != SHORT_TROUBLE:
        pytest.skip("only in the long form: make chaos")
    trouble = TROUBLES[name]
    drill.set_up(podman.url, troubled.address, timeout_s=60)
    troubled.trouble = trouble
    drill.publish("1.0.0", WRITES)
    drill.start()
    drill.wait_for(lambda: "tried again at" in drill.state("1.0.0")[1] or drill.state("1.0.0")[0] == "failed", 180)
    state, reason, _ = drill.state("1.0.0")
    assert state == "queued", reason
    assert "(attempt 2 of 3) after: " in reason

    troubled.trouble = lambda asked: None
    drill.wait_for(lambda: drill.state("1.0.0")[0] == "done", 180)
    assert drill.ask("SELECT count(*) FROM measurement") == [(1,)]
    assert drill.alerts() == []
    assert podman.containers() == []
