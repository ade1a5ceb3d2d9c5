"""A release is judged when all its planned runs are final; then the suite's series wait for analysis."""

from __future__ import annotations

from tracker.store import runs, series
from tracker.store.engine import Session


def settle(session: Session, run_id: int) -> bool:
    """Mark the suite's series dirty if this run's end settles its release; call it where a run becomes final."""
    suite, _, settled = runs.is_settled(session, run_id)
    if settled:
        series.mark_suite_dirty(session, suite)
    return settled
