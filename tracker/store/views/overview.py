"""The overview: how each component stands, how far measuring is, and where the sources are."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from tracker.store.views.alerts import AlertItem, list_alerts
from tracker.store.views.plain import table
from tracker.store.views.releases import ReleaseItem, load_releases
from tracker.store.views.series import SeriesItem, load_series

RELEASE, COMPONENT, BUILD, RUN = table("release"), table("component"), table("build"), table("run")
ATTEMPT, CURSOR, SERIES, MEASUREMENT = table("attempt"), table("cursor"), table("series"), table("measurement")

LATEST_ALERTS = 6
RECENT_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far measuring a component is. The first set are the planned runs of the highest priority."""

    runs: Mapping[str, int]
    """State -> number of runs."""
    first_left: int
    """Runs of the first set that are not final."""
    first_left_s: float | None
    """Estimate from the mean time of recent runs; None while none has ended."""

    @property
    def left(self) -> int:
        """Runs that are not final."""
        return sum(self.runs.get(state, 0) for state in ("queued", "running", "measured"))

    @property
    def total(self) -> int:
        """All runs."""
        return sum(self.runs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
    """How one component stands."""

    slug: str
    newest: ReleaseItem | None
    """The newest release on the axis."""
    measured: ReleaseItem | None
    """The newest release with a measurement."""
    progress: Progress
    series: tuple[SeriesItem, ...]
    """The gated series."""
    n_releases: int
    n_series: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """Where a release source stands."""

    source: str
    asked_at: datetime | None
    answered_at: datetime | None
    problem: str | None

    @property
    def shown(self) -> str:
        """What people read of its name: the first option says where its releases are."""
        component, _, rest = self.source.partition(" ")
        kind, _, options = rest.partition(" ")
        try:
            where = next((str(value) for value in json.loads(options).values()), "")
        except (ValueError, AttributeError):
            return self.source
        return f"{component}: {kind} {where}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the first page shows."""

    components: tuple[ComponentView, ...]
    alerts: tuple[AlertItem, ...]
    sources: tuple[SourceView, ...]


def show_overview(session: Session) -> Overview:
    """Return how everything stands; the number of statements does not depend on how much there is."""
    components = session.execute(select(COMPONENT).order_by(COMPONENT.c.slug)).all()
    progress = _load_progress(session)
    newest, measured = _find_newest(session), _find_newest(session, measured=True)
    items = load_releases(session, RELEASE.c.id.in_({*newest.values(), *measured.values()}))
    by_name = {(item.component, item.identity): item for item in items}
    names = _name_releases(session, {*newest.values(), *measured.values()})
    series: dict[str, list[SeriesItem]] = defaultdict(list)
    for item in load_series(session, [SERIES.c.gated]):
        series[item.component].append(item)
    releases, all_series = _count_by_component(session, RELEASE), _count_by_component(session, SERIES)
    none = Progress(runs={}, first_left=0, first_left_s=None)
    return Overview(
        components=tuple(
            ComponentView(
                slug=row.slug,
                newest=by_name.get((row.slug, names.get(newest.get(row.id, 0), ""))),
                measured=by_name.get((row.slug, names.get(measured.get(row.id, 0), ""))),
                progress=progress.get(row.id, none),
                series=tuple(series[row.slug]),
                n_releases=releases.get(row.id, 0),
                n_series=all_series.get(row.id, 0),
            )
            for row in components
        ),
        alerts=list_alerts(session, limit=LATEST_ALERTS).items,
        sources=list_sources(session),
    )


def list_sources(session: Session) -> tuple[SourceView, ...]:
    """Return where each release source stands."""
    rows = session.execute(select(CURSOR).order_by(CURSOR.c.source))
    return tuple(
        SourceView(source=row.source, asked_at=row.asked_at, answered_at=row.answered_at, problem=row.problem)
        for row in rows
    )


def _find_newest(session: Session, *, measured: bool = False) -> dict[int, int]:
    """Return each component's newest release on its axis, of all or of those with a measurement."""
    place = func.row_number().over(partition_by=RELEASE.c.component_id, order_by=RELEASE.c.sort_key.desc())
    statement = select(RELEASE.c.id, RELEASE.c.component_id, place.label("place")).where(
        RELEASE.c.sort_key.is_not(None)
    )
    if measured:
        statement = statement.where(RELEASE.c.id.in_(select(MEASUREMENT.c.release_id)))
    ranked = statement.subquery()
    rows = session.execute(select(ranked.c.component_id, ranked.c.id).where(ranked.c.place == 1))
    return {row.component_id: row.id for row in rows}


def _name_releases(session: Session, ids: set[int]) -> dict[int, str]:
    rows = session.execute(select(RELEASE.c.id, RELEASE.c.identity).where(RELEASE.c.id.in_(ids)))
    return {row.id: row.identity for row in rows}


def _count_by_component(session: Session, of: Any) -> dict[int, int]:
    rows = session.execute(select(of.c.component_id, func.count().label("n")).group_by(of.c.component_id))
    return {row.component_id: row.n for row in rows}


def _load_progress(session: Session) -> dict[int, Progress]:
    """Return how far measuring is, by component id."""
    rows = session.execute(
        select(RELEASE.c.component_id, RUN.c.state, RUN.c.priority, func.count().label("n"))
        .join(BUILD, BUILD.c.id == RUN.c.build_id)
        .join(RELEASE, RELEASE.c.id == BUILD.c.release_id)
        .group_by(RELEASE.c.component_id, RUN.c.state, RUN.c.priority)
    ).all()
    mean_s = _mean_run_s(session)
    counts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    left: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        counts[row.component_id][row.state] += row.n
        if row.state in ("queued", "running", "measured"):
            left[row.component_id][row.priority] += row.n
    progress = {}
    for component_id, states in counts.items():
        first = max(left[component_id].items(), default=(0, 0))[1]
        estimate = first * mean_s if mean_s is not None and first else None
        progress[component_id] = Progress(runs=dict(states), first_left=first, first_left_s=estimate)
    return progress


def _mean_run_s(session: Session) -> float | None:
    """Return the mean duration of recent attempts that ended well; None without one."""
    rows = session.execute(
        select(ATTEMPT.c.started_at, ATTEMPT.c.ended_at)
        .where(ATTEMPT.c.outcome == "ok", ATTEMPT.c.started_at.is_not(None), ATTEMPT.c.ended_at.is_not(None))
        .order_by(ATTEMPT.c.id.desc())
        .limit(RECENT_ATTEMPTS)
    ).all()
    times = [max(0.0, (row.ended_at - row.started_at).total_seconds()) for row in rows]
    return sum(times) / len(times) if times else None
