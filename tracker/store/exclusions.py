"""Releases of a series that are not to be judged: known outliers, each with who said so and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from tracker.store.engine import in_parts
from tracker.store.tables import ExclusionRow


def excluded_of(session: Session, series_ids: Sequence[int]) -> dict[int, dict[int, str]]:
    """Return series id -> release id -> why that release is not judged."""
    found: dict[int, dict[int, str]] = {}
    for part in in_parts(sorted(set(series_ids))):
        rows = session.exec(
            select(ExclusionRow).where(col(ExclusionRow.series_id).in_(part), col(ExclusionRow.lifted_at).is_(None))
        )
        for row in rows.all():
            found.setdefault(row.series_id, {})[row.release_id] = row.why
    return found


def standing_exclusion(session: Session, series_id: int, release_id: int) -> ExclusionRow | None:
    """Return the exclusion of a release from a series that was not lifted, None where it counts."""
    return session.exec(
        select(ExclusionRow).where(
            ExclusionRow.series_id == series_id,
            ExclusionRow.release_id == release_id,
            col(ExclusionRow.lifted_at).is_(None),
        )
    ).one_or_none()


def exclude(session: Session, series_id: int, release_id: int, *, why: str, who: str, at: datetime) -> None:
    """Add an exclusion; the caller has seen that none stands."""
    session.add(ExclusionRow(series_id=series_id, release_id=release_id, why=why, who=who, at=at))
