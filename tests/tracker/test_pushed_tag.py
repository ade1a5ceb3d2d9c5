"""From a pushed tag to an alert with no hand on it: a daemon of its own, a real registry, a real Podman or Slurm.

The benchmark inside the images is a shell script that prints a log as trtexec writes it, with figures of our own.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import Registry, make_image, serve_registry
from tests.fakes.slurm import Cluster, serve_slurm, stand_in
from tests.patience import patient

pytestmark = [pytest.mark.real("container registry"), pytest.mark.timeout(600)]

POLL_S = 3
REPEATS = 2
REPOSITORY = "bench/engine"
HISTORY = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
FAST, SLOW = 10, 13
"""Milliseconds of a query."""
SETTINGS = """
suites = ["engine-in-containers"]
suite_folders = ["{suites}"]
watch_every_s = {poll_s}
{engine}
"""
SUITE = """
name = "engine-in-containers"
title = "An engine in containers"
component = "engine"
[source]
kind = "oci_registry"
repository = "{repository}"
platforms = ["linux/amd64"]
[matrix]
model = ["m"]
[run]
executor = "{executor}"
program = "trtexec"
repeats = {repeats}
timeout_s = 60
[output]
file = "run.log"
tool = "trtexec"
parser = "trtexec"
[[expect]]
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
BENCHMARK = """\
#!/bin/sh
call="TensorRT.trtexec [TensorRT v101501] [b29] # trtexec"
at='[12/01/2026-10:00:00]'
ms={level}.0$BENCHMARK_REPEAT
echo "&&&& RUNNING $call"
echo "$at [I] Timing trace has 980 queries over 10.0 s"
echo "$at [I] === Performance summary ==="
echo "$at [I] Throughput: 98.5 qps"
echo "$at [I] Latency: min = 9 ms, max = 27 ms, mean = $ms ms, median = $ms ms, percentile(99%) = 26 ms"
echo "$at [I] Total Host Walltime: 10.0 s"
echo "$at [I] Total GPU Compute Time: 9.9 s"
echo "&&&& PASSED $call"
"""
ENROOT = """\
#!/bin/sh
# enroot import --output FILE docker://HOST#NAME:sha256:DIGEST
image=${4#docker://}
name=${image#*#}
skopeo copy --quiet --insecure-policy --src-tls-verify=false \
    "docker://${image%%#*}/${name%%:*}@${name#*:}" "oci:$3.layout:image" &&
    umoci unpack --image "$3.layout:image" "$3.files" >&2 &&
    echo "$3.files/rootfs" > "$3"
"""
SRUN = """\
#!/bin/sh
for word; do case $word in
    --container-image=*) files=$(cat "${word#*=}") ;;
    --*container*) ;;
    *) set -- "$@" "$word" ;;
esac; shift; done
PATH="$files/bin:$PATH" exec {srun} "$@"
"""


@dataclass
class Service:
    """One home folder with a daemon on it, and the registry it watches."""

    folder: Path
    registry: Registry
    daemon: subprocess.Popen[bytes] | None = None
    needs_shell: bool = True
    """Whether images have a shell of their own."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def log(self) -> Path:
        return self.folder / "daemon.log"

    def write(self, executor: str, engine: str) -> None:
        """Write settings and suite."""
        suites = self.folder / "suites"
        suites.mkdir()
        self.home.mkdir()
        (self.home / "tracker.toml").write_text(SETTINGS.format(suites=suites, poll_s=POLL_S, engine=engine))
        repository = f"{self.registry.address}/{REPOSITORY}"
        text = SUITE.format(repository=repository, executor=executor, repeats=REPEATS)
        (suites / "engine-in-containers.toml").write_text(text)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                [sys.executable, "-m", "tracker.cli", "daemon"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def stop(self) -> None:
        """Press Ctrl-C, and kill what does not listen."""
        if self.daemon is None:
            return
        self.daemon.send_signal(signal.SIGINT)
        try:
            self.daemon.wait(patient(20))
        finally:
            self.daemon.kill()
            self.daemon.wait()

    def push(self, content: str, level: int, *tags: str) -> str:
        """Push an image whose benchmark takes `level` milliseconds under each of the tags; return its digest."""
        files = {"bin/trtexec": BENCHMARK.format(level=level), "etc/content": content}
        image = make_image(self.folder / "images", files, shell=self.needs_shell)
        for tag in tags:
            self.registry.push(image, REPOSITORY, tag)
        return self.registry.digest(REPOSITORY, tags[0])

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none before the tables are there."""
        try:
            with closing(sqlite3.connect(f"file:{self.home / 'tracker.db'}?mode=ro", uri=True, timeout=10)) as open_:
                return open_.execute(statement, values).fetchall()
        except sqlite3.OperationalError:
            return []

    def looks(self) -> list[tuple[Any, ...]]:
        """Return when the source was asked last."""
        return self.ask("SELECT asked_at FROM cursor WHERE problem IS NULL")

    def wait_for(self, what: Callable[[], object], limit_s: float = 90) -> None:
        deadline = time.monotonic() + patient(limit_s)
        while not what():
            if time.monotonic() > deadline or self.daemon is None or self.daemon.poll() is not None:
                pytest.fail(f"waited in vain; the daemon said\n{self.log.read_text(errors='replace')[-4000:]}")
            time.sleep(0.02)

    def wait_for_look(self) -> None:
        """Wait for the end of the next whole look: one may be under way, which saw less."""
        self._wait_for_other(self.looks())
        self._wait_for_other(self.looks())

    def _wait_for_other(self, before: list[tuple[Any, ...]]) -> None:
        self.wait_for(lambda: self.looks() != before)

    def digests(self, tag: str) -> list[str]:
        """Return the digests that were seen under a tag, the newest last."""
        return [row[0] for row in self.ask("SELECT digest FROM build WHERE tag = ? ORDER BY id", tag)]

    def measured(self, digest: str) -> int:
        """Return how many runs of a build gave a value."""
        (row,) = self.ask(
            "SELECT count(DISTINCT m.run_id) FROM measurement m JOIN run r ON r.id = m.run_id "
            "JOIN build b ON b.id = r.build_id WHERE b.digest = ?",
            digest,
        )
        return int(row[0])

    def alerts(self) -> list[tuple[Any, ...]]:
        return self.ask(
            "SELECT release.identity, alert.direction, alert.state FROM alert JOIN release ON release.id = release_id"
        )


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with serve_registry(tmp_path / "registry") as registry:
        yield Service(tmp_path, registry)


@pytest.fixture
def podman() -> Iterator[Podman]:
    with serve_podman() as running:
        yield running


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with serve_slurm(tmp_path / "slurm") as running:
        yield running


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands with stand-ins for enroot and pyxis: they take the image's program, not its walls."""
    folder = stand_in(tmp_path / "bin", srun=SRUN, enroot=ENROOT)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def follow_the_tags(service: Service) -> None:
    """Push tags at a running daemon, and hold what it makes of each against what it should."""
    older = [service.push(tag, FAST, tag, "latest") for tag in HISTORY]
    service.start()
    service.wait_for(lambda: service.digests(HISTORY[-1]) and all(service.measured(one) == REPEATS for one in older))

    slow = service.push("1.4.0", SLOW, "1.4.0", "latest")
    service.wait_for_look()
    assert service.digests("1.4.0") == [slow], "a new tag is found within one poll"
    service.wait_for(lambda: service.ask("SELECT 1 FROM delivery WHERE kind = 'alert' AND state = 'sent'"))
    assert service.alerts() == [("1.4.0", "regressed", "new")]
    service.wait_for(lambda: "1.4.0 is slower than 1.3.0" in service.log.read_text())

    again = service.push("1.4.0, made again", FAST, "1.4.0")
    service.wait_for_look()
    assert service.digests("1.4.0") == [slow, again], "pushed again it is a second build"
    service.wait_for(lambda: service.measured(again) == REPEATS)
    service.wait_for(lambda: service.alerts() == [("1.4.0", "regressed", "recovered")])

    before = service.ask("SELECT count(*) FROM run")
    service.push("something else", SLOW, "latest")
    service.wait_for_look()
    assert len(service.ask("SELECT 1 FROM build")) == len(HISTORY) + 2, "latest moved is nothing"
    assert service.ask("SELECT count(*) FROM run") == before == [(6 * REPEATS,)]

    outcomes = Counter(row[0] for row in service.ask("SELECT outcome FROM attempt"))
    assert outcomes == {"ok": 6 * REPEATS}, "nothing was measured twice"
    assert [service.measured(one) for one in (*older, slow, again)] == [REPEATS] * 6


@pytest.mark.real("podman")
def test_a_pushed_tag_becomes_an_alert_through_podman(service: Service, podman: Podman) -> None:
    service.write("docker_engine", f'[docker]\nengine = "{podman.url}"\nmin_free_gb = 0.1')
    try:
        follow_the_tags(service)
    finally:
        service.stop()
    assert podman.containers() == []


@pytest.mark.real("slurm")
def test_a_pushed_tag_becomes_an_alert_through_slurm(service: Service, cluster: Cluster, commands: Path) -> None:
    service.needs_shell = False  # it would hide the node's own
    service.write("slurm", f'[slurm]\nconf = "{cluster.conf}"\nbin = "{commands}"\nask_every_s = 0.2')
    try:
        follow_the_tags(service)
    finally:
        service.stop()
    assert cluster.active_jobs() == []
