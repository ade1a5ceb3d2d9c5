"""From a tag in a real registry to an alert, through a real Slurm: found, planned, run by digest, compared, told.

Only pyxis and enroot are missing: programs of our own take their options, and the container is the node itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import col, select

from tests.fakes.registry import Registry, make_image, serve_registry
from tests.fakes.slurm import Cluster, serve_slurm, stand_in
from tests.tracker.pipeline.kit import Clock
from tracker.app import App
from tracker.pipeline.analyze import analyze
from tracker.pipeline.execute import advance
from tracker.pipeline.ingest import ingest
from tracker.pipeline.notify import notify
from tracker.pipeline.plan import plan
from tracker.pipeline.watch import watch
from tracker.settings import load_settings
from tracker.store.tables import AlertRow, AttemptRow, BuildRow, MeasurementRow, ReleaseRow, RunRow

pytestmark = [pytest.mark.real("container registry"), pytest.mark.real("slurm"), pytest.mark.timeout(600)]

REPEATS = 4
SUITE = """
name = "thing"
title = "A thing in a container"
component = "thing"
[source]
kind = "oci_registry"
repository = "{repository}"
platforms = ["linux/amd64"]
[matrix]
model = ["m"]
[run]
executor = "slurm"
program = "bench.py"
arguments = ["{{version}}"]
repeats = {repeats}
timeout_s = 60
[output]
tool = "bench"
parser = "generic"
[[expect]]
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
PROGRAM = """
import json, random, sys
level_ms = 14.0 if sys.argv[1] == "1.4.0" else 10.0
runs = [{"labels": {}, "metrics": {"latency_p50_ms": level_ms * random.uniform(0.995, 1.005)}}]
with open("result.json", "w") as file:
    json.dump({"tool": "bench", "runs": runs}, file)
"""
SRUN = """#!/bin/sh
for word; do case $word in
    --*container*) echo "$word" >> {told} ;;
    *) set -- "$@" "$word" ;;
esac; shift; done
exec {srun} "$@"
"""
ENROOT = '#!/bin/sh\necho image > "$3"\n'


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with serve_registry(tmp_path / "registry") as running:
        yield running


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with serve_slurm(tmp_path / "slurm") as running:
        yield running


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands, with an srun that takes pyxis' options and notes them in `told`."""
    folder = stand_in(tmp_path / "bin", srun=SRUN, enroot=ENROOT)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(
    registry: Registry, cluster: Cluster, commands: Path, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[App]:
    suites = tmp_path / "suites"
    (suites / "programs").mkdir(parents=True)
    (suites / "programs" / "bench.py").write_text(PROGRAM)
    (suites / "thing.toml").write_text(SUITE.format(repository=f"{registry.address}/nvidia/thing", repeats=REPEATS))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    asked = {"conf": str(cluster.conf), "bin": str(commands), "ask_every_s": 0.2}
    made = App(load_settings(suites=["thing"], suite_folders=[suites], slurm=asked, watch_every_s=60), clock)
    yield made
    made.close()


def test_a_new_tag_becomes_an_alert_with_no_hand_on_it_and_moving_latest_becomes_nothing(
    app: App, clock: Clock, registry: Registry, cluster: Cluster, commands: Path, tmp_path: Path
):
    def push(*tags: str) -> None:
        image = make_image(tmp_path / "images", {"etc/release": tags[0]}, shell=False)
        for tag in tags:
            registry.push(image, "nvidia/thing", tag)

    def round_() -> int:
        """Look, plan, and measure what is planned; return how many runs that were."""
        clock.advance(60)
        watch(app.context, "thing")
        planned = plan(app.context, "thing")
        while advance(app.context):
            time.sleep(0.05)
        while sum(step(app.context) for step in (ingest, analyze, notify)):
            pass
        return planned

    for tag in ("1.0.0", "1.1.0", "1.2.0", "1.3.0"):
        push(tag, "latest")
    assert round_() == 4 * REPEATS
    assert alerts(app) == []

    push("1.4.0", "latest")
    assert round_() == REPEATS
    assert alerts(app) == [("1.4.0", "regressed")]
    assert round_() == 0

    with app.store.read() as session:
        outcomes = session.exec(select(AttemptRow.outcome)).all()
        measured = session.exec(select(MeasurementRow.run_id)).all()
        digests = session.exec(select(BuildRow.digest)).all()
        assert set(session.exec(select(RunRow.state)).all()) == {"done"}
    assert outcomes == ["ok"] * 5 * REPEATS
    assert len(set(measured)) == len(measured) == 5 * REPEATS
    told = (commands / "told").read_text()
    for digest in digests:  # exactly the planned builds ran
        assert told.count(f"--container-image={app.settings.home}/cache/images/{digest[7:]}.sqsh") == REPEATS
    assert cluster.active_jobs() == []


def alerts(app: App) -> list[tuple[str, str]]:
    """Return release and direction of the alerts there are."""
    with app.store.read() as session:
        rows = session.exec(
            select(ReleaseRow.identity, AlertRow.direction).join(
                AlertRow, col(AlertRow.release_id) == col(ReleaseRow.id)
            )
        ).all()
    return [(identity, direction) for identity, direction in rows]
