"""Series as far as they can be held against published figures: labels, hardware, and one level each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from tracker.store.views.levels import Level, load_levels
from tracker.store.views.names import name_series
from tracker.store.views.plain import read_json, table

SERIES, COMPONENT, CONFIG, HARDWARE = table("series"), table("component"), table("config"), table("hardware_class")
MEASUREMENT = table("measurement")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """A series with its level at one release."""

    fingerprint: str
    name: str
    component: str
    hardware: str
    metric: str
    unit: str
    direction: str
    labels: Mapping[str, Any]
    hardware_labels: Mapping[str, Any]
    level: Level


def load_measured(
    session: Session,
    *,
    metrics: Collection[str],
    is_wanted: Callable[[str], bool],
    component: str | None = None,
    release_id: int | None = None,
    release: str | None = None,
) -> list[MeasuredSeries]:
    """Return the series of these metrics whose model is wanted, at a release (its id and identity) or at the newest."""
    statement = (
        select(SERIES, COMPONENT.c.slug.label("component"), CONFIG.c.labels, HARDWARE.c.slug.label("hardware"))
        .add_columns(HARDWARE.c.labels.label("hardware_labels"))
        .join(COMPONENT, COMPONENT.c.id == SERIES.c.component_id)
        .join(CONFIG, CONFIG.c.id == SERIES.c.config_id)
        .join(HARDWARE, HARDWARE.c.id == SERIES.c.hardware_class_id)
        .where(SERIES.c.metric.in_(sorted(metrics)))
        .order_by(COMPONENT.c.slug, HARDWARE.c.slug, CONFIG.c.labels, SERIES.c.metric, SERIES.c.id)
    )
    if component is not None:
        statement = statement.where(COMPONENT.c.slug == component)
    if release_id is not None:
        at = select(MEASUREMENT.c.series_id).where(MEASUREMENT.c.release_id == release_id)
        statement = statement.where(SERIES.c.id.in_(at))
    rows = [(row, read_json(row.labels)) for row in session.execute(statement).all()]
    wanted = [(row, labels) for row, labels in rows if is_wanted(str(labels.get("model", "")))]
    levels = load_levels(session, [row.id for row, _ in wanted])
    found = []
    for row, labels in wanted:
        own = [one for one in levels.get(row.id, ()) if release is None or one.release.identity == release]
        if own:
            found.append(_make_measured(row, labels, own[-1]))
    return found


def _make_measured(row: Any, labels: Mapping[str, Any], level: Level) -> MeasuredSeries:
    return MeasuredSeries(
        fingerprint=row.fingerprint,
        name=name_series(labels, row.variant),
        component=row.component,
        hardware=row.hardware,
        metric=row.metric,
        unit=row.unit,
        direction=row.direction,
        labels=labels,
        hardware_labels=read_json(row.hardware_labels),
        level=level,
    )


def count_series_at(session: Session, release_id: int) -> int:
    """Return how many series have a value at a release."""
    found = session.execute(
        select(MEASUREMENT.c.series_id).where(MEASUREMENT.c.release_id == release_id).distinct()
    ).all()
    return len(found)
