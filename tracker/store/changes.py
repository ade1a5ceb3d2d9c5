"""Change points and verdicts: stored facts with stable ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, delete, select

from tracker.store.engine import in_parts
from tracker.store.tables import AlertChangeRow, AlertRow, ChangePointRow, SeriesRow, VerdictRow

ACCEPTED = ("expected", "wont_fix")
"""States of an alert that make its changes the new normal."""


def standing_changes(session: Session, series_ids: Sequence[int]) -> list[ChangePointRow]:
    """Return the change points of these series that are not withdrawn."""
    return list(
        session.exec(
            select(ChangePointRow)
            .where(col(ChangePointRow.series_id).in_(series_ids), col(ChangePointRow.withdrawn_at).is_(None))
            .order_by(col(ChangePointRow.id))
        ).all()
    )


def all_changes(session: Session, series_id: int) -> list[ChangePointRow]:
    """Return a series' change points, withdrawn ones included."""
    statement = select(ChangePointRow).where(ChangePointRow.series_id == series_id).order_by(col(ChangePointRow.id))
    return list(session.exec(statement).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A change that somebody accepted as the new normal."""

    release_id: int
    before: float
    after: float


def accepted_of(session: Session, series_ids: Sequence[int]) -> dict[int, dict[int, Accepted]]:
    """Return series id -> change point id -> what was accepted, of standing changes."""
    found: dict[int, dict[int, Accepted]] = {}
    for part in in_parts(sorted(set(series_ids))):
        rows = session.execute(
            select(ChangePointRow.series_id, ChangePointRow.id, ChangePointRow.release_id)
            .add_columns(ChangePointRow.before, ChangePointRow.after)
            .join(AlertChangeRow, col(AlertChangeRow.change_point_id) == ChangePointRow.id)
            .join(AlertRow, col(AlertRow.id) == AlertChangeRow.alert_id)
            .where(
                col(ChangePointRow.series_id).in_(part),
                col(ChangePointRow.withdrawn_at).is_(None),
                col(AlertRow.state).in_(ACCEPTED),
            )
        )
        for series_id, change_id, release_id, before, after in rows.all():
            one = Accepted(release_id=release_id, before=before, after=after)
            found.setdefault(series_id, {})[change_id] = one
    return found


def unnotified_changes(session: Session) -> list[ChangePointRow]:
    """Return change points that people have not been told of in their present form, withdrawn ones included."""
    return list(
        session.exec(
            select(ChangePointRow)
            .where(ChangePointRow.revision != ChangePointRow.notified_revision)
            .order_by(col(ChangePointRow.id))
        ).all()
    )


def families_of(session: Session, series_ids: Sequence[int]) -> set[tuple[int, int]]:
    """Return (component id, hardware class id) of these series."""
    statement = select(SeriesRow.component_id, SeriesRow.hardware_class_id).where(col(SeriesRow.id).in_(series_ids))
    return {(component, hardware) for component, hardware in session.exec(statement.distinct()).all()}


def ids_of(session: Session, public_ids: Sequence[str]) -> list[int]:
    """Return the internal ids of change points."""
    statement = select(ChangePointRow.id).where(col(ChangePointRow.public_id).in_(public_ids))
    return [one or 0 for one in session.exec(statement).all()]


def set_family_notified(session: Session, series_ids: Sequence[int]) -> None:
    """Note that people were told of these series' change points in their present form."""
    session.execute(
        update(ChangePointRow)
        .where(col(ChangePointRow.series_id).in_(series_ids))
        .values(notified_revision=col(ChangePointRow.revision))
    )


def replace_verdicts(session: Session, series_ids: Sequence[int], policy: str, rows: Sequence[dict[str, Any]]) -> None:
    """Put the verdicts of these series in place of the earlier ones of the same policy."""
    session.execute(
        delete(VerdictRow).where(col(VerdictRow.series_id).in_(series_ids), col(VerdictRow.policy) == policy)
    )
    for row in rows:
        session.add(VerdictRow(**row, policy=policy))
