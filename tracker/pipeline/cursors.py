"""When something outside may be asked again, and what went wrong when it was asked."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.errors import JobsError, TryLater
from tracker.store import catalog
from tracker.store.engine import Session
from tracker.store.tables import CursorRow

AHEAD = timedelta(minutes=1)
"""By how much the clocks of two machines may differ."""


def is_due(cursor: CursorRow, every: timedelta, now: datetime, *, after_trouble: timedelta) -> bool:
    """Return whether to ask: after its time, earlier where it failed, never while it said not to."""
    if cursor.ask_after is not None and now < cursor.ask_after:
        return False
    wait = every if cursor.problem is None else min(every, after_trouble)
    if cursor.asked_at is None or cursor.asked_at > now + AHEAD:  # the clock was set back since
        return True
    return now - cursor.asked_at >= wait


def note_problem(session: Session, name: str, error: JobsError, now: datetime) -> None:
    """Keep why it could not be asked, and until when it asked to be left alone."""
    after_s = error.after_s if isinstance(error, TryLater) else None
    cursor = catalog.cursor_of(session, name)
    cursor.asked_at, cursor.problem = now, str(error)
    cursor.ask_after = None if after_s is None else now + timedelta(seconds=after_s)


def note_answer(cursor: CursorRow, answer: str, now: datetime) -> bool:
    """Keep that it was asked and answered; return whether the answer is another one than before."""
    changed = cursor.cursor != answer
    cursor.asked_at, cursor.answered_at, cursor.problem, cursor.cursor = now, now, None, answer
    cursor.ask_after = None
    return changed
