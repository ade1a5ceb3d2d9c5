"""kill -9 at random moments of runs in containers: each is measured once, and the engine has nothing of ours left."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.test_kills import Service, end, wait_for
from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import Registry, make_image, serve_registry

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.real("podman"),
    pytest.mark.real("container registry"),
    pytest.mark.timeout(3600),
]

RELEASES = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
SUITE = """
name = "thing"
title = "A thing in containers"
component = "thing"
[source]
kind = "oci_registry"
repository = "{repository}"
[matrix]
model = ["m"]
[run]
executor = "docker_engine"
program = "bench"
repeats = {repeats}
timeout_s = 900
[output]
tool = "bench"
parser = "generic"
[[expect]]
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
BENCH = """\
#!/bin/sh
sleep 600 &
sleep 0.5
echo '{"tool": "bench", "runs": [{"labels": {}, "metrics": {"latency_p50_ms": 10.0}}]}' > result.json
"""


class ContainerService(Service):
    """A service folder whose suite measures the images of a registry in Podman."""

    def __init__(self, folder: Path, podman: Podman, registry: Registry, *, repeats: int) -> None:
        self.home = folder / "home"
        self.log = folder / "daemon.log"
        self.log.touch()
        self.podman = podman
        self.planned = repeats * len(RELEASES)
        self.suite = folder / "thing.toml"
        self.suite.write_text(SUITE.format(repository=f"{registry.address}/bench/thing", repeats=repeats))
        self.variables = {"TRACKER_DOCKER__ENGINE": podman.url, "TRACKER_DOCKER__MIN_FREE_GB": "0.1"}
        self.daemon = None
        for release in RELEASES:
            files = {"bin/bench": BENCH, "etc/release": release}
            registry.push(make_image(folder / "images", files, name=f"thing-{release}"), "bench/thing", release)

    def carriers(self) -> list[int]:
        """Return the processes that carry attempts which have not ended."""
        found = []
        for file in (self.home / "attempts").glob("*/carrier.json"):
            if not (file.parent / "status.json").exists():
                found.append(int(json.loads(file.read_text())["pid"]))
        return found


@pytest.fixture
def podman() -> Iterator[Podman]:
    with serve_podman() as served:
        yield served


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with serve_registry(tmp_path / "registry") as served:
        yield served


@pytest.fixture
def service(
    tmp_path: Path, podman: Podman, registry: Registry, request: pytest.FixtureRequest
) -> Iterator[ContainerService]:
    kills = 2 * request.config.getoption("--chaos-kills")
    made = ContainerService(tmp_path, podman, registry, repeats=max(3, kills // 3))
    yield made
    if made.daemon and made.daemon.poll() is None:
        made.daemon.kill()
        made.daemon.wait()
    for pid in made.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_somewhere(service: ContainerService, dice: random.Random) -> str:
    """Kill the daemon after a random while; often what carries the run too, now and then the engine's API as well."""
    before = service.starts()
    daemon = service.start()
    if dice.random() < 0.15:
        where, pause_s = "while it starts", dice.uniform(0, 1.0)
    else:
        wait_for(lambda: service.starts() > before, service)
        where, pause_s = "at work", dice.uniform(0, 3.0)
    time.sleep(pause_s)
    daemon.kill()
    daemon.wait()
    if dice.random() < 0.5 and (carriers := service.carriers()):
        with suppress(ProcessLookupError):
            os.kill(dice.choice(carriers), signal.SIGKILL)
        where += ", the carrier too"
    if dice.random() < 0.15:
        service.podman.kill()
        service.podman.start()
        where += ", and the engine"
    return where


def test_no_kill_leaves_a_container_or_measures_a_run_twice(
    service: ContainerService, request: pytest.FixtureRequest
) -> None:
    kills = 2 * request.config.getoption("--chaos-kills")
    seed = int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"seed {seed}; CHAOS_SEED={seed} repeats it")
    dice = random.Random(seed)
    where: Counter[str] = Counter()
    while where.total() < kills and service.states()["done"] < service.planned:
        where[kill_somewhere(service, dice)] += 1
    service.start()
    wait_for(lambda: service.states()["done"] == service.planned, service, limit_s=1200)
    took_s = end(service)

    attempts = Counter(dict(service.ask("SELECT coalesce(outcome, 'open'), count(*) FROM attempt GROUP BY outcome")))
    print(f"kills: {dict(where)}; attempts: {dict(attempts)}; Ctrl-C took {took_s:.1f} s")
    assert where.total() == kills
    assert service.states() == {"done": service.planned}
    engine_kills = sum(count for what, count in where.items() if "engine" in what)
    assert attempts["ok"] == service.planned
    assert set(attempts) <= {"ok", "infra_failed", "lost"}, (
        "an engine killed in the middle of a start may spoil that start"
    )
    assert attempts.total() - attempts["ok"] <= engine_kills, "an attempt was lost although its container lived on"
    assert service.ask("SELECT count(*), count(DISTINCT run_id) FROM measurement") == [(service.planned,) * 2]
    started = Counter(service.podman.started())
    assert set(started.values()) == {1}, "a container was started twice"
    assert len(started) <= attempts.total()
    assert service.podman.containers() == []
    assert service.podman.run("volume", "ls", "--quiet").split() == []
    assert service.processes() == {}


def test_ctrl_c_ends_the_daemon_and_its_containers_within_ten_seconds(service: ContainerService) -> None:
    service.start()
    wait_for(lambda: any((service.home / "attempts").glob("*/running.json")), service)

    end(service)

    assert service.podman.containers() == []
    assert service.processes() == {}
    assert service.states()["queued"] >= service.planned - 1
