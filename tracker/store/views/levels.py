"""The axis of a component and the level of each series at each release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Subquery, func, select
from sqlmodel import Session

from tracker.store.trust import trust
from tracker.store.views.plain import table

RELEASE, BUILD, RUN = table("release"), table("build"), table("run")
SERIES, MEASUREMENT = table("series"), table("measurement")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseName:
    """A release as pages and messages name it."""

    identity: str
    display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The median of a release's repeats and how many they were."""

    release: ReleaseName
    level: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRelease:
    """A place on a component's axis, with why it may hold no measurement."""

    id: int
    name: ReleaseName
    track: str
    published_at: datetime | None
    obstacle: str | None
    """Why no build of it can be measured here; None where one can."""


def load_axis(session: Session, component_id: int) -> list[AxisRelease]:
    """Return the releases of a component that have a place in its order, oldest first."""
    builds = count_builds()
    rows = session.execute(
        select(RELEASE, builds)
        .outerjoin(builds, builds.c.release_id == RELEASE.c.id)
        .where(RELEASE.c.component_id == component_id, RELEASE.c.sort_key.is_not(None))
        .order_by(RELEASE.c.sort_key, RELEASE.c.id)
    )
    return [
        AxisRelease(
            id=row.id,
            name=ReleaseName(identity=row.identity, display=row.display),
            track=row.track,
            published_at=row.published_at,
            obstacle=explain_obstacle(row),
        )
        for row in rows
    ]


def count_builds() -> Subquery:
    """Return, as a subquery by release, the counts of builds that `explain_obstacle` reads."""
    return (
        select(
            BUILD.c.release_id,
            func.count().label("builds"),
            func.count(BUILD.c.misfit).label("misfits"),
            func.count(BUILD.c.yanked).label("yanked"),
            func.min(BUILD.c.misfit).label("misfit"),
            func.min(BUILD.c.yanked).label("yanked_reason"),
        )
        .group_by(BUILD.c.release_id)
        .subquery()
    )


def explain_obstacle(row: Any) -> str | None:
    """Return why no build can be measured, from the counts of builds; None where one can."""
    if not row.builds:
        return "no build was published"
    if row.yanked == row.builds:
        return f"withdrawn by its publisher: {row.yanked_reason}"
    if row.misfits == row.builds:
        return f"does not run here: {row.misfit}"
    return None


def counts() -> ColumnElement[bool]:
    """Return the condition that a measurement's run was on a build that no newer one has superseded."""
    superseded = select(RUN.c.id).join(BUILD, BUILD.c.id == RUN.c.build_id).where(BUILD.c.superseded_at.is_not(None))
    return MEASUREMENT.c.run_id.not_in(superseded)


def load_levels(session: Session, series_ids: Collection[int]) -> Mapping[int, tuple[Level, ...]]:
    """Return each series' levels in release order; superseded builds and releases without a place do not count."""
    names = _load_names(session, series_ids)
    rows = session.execute(
        select(MEASUREMENT.c.series_id, MEASUREMENT.c.release_id, MEASUREMENT.c.value, MEASUREMENT.c.contended).where(
            MEASUREMENT.c.series_id.in_(series_ids), counts()
        )
    )
    values: dict[int, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        values[row.series_id][row.release_id].append(row)
    return {
        series_id: tuple(
            Level(release=name, level=median(row.value for row in judged), n=len(judged))
            for release_id, name in names.items()
            if (judged := trust(found.get(release_id, [])))
        )
        for series_id, found in values.items()
    }


def _load_names(session: Session, series_ids: Collection[int]) -> dict[int, ReleaseName]:
    """Return the names of the releases with a place of these series' components, oldest first."""
    components = select(SERIES.c.component_id).where(SERIES.c.id.in_(series_ids))
    rows = session.execute(
        select(RELEASE.c.id, RELEASE.c.identity, RELEASE.c.display)
        .where(RELEASE.c.component_id.in_(components), RELEASE.c.sort_key.is_not(None))
        .order_by(RELEASE.c.sort_key, RELEASE.c.id)
    )
    return {row.id: ReleaseName(identity=row.identity, display=row.display) for row in rows}
