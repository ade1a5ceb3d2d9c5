"""The clock is set an hour ahead or back: nothing waits for the lost hour, nothing is ended by it."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.protocols import JobOutcome
from tests.tracker.pipeline.kit import REPEATS, Play, Service
from tracker import daemon as daemon_module
from tracker.app import App
from tracker.daemon import Daemon
from tracker.pipeline.cursors import is_due
from tracker.pipeline.execute import advance
from tracker.settings import Settings
from tracker.store.claims import LONGEST_WAIT
from tracker.store.standing import LONGEST_HOLD, hold_host, standing_of
from tracker.store.tables import AttemptRow, CursorRow, RunRow

HOUR_S = 3600.0
BACK_OR_AHEAD = pytest.mark.parametrize("by_s", [-HOUR_S, HOUR_S], ids=["back", "ahead"])


@dataclass
class MovedClock:
    """The machine's clock, set by hand."""

    by: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by


@BACK_OR_AHEAD
def test_a_running_benchmark_goes_on_and_is_measured_once(service: Service, by_s: float):
    service.executor.hold_all = True
    service.publish("1.0.0")
    service.look()
    advance(service.context)
    service.clock.advance(by_s)
    assert advance(service.context) == 1

    service.executor.hold_all = False
    service.executor.held.clear()
    service.measure()
    service.judge()
    assert service.run_states() == ["done"] * REPEATS
    assert len(service.rows(AttemptRow)) == REPEATS


def test_a_try_that_waits_does_not_wait_for_the_hour_that_the_clock_was_set_back(service: Service):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(JobOutcome.INFRA_FAILED, "the disk is full")]
    service.look()
    advance(service.context)
    advance(service.context)
    waiting = [row for row in service.rows(RunRow) if row.failures]
    assert [row.state for row in waiting] == ["queued"]

    service.clock.advance(-HOUR_S)
    for _ in range(3 * REPEATS):
        advance(service.context)
    assert service.run_states() == ["measured"] * REPEATS


def test_a_hold_of_a_host_that_another_clock_set_holds_no_longer(service: Service):
    now = service.clock.now()
    with service.store.write() as session:
        hold_host(session, service.place.host_id, refusal="too hot", until=now + timedelta(minutes=5), now=now)
        assert "too hot" in (standing_of(session, service.place.host_id, now=now).obstacle(now) or "")
        back = now - timedelta(seconds=HOUR_S)
        assert standing_of(session, service.place.host_id, now=back).obstacle(back) is None
    assert LONGEST_HOLD <= LONGEST_WAIT


def test_a_source_asked_in_the_future_is_due():
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    every, soon = timedelta(hours=1), timedelta(minutes=1)
    ahead = CursorRow(source="s", asked_at=now + timedelta(hours=1))
    assert is_due(ahead, every, now, after_trouble=soon)
    skewed = CursorRow(source="s", asked_at=now + timedelta(seconds=30))
    assert not is_due(skewed, every, now, after_trouble=soon)


@BACK_OR_AHEAD
def test_every_step_is_called_soon_after_the_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, by_s: float
):
    monkeypatch.setattr(daemon_module, "CLOCK_LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(daemon_module, "JUDGE_EVERY_S", 3600.0)
    clock = MovedClock()
    app = App(Settings(home=tmp_path / "home", suites=[]), clock)
    daemon = Daemon(app)
    judged, looked = threading.Event(), threading.Event()
    monkeypatch.setattr(daemon, "judge", judged.set)
    monkeypatch.setattr(daemon, "look", looked.set)
    daemon.start()
    try:
        assert judged.wait(10)
        assert looked.wait(10)
        judged.clear(), looked.clear()
        clock.by = timedelta(seconds=by_s)
        assert judged.wait(10)
        assert looked.wait(10)
    finally:
        daemon.stop()
        app.close()
    (record,) = [one for one in caplog.records if one.getMessage() == "clock.set"]
    assert record.levelno == logging.WARNING
    assert record.__dict__["fields"]["by_s"] == by_s
