"""Alerts, what was decided about them, the outbox, and summaries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, delete, select

from tracker.clock import new_public_id
from tracker.errors import UserError
from tracker.store.engine import insert_new
from tracker.store.tables import AlertChangeRow, AlertRow, ChangePointRow, DeliveryRow, SummaryRow, TriageRow


def alert_of(
    session: Session, *, rule: str, component_id: int, release_id: int, hardware_class_id: int, direction: str
) -> AlertRow | None:
    """Return the alert with this natural key, None if there is none yet."""
    return session.exec(
        select(AlertRow).where(
            AlertRow.rule == rule,
            AlertRow.component_id == component_id,
            AlertRow.release_id == release_id,
            AlertRow.hardware_class_id == hardware_class_id,
            AlertRow.direction == direction,
        )
    ).first()


def alerts_at(session: Session, component_id: int, hardware_class_id: int) -> list[AlertRow]:
    """Return the alerts of a component on a hardware class."""
    return list(
        session.exec(
            select(AlertRow)
            .where(AlertRow.component_id == component_id, AlertRow.hardware_class_id == hardware_class_id)
            .order_by(col(AlertRow.id))
        ).all()
    )


def set_changes(session: Session, alert_id: int, change_ids: Sequence[int]) -> None:
    """Put these change points in place of those the alert had."""
    session.execute(delete(AlertChangeRow).where(col(AlertChangeRow.alert_id) == alert_id))
    insert_new(session, AlertChangeRow, [{"alert_id": alert_id, "change_point_id": one} for one in change_ids])


def series_of(session: Session, alert_id: int) -> list[int]:
    """Return the ids of the series that an alert's change points stand in."""
    statement = (
        select(ChangePointRow.series_id)
        .join(AlertChangeRow, col(AlertChangeRow.change_point_id) == ChangePointRow.id)
        .where(AlertChangeRow.alert_id == alert_id)
    )
    return sorted(set(session.exec(statement).all()))


def find_alert(session: Session, named: str) -> AlertRow:
    """Return the alert with this id or beginning of one; UserError when none or several fit."""
    text = named.strip().lower()
    statement = select(AlertRow).where(col(AlertRow.public_id).startswith(text, autoescape=True)).limit(2)
    found = session.exec(statement).all() if text else []
    if len(found) == 1:
        return found[0]
    problem = "several alerts begin with" if found else "no alert"
    raise UserError(f"{problem} {named!r}; `tracker alerts list` shows them")


def add_triage(session: Session, alert: AlertRow, *, state: str, who: str, note: str, now: datetime) -> None:
    """Append a decision and bring the alert to its state."""
    session.add(TriageRow(alert_id=alert.id or 0, state=state, who=who, note=note, at=now))
    alert.state, alert.changed_at, alert.revision = state, now, alert.revision + 1
    session.add(alert)


def queue_delivery(
    session: Session, *, subject: str, sink: str, kind: str, revision: int, now: datetime, target: str = ""
) -> None:
    """Put a message into the outbox, once per subject, sink and revision."""
    row: dict[str, Any] = {
        "public_id": new_public_id(),
        "subject": subject,
        "sink": sink,
        "target": target,
        "kind": kind,
    }
    row |= {"revision": revision, "state": "due", "attempts": 0, "not_before": now, "created_at": now}
    insert_new(session, DeliveryRow, [row])


def due_deliveries(session: Session, now: datetime) -> list[DeliveryRow]:
    """Return the messages that are to be sent now, oldest first."""
    return list(
        session.exec(
            select(DeliveryRow)
            .where(DeliveryRow.state == "due", col(DeliveryRow.not_before) <= now)
            .order_by(col(DeliveryRow.id))
            .limit(100)
        ).all()
    )


def last_receipt(session: Session, subject: str, sink: str) -> str | None:
    """Return what the newest sent message about a subject left with a sink."""
    return session.exec(
        select(DeliveryRow.receipt)
        .where(DeliveryRow.subject == subject, DeliveryRow.sink == sink, DeliveryRow.state == "sent")
        .order_by(col(DeliveryRow.revision).desc())
        .limit(1)
    ).first()


def change_delivery(session: Session, delivery: DeliveryRow, **values: Any) -> bool:
    """Change a delivery that is still due; False when it is not any more."""
    return bool(
        session.execute(
            update(DeliveryRow)
            .where(col(DeliveryRow.id) == delivery.id, col(DeliveryRow.state) == "due")
            .values(**values)
        ).rowcount
    )


def has_newer(session: Session, delivery: DeliveryRow) -> bool:
    """Return whether a later revision of the same subject waits for the same sink."""
    return (
        session.exec(
            select(DeliveryRow.id).where(
                DeliveryRow.subject == delivery.subject,
                DeliveryRow.sink == delivery.sink,
                DeliveryRow.target == delivery.target,
                DeliveryRow.state == "due",
                DeliveryRow.revision > delivery.revision,
            )
        ).first()
        is not None
    )


def newest_summary(session: Session, release_id: int, hardware_class_id: int) -> SummaryRow | None:
    """Return the newest summary of a release on a hardware class: the one in force, whatever it compares with."""
    return session.exec(
        select(SummaryRow)
        .where(SummaryRow.release_id == release_id, SummaryRow.hardware_class_id == hardware_class_id)
        .order_by(col(SummaryRow.revision).desc())
        .limit(1)
    ).first()
