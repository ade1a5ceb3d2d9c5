"""Whether a running run is seen by who watches it: since when it is not, why, how often that was told, or what it
waits for where it is."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col

from tracker.store.claims import Claim
from tracker.store.tables import RunRow

NOTHING = {"unseen_since": None, "unseen_why": "", "unseen_tells": 0}
"""What a run that is seen has in these columns."""


def save_unseen(session: Session, claim: Claim, *, since: datetime, why: str, tells: int) -> bool:
    """Keep why a run cannot be seen, unless its lease was lost; return whether it was kept."""
    return _save(session, claim, unseen_since=since, unseen_why=why[:1000], unseen_tells=tells)


def save_seen(session: Session, claim: Claim) -> bool:
    """Keep that a run is seen, unless its lease was lost; return whether it was kept."""
    return _save(session, claim, **NOTHING)


def save_wait(session: Session, claim: Claim, why: str) -> bool:
    """Keep what a claimed run still waits for, empty for nothing, unless its lease was lost; return whether it was."""
    return _save(session, claim, reason=why[:1000])


def _save(session: Session, claim: Claim, **values: object) -> bool:
    changed: int = session.execute(
        update(RunRow)
        .where(col(RunRow.id) == claim.run_id, col(RunRow.fence) == claim.fence, col(RunRow.state) == "running")
        .values(**values)
    ).rowcount
    return bool(changed)
