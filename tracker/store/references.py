"""Editions of published figures: kept as they were printed, none ever changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, col, select

from tracker.store.engine import insert_new
from tracker.store.tables import ReferenceEditionRow, ReferenceFigureRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEdition:
    """One copy of a page as it enters the store; `content` names what its rows say."""

    source: str
    dated: date
    content: str
    file: str
    tables: int
    figures: int
    imported_at: datetime
    imported_by: str
    title: str = ""
    address: str = ""


def save_edition(session: Session, edition: ImportedEdition, records: Sequence[Mapping[str, Any]]) -> bool:
    """Keep an edition with its rows, each as plain values; return whether it is new."""
    row = {**asdict(edition), "dated": edition.dated.isoformat()}
    if not insert_new(session, ReferenceEditionRow, [row]):
        return False
    edition_id = session.exec(
        select(ReferenceEditionRow.id).where(
            ReferenceEditionRow.source == edition.source,
            ReferenceEditionRow.dated == row["dated"],
            ReferenceEditionRow.content == edition.content,
        )
    ).one()
    rows = [
        {"edition_id": edition_id, "place": place, "record": json.dumps(record, sort_keys=True)}
        for place, record in enumerate(records)
    ]
    if rows:
        session.execute(insert(ReferenceFigureRow), rows)
    return True


def list_editions(session: Session) -> list[ReferenceEditionRow]:
    """Return all imported editions: by source, then by date, those of one day in the order of their import."""
    order = (col(ReferenceEditionRow.source), col(ReferenceEditionRow.dated), col(ReferenceEditionRow.id))
    return list(session.exec(select(ReferenceEditionRow).order_by(*order)).all())


def records_of(session: Session, edition_id: int) -> list[dict[str, Any]]:
    """Return the rows of an edition in their order, as plain values."""
    statement = (
        select(ReferenceFigureRow.record)
        .where(ReferenceFigureRow.edition_id == edition_id)
        .order_by(col(ReferenceFigureRow.place))
    )
    return [json.loads(record) for record in session.exec(statement).all()]
