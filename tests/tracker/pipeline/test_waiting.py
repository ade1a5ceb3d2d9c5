"""A run that its executor has in hand but cannot begin yet says what it waits for, for as long as it waits."""

from __future__ import annotations

from jobs.protocols import JobState, JobStatus
from tests.tracker.pipeline.kit import Service
from tracker.pipeline.execute import advance
from tracker.store.views.runs import list_runs

WHY = "in Slurm's queue: Priority (job 12)"


def reason(service: Service) -> str:
    with service.store.read() as session:
        (run,) = list_runs(session, state="running").items
    return run.reason


def test_what_a_run_waits_for_is_its_reason_until_it_begins(service: Service):
    service.executor.hold_all = True
    service.publish("1.0.0")
    service.look()
    advance(service.context)
    begun = service.executor.poll
    service.executor.poll = lambda key: JobStatus(state=JobState.PREPARING, detail=WHY)  # type: ignore[method-assign]
    advance(service.context)
    assert reason(service) == WHY

    service.executor.poll = begun  # type: ignore[method-assign]
    advance(service.context)
    assert reason(service) == ""
