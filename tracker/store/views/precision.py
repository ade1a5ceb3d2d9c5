"""What people decided about alerts, change by change: the evidence of how often each rule is right."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import Session

from tracker.store.views.changes import CHANGE
from tracker.store.views.plain import table

ALERT, ALERT_CHANGE, SERIES = table("alert"), table("alert_change"), table("series")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One change of an alert, with the state that the alert is in."""

    rule: str
    metric: str
    state: str
    effect_ratio: float


def list_decided(session: Session) -> list[Decided]:
    """Return every change of every alert that is no longer new, in the order they were found."""
    rows = session.execute(
        select(ALERT.c.rule, ALERT.c.state, SERIES.c.metric, CHANGE.c.effect_ratio)
        .join(ALERT_CHANGE, ALERT_CHANGE.c.alert_id == ALERT.c.id)
        .join(CHANGE, CHANGE.c.id == ALERT_CHANGE.c.change_point_id)
        .join(SERIES, SERIES.c.id == CHANGE.c.series_id)
        .where(ALERT.c.state != "new")
        .order_by(ALERT.c.id, CHANGE.c.id)
    )
    return [
        Decided(rule=row.rule, metric=row.metric, state=row.state, effect_ratio=row.effect_ratio or 0.0) for row in rows
    ]
