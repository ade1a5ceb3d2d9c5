"""Alerts: the list, and one alert with its changes, decisions and deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlmodel import Session

from tracker.store.views.changes import CHANGE, Change, make_change, select_changes
from tracker.store.views.levels import ReleaseName
from tracker.store.views.names import name_series
from tracker.store.views.plain import Page, check_limit, match_words, read_cursor, read_json, table

ALERT, RELEASE, COMPONENT, HARDWARE = table("alert"), table("release"), table("component"), table("hardware_class")
ALERT_CHANGE, TRIAGE, DELIVERY = table("alert_change"), table("triage"), table("delivery")
SERIES, CONFIG = table("series"), table("config")

OPEN_STATES = ("new", "acknowledged", "investigating")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertItem:
    """One alert as lists show it."""

    id: str
    rule: str
    component: str
    release: ReleaseName
    hardware: str
    direction: str
    state: str
    headline: str
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChange:
    """A change with the series it is of."""

    series: str
    name: str
    metric: str
    unit: str
    better: str
    change: Change
    withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided about an alert."""

    state: str
    who: str
    note: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message about an alert to one sink."""

    sink: str
    target: str
    kind: str
    revision: int
    state: str
    attempts: int
    problem: str | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDetail:
    """An alert with everything its page shows."""

    alert: AlertItem
    changes: tuple[SeriesChange, ...]
    decisions: tuple[Decision, ...]
    deliveries: tuple[Delivery, ...]


def list_alerts(
    session: Session,
    *,
    state: str | None = None,
    component: str | None = None,
    release: str | None = None,
    text: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[AlertItem]:
    """Return the alerts that match, newest first; the state `open` stands for those that wait for somebody."""
    statement = _select_alerts().order_by(ALERT.c.id.desc()).limit(check_limit(limit) + 1)
    if state:
        statement = statement.where(ALERT.c.state.in_(OPEN_STATES if state == "open" else (state,)))
    for column, value in ((COMPONENT.c.slug, component), (RELEASE.c.identity, release)):
        if value:
            statement = statement.where(column == value)
    if before := read_cursor(cursor):
        statement = statement.where(ALERT.c.id < before)
    searched = (ALERT.c.headline, COMPONENT.c.slug, RELEASE.c.display, ALERT.c.rule)
    rows = session.execute(statement.where(*match_words(text, searched))).all()
    following = str(rows[limit - 1].id) if len(rows) > limit else None
    return Page(items=tuple(_make_alert(row) for row in rows[:limit]), next=following)


def _select_alerts() -> Select[Any]:
    return (
        select(
            ALERT,
            COMPONENT.c.slug.label("component"),
            RELEASE.c.identity,
            RELEASE.c.display,
            HARDWARE.c.slug.label("hardware"),
        )
        .join(COMPONENT, COMPONENT.c.id == ALERT.c.component_id)
        .join(RELEASE, RELEASE.c.id == ALERT.c.release_id)
        .join(HARDWARE, HARDWARE.c.id == ALERT.c.hardware_class_id)
    )


def _make_alert(row: Any) -> AlertItem:
    return AlertItem(
        id=row.public_id,
        rule=row.rule,
        component=row.component,
        release=ReleaseName(identity=row.identity, display=row.display),
        hardware=row.hardware,
        direction=row.direction,
        state=row.state,
        headline=row.headline,
        created_at=row.created_at,
        changed_at=row.changed_at,
    )


def show_alert(session: Session, public_id: str) -> AlertDetail | None:
    """Return an alert with its history, oldest first; None where there is no such alert."""
    row = session.execute(_select_alerts().where(ALERT.c.public_id == public_id)).first()
    if row is None:
        return None
    decisions = session.execute(select(TRIAGE).where(TRIAGE.c.alert_id == row.id).order_by(TRIAGE.c.id))
    subject = f"alert:{row.id}"
    deliveries = session.execute(select(DELIVERY).where(DELIVERY.c.subject == subject).order_by(DELIVERY.c.id))
    return AlertDetail(
        alert=_make_alert(row),
        changes=_load_changes(session, row.id),
        decisions=tuple(Decision(state=one.state, who=one.who, note=one.note, at=one.at) for one in decisions),
        deliveries=tuple(
            Delivery(
                sink=one.sink,
                target=one.target,
                kind=one.kind,
                revision=one.revision,
                state=one.state,
                attempts=one.attempts,
                problem=one.problem,
                sent_at=one.sent_at,
            )
            for one in deliveries
        ),
    )


def _load_changes(session: Session, alert_id: int) -> tuple[SeriesChange, ...]:
    rows = session.execute(
        select_changes()
        .add_columns(SERIES.c.fingerprint, SERIES.c.metric, SERIES.c.unit, SERIES.c.variant, CONFIG.c.labels)
        .add_columns(SERIES.c.direction.label("better"))
        .join(ALERT_CHANGE, ALERT_CHANGE.c.change_point_id == CHANGE.c.id)
        .join(SERIES, SERIES.c.id == CHANGE.c.series_id)
        .join(CONFIG, CONFIG.c.id == SERIES.c.config_id)
        .where(ALERT_CHANGE.c.alert_id == alert_id)
    )
    changes = [
        SeriesChange(
            series=row.fingerprint,
            name=name_series(read_json(row.labels), row.variant),
            metric=row.metric,
            unit=row.unit,
            better=row.better,
            change=make_change(row),
            withdrawn=row.withdrawn_at is not None,
        )
        for row in rows
    ]
    return tuple(sorted(changes, key=lambda one: (one.withdrawn, -abs(one.change.effect_ratio), one.name)))
