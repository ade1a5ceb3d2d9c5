"""The daemon with everything real: a folder of releases, programs that run, a console; and its beginnings and ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import func, select

from tests.patience import patient
from tests.tracker.pipeline.kit import SUITE
from tracker import daemon as daemon_module
from tracker.app import App
from tracker.daemon import Daemon
from tracker.errors import TryLater
from tracker.settings import Settings
from tracker.store.tables import AttemptRow, CursorRow, MeasurementRow, RunRow

PROGRAM = """
import json, sys, time
from pathlib import Path

level_ms, sleep_s = json.loads((Path(__file__).parent / "levels.json").read_text())[sys.argv[1]]
time.sleep(sleep_s)
prefill = {"labels": {"scenario": "prefill"}, "metrics": {"latency_p50_ms": level_ms, "accuracy": 1.0}}
decode = {"labels": {"scenario": "decode"}, "metrics": {"latency_p50_ms": level_ms / 2}}
Path("result.json").write_text(json.dumps({"tool": "bench", "runs": [prefill, decode]}))
"""


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Make an app with a suite whose versions measure (milliseconds) and take (seconds) what `levels` says."""
    made: list[App] = []

    def make(levels: dict[str, tuple[float, float]], *, repeats: int = 2, **settings: Any) -> App:
        suites = tmp_path / "suites"
        (suites / "programs").mkdir(parents=True, exist_ok=True)
        (suites / "programs" / "bench.py").write_text(PROGRAM)
        (suites / "programs" / "levels.json").write_text(json.dumps(levels))
        text = SUITE.replace("/nowhere", str(tmp_path / "releases")).replace("repeats = 5", f"repeats = {repeats}")
        (suites / "thing.toml").write_text(text)
        for version in levels:
            (tmp_path / "releases" / version).mkdir(parents=True, exist_ok=True)
            (tmp_path / "releases" / version / "build.txt").write_text(version)
        values = {"home": tmp_path / "home", "suites": ["thing"], "suite_folders": [suites], **settings}
        app = App(Settings(**values))
        made.append(app)
        return app

    yield make
    for app in made:
        app.close()


def count(app: App, state: str) -> int:
    with app.store.read() as session:
        return session.exec(select(func.count()).select_from(RunRow).where(RunRow.state == state)).one()


def wait_for(what: Callable[[], bool], limit_s: float = 60) -> None:
    deadline = time.monotonic() + patient(limit_s)
    while not what():
        assert time.monotonic() < deadline, f"waited {limit_s:g} s in vain"
        time.sleep(0.05)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the clock strike more often, so that tests end sooner."""
    monkeypatch.setattr(daemon_module, "WORK_EVERY_S", 0.2)
    monkeypatch.setattr(daemon_module, "POLL_EVERY_S", 0.05)


def test_a_folder_of_releases_is_measured_and_told_of(make_app, quick, capfd: pytest.CaptureFixture[str]):
    app = make_app({"1.0.0": (10.0, 0), "1.1.0": (10.0, 0)})
    daemon = Daemon(app)
    daemon.start()
    try:
        wait_for(lambda: count(app, "done") == 4)
        wait_for(lambda: "1.1.0" in capfd.readouterr().out)
    finally:
        daemon.stop()

    with app.store.read() as session:
        assert session.exec(select(func.count()).select_from(MeasurementRow)).one() == 4 * 3


def test_a_second_daemon_on_a_folder_is_told_to_try_later(make_app):
    app = make_app({"1.0.0": (10.0, 0)})
    first = Daemon(app)
    first.start()
    try:
        with pytest.raises(TryLater, match="another daemon"):
            Daemon(app).start()
        assert app.daemon_state()["running"]
    finally:
        first.stop()

    assert not app.daemon_state()["running"]
    again = Daemon(app)
    again.start()
    again.stop()


def test_stopping_ends_a_long_benchmark_within_ten_seconds_and_queues_it_again(make_app, quick):
    app = make_app({"1.0.0": (10.0, 600)}, repeats=1)
    daemon = Daemon(app)
    daemon.start()
    wait_for(lambda: any((app.settings.home / "attempts").glob("*/running.json")))

    begun = time.monotonic()
    daemon.stop()
    assert time.monotonic() - begun < patient(10)

    assert count(app, "queued") == 1
    with app.store.read() as session:
        (attempt,) = session.exec(select(AttemptRow)).all()
    assert (attempt.outcome, attempt.detail) == ("cancelled", "the service stopped")
    daemon.stop()


def test_a_suite_that_cannot_be_read_leaves_the_others_alone(make_app):
    app = make_app({"1.0.0": (10.0, 0)}, suites=["broken", "thing"])
    (app.settings.suite_folders[0] / "broken.toml").write_text("name = ")

    daemon = Daemon(app)
    daemon.start()
    try:
        wait_for(lambda: count(app, "queued") + count(app, "running") + count(app, "done") == 2)
    finally:
        daemon.stop()

    with app.store.read() as session:
        assert len(session.exec(select(CursorRow)).all()) == 1
