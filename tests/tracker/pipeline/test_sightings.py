"""A run whose engine does not answer is known to be out of sight, with why and since when, until it is seen again."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

import pytest

from jobs.errors import TryLater
from tests.tracker.pipeline.kit import REPEATS, START, Service
from tracker.pipeline.execute import advance, put_back, recover
from tracker.pipeline.sightings import next_tell_s
from tracker.store.tables import AttemptRow, RunRow
from tracker.store.views.runs import list_runs, show_run
from tracker.store.views.sightings import describe_since, look_at_running

WHY = "the container engine at unix:///run/engine.sock does not answer: Connection refused"


def away(key: str) -> None:
    raise TryLater(WHY)


@pytest.fixture
def running(service: Service) -> Service:
    """A service with one run under way."""
    service.executor.hold_all = True
    service.publish("1.0.0")
    service.look()
    assert advance(service.context) == 1
    return service


def lose(service: Service) -> Callable[[], None]:
    """Have the engine not answer; return what brings it back."""
    answering = service.executor.poll
    service.executor.poll = away  # type: ignore[assignment,method-assign]

    def bring_back() -> None:
        service.executor.poll = answering  # type: ignore[method-assign]

    return bring_back


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, object]]:
    return [record.__dict__["fields"] for record in caplog.records if record.getMessage() == name]


def test_a_run_out_of_sight_says_why_and_since_when(running: Service):
    lose(running)
    running.clock.advance(30)
    advance(running.context)
    running.clock.advance(240)
    advance(running.context)

    with running.store.read() as session:
        (run,) = list_runs(session, state="running").items
        sightings = look_at_running(session, now=running.clock.now())
    assert run.unseen is not None
    assert (run.unseen.why, (run.unseen.since - START).total_seconds()) == (WHY, 30)
    assert sightings.words(running.clock.now()) == (
        f"1 run that is under way is not seen since 12:00 UTC (4 min): {WHY}"
    )


def test_it_is_told_at_once_then_ever_more_rarely_and_once_when_it_is_over(
    running: Service, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "tracker")
    bring_back = lose(running)
    for _ in range(20 * 60):
        advance(running.context)
        running.clock.advance(1)
    assert [fields["for_s"] for fields in events(caplog, "run.not_seen")] == [0, 60, 180, 420, 900]
    bring_back()
    advance(running.context)
    advance(running.context)

    assert [fields["after_s"] for fields in events(caplog, "run.seen_again")] == [1200]
    with running.store.read() as session:
        (run,) = list_runs(session, state="running").items
    assert run.unseen is None


def test_another_reason_is_kept_but_begins_no_new_absence(running: Service, caplog: pytest.LogCaptureFixture):
    lose(running)
    advance(running.context)
    running.clock.advance(10)

    def refused(key: str) -> None:
        raise TryLater("the engine is in trouble: no space left on device")

    running.executor.poll = refused  # type: ignore[assignment,method-assign]
    advance(running.context)

    (row,) = [row for row in running.rows(RunRow) if row.state == "running"]
    assert (row.unseen_since, row.unseen_why) == (START, "the engine is in trouble: no space left on device")
    assert len(events(caplog, "run.not_seen")) == 1


def test_a_disk_that_is_full_puts_a_run_out_of_sight_and_ends_nothing(running: Service):
    answering = running.executor.poll

    def full(key: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/srv/attempts/run-1-1/launched.json")

    running.executor.poll = full  # type: ignore[assignment,method-assign]
    assert advance(running.context) == 1
    (row,) = [row for row in running.rows(RunRow) if row.state == "running"]
    assert row.unseen_why == "/srv/attempts/run-1-1/launched.json cannot be used now: No space left on device"

    running.executor.poll = answering  # type: ignore[method-assign]
    running.executor.hold_all = False
    running.executor.held.clear()
    running.measure()
    running.judge()
    assert running.run_states() == ["done"] * REPEATS


def test_a_run_that_ended_while_out_of_sight_is_seen_and_ends_once(running: Service):
    bring_back = lose(running)
    advance(running.context)
    running.executor.held.clear()
    running.executor.hold_all = False
    bring_back()
    running.measure()
    running.judge()

    assert running.run_states() == ["done"] * REPEATS
    assert len(running.rows(AttemptRow)) == REPEATS
    assert {row.unseen_since for row in running.rows(RunRow)} == {None}


def test_a_later_life_of_the_daemon_goes_on_with_the_same_absence(running: Service):
    lose(running)
    advance(running.context)
    running.clock.advance(600)
    recover(running.context)
    advance(running.context)

    (row,) = [row for row in running.rows(RunRow) if row.state == "running"]
    assert row.unseen_since == START


def test_a_run_that_no_daemon_watches_is_not_shown_as_if_one_did(running: Service):
    running.clock.advance(running.settings.lease_s + 60)
    now = running.clock.now()
    with running.store.read() as session:
        (run,) = list_runs(session, state="running", now=now).items
        detail = show_run(session, run.id, now=now)
        sightings = look_at_running(session, now=now)

    assert run.unseen is not None
    assert "no daemon has told of it" in run.unseen.why
    assert detail is not None
    assert detail.run.unseen == run.unseen
    assert (sightings.unseen, sightings.running) == (1, 1)


def test_a_run_that_was_put_back_or_is_queued_is_not_out_of_sight(running: Service):
    bring_back = lose(running)
    advance(running.context)
    bring_back()
    put_back(running.context)

    running.clock.advance(3600)
    with running.store.read() as session:
        assert {run.unseen for run in list_runs(session, now=running.clock.now()).items} == {None}
        assert look_at_running(session, now=running.clock.now()).words(running.clock.now()) == ""


def test_the_pauses_between_two_tellings_grow_to_an_hour():
    assert [next_tell_s(tells) for tells in range(5)] == [0, 60, 180, 420, 900]
    assert next_tell_s(20) - next_tell_s(19) == 3600


def test_how_long_ago_is_said_in_the_unit_that_fits():
    later = {"0 s": 0, "59 s": 59, "1 min": 60, "89 min": 5399, "1 h 30 min": 5400, "2 d": 2 * 86400}
    for words, seconds in later.items():
        now = START.fromtimestamp(START.timestamp() + seconds, START.tzinfo)
        assert describe_since(START, now).endswith(f"UTC ({words})")
    assert describe_since(START, START.replace(hour=11)) == "12:00 UTC (0 s)"
