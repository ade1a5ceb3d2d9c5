"""The axis of a component and the level of each series at each release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Subquery, and_, func, select
from sqlmodel import Session

from tracker.store.views.plain import table

RELEASE, BUILD, RUN, MEASUREMENT = table("release"), table("build"), table("run"), table("measurement")


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


def load_levels(session: Session, series_ids: Collection[int]) -> Mapping[int, tuple[Level, ...]]:
    """Return each series' levels in release order; superseded builds do not count.

    The median is the mean of the middle one or two of the ranked repeats, computed by the database.
    """
    levels: dict[int, list[Level]] = defaultdict(list)
    for row in session.execute(_select_levels(MEASUREMENT.c.series_id.in_(series_ids))):
        name = ReleaseName(identity=row.identity, display=row.display)
        levels[row.series_id].append(Level(release=name, level=row.level, n=row.n))
    return {series_id: tuple(found) for series_id, found in levels.items()}


def load_release_levels(session: Session, release_ids: Collection[int]) -> dict[tuple[int, int], tuple[float, int]]:
    """Return (median, repeats) by (series id, release id) for some releases."""
    rows = session.execute(_select_levels(MEASUREMENT.c.release_id.in_(release_ids)))
    return {(row.series_id, row.release_id): (row.level, row.n) for row in rows}


def _select_levels(condition: ColumnElement[bool]) -> Any:
    of = (MEASUREMENT.c.series_id, MEASUREMENT.c.release_id)
    ranked = (
        select(
            *of,
            MEASUREMENT.c.value,
            func.row_number().over(partition_by=of, order_by=MEASUREMENT.c.value).label("rank"),
            func.count().over(partition_by=of).label("n"),
        )
        .join(RUN, RUN.c.id == MEASUREMENT.c.run_id)
        .join(BUILD, and_(BUILD.c.id == RUN.c.build_id, BUILD.c.superseded_at.is_(None)))
        .where(condition)
        .subquery()
    )
    return (
        select(
            ranked.c.series_id,
            ranked.c.release_id,
            RELEASE.c.identity,
            RELEASE.c.display,
            func.avg(ranked.c.value).label("level"),
            func.max(ranked.c.n).label("n"),
        )
        .join(RELEASE, RELEASE.c.id == ranked.c.release_id)
        .where(RELEASE.c.sort_key.is_not(None), 2 * ranked.c.rank >= ranked.c.n, 2 * ranked.c.rank <= ranked.c.n + 2)
        .group_by(ranked.c.series_id, ranked.c.release_id)
        .group_by(RELEASE.c.identity, RELEASE.c.display, RELEASE.c.sort_key)
        .order_by(ranked.c.series_id, RELEASE.c.sort_key, ranked.c.release_id)
    )
