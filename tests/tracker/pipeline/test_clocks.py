"""A run took as long as its own machine says, whatever the clock there shows."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.protocols import JobOutcome, JobState, JobStatus
from tests.tracker.pipeline.kit import START, Service
from tracker.pipeline.execute import advance, times_of
from tracker.store.views.runs import list_runs

NOW = START + timedelta(minutes=10)
TOOK = timedelta(seconds=90)


def ended_at(moment_s: float) -> JobStatus:
    """Return the end of an attempt that began 90 s before that moment after `NOW`, by the clock of its machine."""
    at = NOW + timedelta(seconds=moment_s)
    return JobStatus(state=JobState.ENDED, outcome=JobOutcome.OK, started_at=at - TOOK, ended_at=at)


@pytest.mark.parametrize("off_s", [-3600.0, -1.0, 0.0, 1.0, 3600.0])
def test_the_time_taken_is_kept_and_nothing_lies_in_the_future(off_s: float):
    times = times_of(ended_at(off_s), NOW)
    assert times["started_at"] is not None
    assert times["ended_at"] is not None
    assert times["ended_at"] - times["started_at"] == TOOK
    assert times["ended_at"] <= NOW


def test_an_attempt_without_an_end_of_its_own_ends_now():
    assert times_of(None, NOW) == {"started_at": None, "ended_at": NOW}


def test_a_clock_an_hour_ahead_gives_no_run_of_no_time(service: Service):
    service.publish("1.0.0")
    service.look()
    service.clock.advance(600)
    service.executor.poll = lambda key: ended_at(3600)  # type: ignore[method-assign]
    while advance(service.context):
        pass
    with service.store.read() as session:
        times = {run.duration_s for run in list_runs(session).items}
    assert times == {90.0}
