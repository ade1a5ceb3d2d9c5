"""Running runs that nobody sees now, together: how many of how many, since when, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from tracker.store.views.plain import table

RUN = table("run")
NOBODY = "no daemon has told of it since: none runs, or it cannot write what it sees; tracker doctor says which"
_LATE = timedelta(seconds=5)
"""A lease that ran out so long ago is not about to be renewed."""
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfSight:
    """Why nobody knows what a running run does, and since when."""

    since: datetime
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """How the running runs are seen."""

    running: int
    unseen: int
    since: datetime | None
    """Of the one that is out of sight for longest."""
    reasons: tuple[str, ...]

    def words(self, now: datetime) -> str:
        """Return it in one sentence without a full stop; empty where every running run is seen."""
        if not self.unseen or self.since is None:
            return ""
        runs = "run that is" if self.running == 1 else f"of {self.running} runs that are"
        verb = "is" if self.unseen == 1 else "are"
        more = len(self.reasons) - _SHOWN_REASONS
        why = "; and ".join(self.reasons[:_SHOWN_REASONS]) + (f"; and {more} more reasons" if more > 0 else "")
        return f"{self.unseen} {runs} under way {verb} not seen since {describe_since(self.since, now)}: {why}"


def find_unseen(row: Any, now: datetime | None) -> OutOfSight | None:
    """Return why a running run is out of sight; None where it is seen, or not running."""
    if row.state != "running":
        return None
    if now is not None and row.lease_until is not None and row.lease_until < now - _LATE:
        return OutOfSight(since=row.unseen_since or row.lease_until, why=NOBODY)
    return OutOfSight(since=row.unseen_since, why=row.unseen_why) if row.unseen_since else None


def look_at_running(session: Session, *, now: datetime) -> Sightings:
    """Return how the running runs are seen."""
    rows = session.execute(
        select(RUN.c.state, RUN.c.lease_until, RUN.c.unseen_since, RUN.c.unseen_why).where(RUN.c.state == "running")
    ).all()
    unseen = sorted((one for row in rows if (one := find_unseen(row, now))), key=lambda one: one.since)
    return Sightings(
        running=len(rows),
        unseen=len(unseen),
        since=unseen[0].since if unseen else None,
        reasons=tuple(dict.fromkeys(one.why for one in unseen)),
    )


def describe_unseen(unseen: OutOfSight, now: datetime) -> str:
    """Return in words why a run is not seen: `not seen since 03:12 UTC (4 min): the engine does not answer`."""
    return f"not seen since {describe_since(unseen.since, now)}: {unseen.why}"


def describe_since(since: datetime, now: datetime) -> str:
    """Return a moment and how long ago it was, `03:12 UTC (4 min)`, with the date where that is another day."""
    since, now = since.astimezone(UTC), now.astimezone(UTC)
    shown = f"{since:%H:%M}" if since.date() == now.date() else f"{since:%Y-%m-%d %H:%M}"
    seconds = max(0.0, (now - since).total_seconds())
    minutes = int(seconds // 60)
    if minutes < 1:
        ago = f"{seconds:.0f} s"
    elif minutes < 90:
        ago = f"{minutes} min"
    else:
        ago = f"{minutes // 60} h {minutes % 60} min" if minutes < 2880 else f"{minutes // 1440} d"
    return f"{shown} UTC ({ago})"
