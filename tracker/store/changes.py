"""Change points and verdicts: stored facts with stable ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, delete, select

from tracker.store.tables import ChangePointRow, ConfigRow, ReleaseRow, SeriesRow, VerdictRow


def standing_changes(session: Session, series_ids: Sequence[int]) -> list[ChangePointRow]:
    """Return the change points of these series that are not withdrawn."""
    return list(
        session.exec(
            select(ChangePointRow)
            .where(col(ChangePointRow.series_id).in_(series_ids), col(ChangePointRow.withdrawn_at).is_(None))
            .order_by(col(ChangePointRow.id))
        ).all()
    )


def unnotified_changes(session: Session) -> list[ChangePointRow]:
    """Return change points that people have not been told of in their present form, withdrawn ones included."""
    return list(
        session.exec(
            select(ChangePointRow)
            .where(ChangePointRow.revision != ChangePointRow.notified_revision)
            .order_by(col(ChangePointRow.id))
        ).all()
    )


def changes_at(
    session: Session, component_id: int, release_ids: Sequence[int]
) -> list[tuple[ChangePointRow, SeriesRow, ConfigRow]]:
    """Return the standing change points of a component at these releases, with their series and config."""
    return [
        (change, series, config)
        for change, series, config in session.exec(
            select(ChangePointRow, SeriesRow, ConfigRow)
            .join(SeriesRow, col(SeriesRow.id) == ChangePointRow.series_id)
            .join(ConfigRow, col(ConfigRow.id) == SeriesRow.config_id)
            .where(
                SeriesRow.component_id == component_id,
                col(ChangePointRow.release_id).in_(release_ids),
                col(ChangePointRow.withdrawn_at).is_(None),
            )
            .order_by(col(ChangePointRow.id))
        ).all()
    ]


def set_notified(session: Session, changes: Sequence[ChangePointRow]) -> None:
    """Note in which form people were told of the change points."""
    for change in changes:
        session.execute(
            update(ChangePointRow).where(col(ChangePointRow.id) == change.id).values(notified_revision=change.revision)
        )


def replace_verdicts(session: Session, series_ids: Sequence[int], policy: str, rows: Sequence[dict[str, Any]]) -> None:
    """Put the verdicts of these series in place of the earlier ones of the same policy."""
    session.execute(
        delete(VerdictRow).where(col(VerdictRow.series_id).in_(series_ids), col(VerdictRow.policy) == policy)
    )
    for row in rows:
        session.add(VerdictRow(**row, policy=policy))


def releases_by_id(session: Session, component_id: int) -> dict[int, ReleaseRow]:
    """Return all releases of a component by id."""
    rows = session.exec(select(ReleaseRow).where(ReleaseRow.component_id == component_id)).all()
    return {row.id or 0: row for row in rows}
