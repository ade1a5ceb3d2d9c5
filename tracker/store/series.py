"""Series and their measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, select

from jobs.fingerprint import config_fingerprint, fingerprint
from jobs.measurements import Label
from tracker.store.engine import in_parts, insert_new
from tracker.store.tables import (
    BuildRow,
    ComponentRow,
    ConfigRow,
    EnvironmentRow,
    MeasurementRow,
    ReleaseRow,
    RunRow,
    SeriesRow,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesIdentity:
    """What makes a series, and what is known of its metric."""

    component_id: int
    component: str
    config_id: int
    config_labels: Mapping[str, Label]
    hardware_class_id: int
    hardware_fingerprint: str
    variant: str
    suite: str
    metric: str
    unit: str
    direction: str
    gated: bool
    min_effect: float

    @property
    def fingerprint(self) -> str:
        """Return the series' stable name: the suite, unit and gate are not part of it."""
        config = config_fingerprint(self.config_labels)
        parts = (self.component, config, self.hardware_fingerprint, self.variant, self.metric)
        return fingerprint("series", "\0".join(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One valid measurement, with what is needed to place and to doubt it."""

    release_id: int
    run_id: int
    value: float
    host_id: int
    environment: str | None
    measured_at: datetime | None
    contended: bool = False
    """Other work on the host held the benchmark up; measuring it again did not help."""


def new_row(identity: SeriesIdentity) -> dict[str, Any]:
    """Return a series that has no measurement yet, as columns."""
    return {
        "fingerprint": identity.fingerprint,
        "component_id": identity.component_id,
        "config_id": identity.config_id,
        "hardware_class_id": identity.hardware_class_id,
        "variant": identity.variant,
        "suite": identity.suite,
        "metric": identity.metric,
        "unit": identity.unit,
        "direction": identity.direction,
        "gated": identity.gated,
        "min_effect": identity.min_effect,
        "revision": 0,
        "analyzed_revision": 0,
        "summarized_revision": 0,
    }


def save_series(session: Session, identity: SeriesIdentity) -> int:
    """Return the series' id, made on first sight; what its suite gates is brought up to date."""
    known = select(SeriesRow).where(SeriesRow.fingerprint == identity.fingerprint)
    found = session.exec(known).first()
    if found is None:
        insert_new(session, SeriesRow, [new_row(identity)])
        found = session.exec(known).one()
    found.gated, found.min_effect, found.suite = identity.gated, identity.min_effect, identity.suite
    session.add(found)
    return found.id or 0


def add_measurements(session: Session, rows: Sequence[MeasurementRow]) -> None:
    """Add measurements that are not there yet and mark their series dirty."""
    insert_new(session, MeasurementRow, [row.model_dump() for row in rows])
    mark_dirty(session, [row.series_id for row in rows])


def mark_dirty(session: Session, series_ids: Iterable[int]) -> None:
    """Have the series analyzed again."""
    for part in in_parts(sorted(set(series_ids))):
        session.execute(
            update(SeriesRow).where(col(SeriesRow.id).in_(part)).values(revision=col(SeriesRow.revision) + 1)
        )


def mark_suite_dirty(session: Session, suite: str) -> None:
    """Have all series of a suite analyzed again: what is settled has changed."""
    session.execute(update(SeriesRow).where(col(SeriesRow.suite) == suite).values(revision=col(SeriesRow.revision) + 1))


def dirty_series(session: Session) -> list[SeriesRow]:
    """Return the series that wait to be analyzed."""
    return list(
        session.exec(
            select(SeriesRow).where(SeriesRow.revision != SeriesRow.analyzed_revision).order_by(col(SeriesRow.id))
        ).all()
    )


def family_of(session: Session, component_id: int, hardware_class_id: int) -> list[tuple[SeriesRow, str]]:
    """Return the series that are judged together, with their config labels: one component on one hardware class."""
    return [
        (series, labels)
        for series, labels in session.exec(
            select(SeriesRow, ConfigRow.labels)
            .join(ConfigRow, col(ConfigRow.id) == SeriesRow.config_id)
            .where(SeriesRow.component_id == component_id, SeriesRow.hardware_class_id == hardware_class_id)
            .order_by(col(SeriesRow.fingerprint))
        ).all()
    ]


def history(session: Session, series_ids: Sequence[int]) -> dict[int, list[Point]]:
    """Return each series' measurements in release order, those of superseded builds and unplaced releases left out."""
    rows = session.execute(
        select(
            MeasurementRow.series_id,
            MeasurementRow.release_id,
            MeasurementRow.run_id,
            MeasurementRow.value,
            MeasurementRow.host_id,
            EnvironmentRow.fingerprint,
            MeasurementRow.measured_at,
            MeasurementRow.contended,
        )
        .join(ReleaseRow, col(ReleaseRow.id) == MeasurementRow.release_id)
        .join(RunRow, col(RunRow.id) == MeasurementRow.run_id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .join(EnvironmentRow, col(EnvironmentRow.id) == MeasurementRow.environment_id, isouter=True)
        .where(
            col(MeasurementRow.series_id).in_(series_ids),
            col(BuildRow.superseded_at).is_(None),
            col(ReleaseRow.sort_key).is_not(None),
        )
        .order_by(col(ReleaseRow.sort_key), col(ReleaseRow.id), col(RunRow.repeat), col(RunRow.id))
    ).all()
    points: dict[int, list[Point]] = {series_id: [] for series_id in series_ids}
    for series_id, release_id, run_id, value, host_id, environment, measured_at, contended in rows:
        points[series_id].append(
            Point(
                release_id=release_id,
                run_id=run_id,
                value=value,
                host_id=host_id,
                environment=environment,
                measured_at=measured_at,
                contended=contended,
            )
        )
    return points


def component_of(session: Session, fingerprint: str) -> str | None:
    """Return the name of the component that a series measures, None where there is no such series."""
    return session.exec(
        select(ComponentRow.slug)
        .join(SeriesRow, col(SeriesRow.component_id) == ComponentRow.id)
        .where(SeriesRow.fingerprint == fingerprint)
    ).one_or_none()


def measured_at(
    session: Session, release_id: int, *, fingerprint: str | None = None, suite: str | None = None
) -> list[SeriesRow]:
    """Return the series that have a measurement at a release: the one named, or all of a suite."""
    statement = select(SeriesRow).where(
        col(SeriesRow.id).in_(select(MeasurementRow.series_id).where(MeasurementRow.release_id == release_id))
    )
    if fingerprint is not None:
        statement = statement.where(SeriesRow.fingerprint == fingerprint)
    if suite is not None:
        statement = statement.where(SeriesRow.suite == suite)
    return list(session.exec(statement.order_by(col(SeriesRow.id))).all())


def set_analyzed(session: Session, analyzed: Sequence[SeriesRow]) -> None:
    """Note up to which revision the series were analyzed; newer measurements keep them dirty."""
    for series in analyzed:
        session.execute(
            update(SeriesRow).where(col(SeriesRow.id) == series.id).values(analyzed_revision=series.revision)
        )


def families_to_summarize(session: Session) -> list[tuple[int, int]]:
    """Return (component id, hardware class id) of families analyzed since last summarized."""
    rows = session.execute(
        select(SeriesRow.component_id, SeriesRow.hardware_class_id)
        .where(SeriesRow.analyzed_revision != SeriesRow.summarized_revision)
        .distinct()
        .order_by(col(SeriesRow.component_id), col(SeriesRow.hardware_class_id))
    ).all()
    return [(component, hardware) for component, hardware in rows]


def set_summarized(session: Session, component_id: int, hardware_class_id: int) -> None:
    """Note that a family's summaries show what was analyzed."""
    session.execute(
        update(SeriesRow)
        .where(col(SeriesRow.component_id) == component_id, col(SeriesRow.hardware_class_id) == hardware_class_id)
        .values(summarized_revision=col(SeriesRow.analyzed_revision))
    )


def hardware_of(session: Session, component_id: int) -> list[int]:
    """Return the hardware classes that a component was measured on, the first one first."""
    statement = select(SeriesRow.hardware_class_id).where(SeriesRow.component_id == component_id).distinct()
    return sorted(session.exec(statement).all())
