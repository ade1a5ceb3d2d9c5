"""The record of what happened: append-only."""

from __future__ import annotations

import json
from datetime import datetime

from sqlmodel import Session, col, select

from tracker.store.tables import AuditRow


def record(session: Session, *, at: datetime, who: str, event: str, subject: str, **detail: object) -> None:
    """Append one event, in the transaction of what it tells of."""
    session.add(AuditRow(at=at, who=who, event=event, subject=subject, detail=json.dumps(detail, sort_keys=True)))


def latest(session: Session, limit: int = 100, subject: str | None = None) -> list[AuditRow]:
    """Return the newest events, newest first, of one subject if named."""
    statement = select(AuditRow).order_by(col(AuditRow.id).desc()).limit(limit)
    if subject:
        statement = statement.where(AuditRow.subject == subject)
    return list(session.exec(statement).all())
