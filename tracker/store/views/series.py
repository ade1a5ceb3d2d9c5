"""Series: the list with its small trends, and one series with every release, value and change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlmodel import Session

from tracker.store.exclusions import excluded_of
from tracker.store.trust import trust
from tracker.store.views.changes import Change, Verdict, load_changes, load_verdicts
from tracker.store.views.levels import AxisRelease, Level, ReleaseName, counts, load_axis, load_levels
from tracker.store.views.names import name_series
from tracker.store.views.plain import Page, check_limit, match_words, read_cursor, read_json, table

SERIES, COMPONENT, CONFIG, HARDWARE = table("series"), table("component"), table("config"), table("hardware_class")
RELEASE, RUN, BUILD, SUITE = table("release"), table("run"), table("build"), table("suite_revision")
MEASUREMENT, HOST = table("measurement"), table("host")
QUEUED = "queued"
UNDER_WAY = {"running": "being measured", "measured": "being read", "queued": QUEUED}
"""State of a run that is not final -> words; the first that occurs speaks for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesItem:
    """One series as lists show it."""

    fingerprint: str
    name: str
    component: str
    suite: str
    metric: str
    unit: str
    direction: str
    """Which way is better: higher, lower or neutral."""
    gated: bool
    hardware: str
    variant: str
    labels: Mapping[str, Any]
    n_points: int
    """Releases with at least one valid measurement."""
    trend: tuple[Level, ...] = ()
    change: Change | None = None
    """The newest change that stands."""

    @property
    def newest(self) -> Level | None:
        """The level at the newest measured release."""
        return self.trend[-1] if self.trend else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One repeat."""

    run: str
    repeat: int
    value: float
    samples: int | None
    spread: float | None
    measured_at: datetime | None
    host: str
    contended: bool = False
    """Other work on the host held it up: it does not count where enough other repeats do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One release of a series; without a level, `missing` says why."""

    release: ReleaseName
    track: str
    published_at: datetime | None
    level: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    spread_ratio: float | None = None
    """Median distance from the median, scaled to a standard deviation, as a share of the level; from 3 repeats on."""
    missing: str | None = None
    pending: str | None = None
    """What its other runs are at, if not all are final: the level is too early to judge."""
    change: Change | None = None
    verdict: Verdict | None = None
    excluded: str | None = None
    """Why it is not judged, by somebody's word."""
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDetail:
    """A series with everything its page shows; points in release order."""

    series: SeriesItem
    points: tuple[Point, ...]
    changes: tuple[Change, ...]


def list_series(
    session: Session,
    *,
    component: str | None = None,
    suite: str | None = None,
    metric: str | None = None,
    gated: bool | None = None,
    text: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[SeriesItem]:
    """Return the series that match, gated ones first; every word of `text` must stand in a name or label."""
    wanted = [
        column == value
        for column, value in (
            (COMPONENT.c.slug, component),
            (SERIES.c.suite, suite),
            (SERIES.c.metric, metric),
            (SERIES.c.gated, gated),
        )
        if value is not None and value != ""
    ]
    searched = (SERIES.c.metric, SERIES.c.suite, COMPONENT.c.slug, CONFIG.c.labels, HARDWARE.c.slug, SERIES.c.variant)
    start = read_cursor(cursor)
    check_limit(limit)
    found = load_series(session, [*wanted, *match_words(text, searched)], limit=limit + 1, offset=start)
    more = len(found) > limit
    return Page(items=tuple(found[:limit]), next=str(start + limit) if more else None)


def load_series(
    session: Session, conditions: Sequence[ColumnElement[bool]], *, limit: int | None = None, offset: int = 0
) -> list[SeriesItem]:
    """Return the series under the conditions with their trends and newest changes: four statements."""
    rows = session.execute(
        _select_series()
        .where(*conditions)
        .order_by(COMPONENT.c.slug, SERIES.c.gated.desc(), SERIES.c.suite, HARDWARE.c.slug, CONFIG.c.labels)
        .order_by(SERIES.c.metric, SERIES.c.id)
        .limit(limit)
        .offset(offset)
    ).all()
    ids = [row.id for row in rows]
    trends, points, changes = load_levels(session, ids), _count_points(session, ids), load_changes(session, ids)
    return [_make_item(row, points.get(row.id, 0), trends.get(row.id, ()), changes.get(row.id, ())) for row in rows]


def _select_series() -> Any:
    return (
        select(
            SERIES,
            COMPONENT.c.slug.label("component"),
            CONFIG.c.labels,
            HARDWARE.c.slug.label("hardware"),
        )
        .join(COMPONENT, COMPONENT.c.id == SERIES.c.component_id)
        .join(CONFIG, CONFIG.c.id == SERIES.c.config_id)
        .join(HARDWARE, HARDWARE.c.id == SERIES.c.hardware_class_id)
    )


def _count_points(session: Session, series_ids: Sequence[int]) -> dict[int, int]:
    rows = session.execute(
        select(MEASUREMENT.c.series_id, func.count(MEASUREMENT.c.release_id.distinct()).label("points"))
        .where(MEASUREMENT.c.series_id.in_(series_ids))
        .group_by(MEASUREMENT.c.series_id)
    )
    return {row.series_id: row.points for row in rows}


def _make_item(row: Any, n_points: int, trend: tuple[Level, ...], changes: Sequence[Change]) -> SeriesItem:
    labels = read_json(row.labels)
    return SeriesItem(
        fingerprint=row.fingerprint,
        name=name_series(labels, row.variant),
        component=row.component,
        suite=row.suite,
        metric=row.metric,
        unit=row.unit,
        direction=row.direction,
        gated=row.gated,
        hardware=row.hardware,
        variant=row.variant,
        labels=labels,
        n_points=n_points,
        trend=trend,
        change=changes[-1] if changes else None,
    )


def show_series(session: Session, fingerprint: str) -> SeriesDetail | None:
    """Return a series with every release on its axis, from the first one tried; None where there is no such series."""
    row = session.execute(_select_series().where(SERIES.c.fingerprint == fingerprint)).first()
    if row is None:
        return None
    changes = load_changes(session, [row.id]).get(row.id, ())
    verdicts = load_verdicts(session, [row.id])
    values = _load_values(session, row.id)
    unmeasured = _explain_unmeasured(session, row)
    excluded = excluded_of(session, [row.id]).get(row.id, {})
    axis = _begin_axis(load_axis(session, row.component_id), values, unmeasured)
    tracks = {place.track for place in axis if place.id in values}
    points = tuple(
        _make_point(
            place,
            values.get(place.id, ()),
            unmeasured,
            changes,
            verdicts.get((row.id, place.id)),
            excluded.get(place.id),
        )
        for place in axis
        if place.id in values or place.id in unmeasured or place.track in tracks
    )
    trend = tuple(
        Level(release=point.release, level=point.level, n=point.n) for point in points if point.level is not None
    )
    return SeriesDetail(series=_make_item(row, len(values), trend, changes), points=points, changes=tuple(changes))


def _begin_axis(
    axis: list[AxisRelease], values: Mapping[int, tuple[Value, ...]], unmeasured: Mapping[int, str]
) -> list[AxisRelease]:
    """Return the axis from the first release on that was measured or tried: older ones say nothing about the series."""
    tried = {release_id for release_id, why in unmeasured.items() if why != QUEUED}
    first = next((place for place, one in enumerate(axis) if one.id in values or one.id in tried), len(axis))
    return axis[first:]


def _load_values(session: Session, series_id: int) -> dict[int, tuple[Value, ...]]:
    """Return the repeats by release; those of a superseded build are left out."""
    rows = session.execute(
        select(MEASUREMENT, RUN.c.public_id, RUN.c.repeat, HOST.c.slug.label("host"))
        .join(RUN, RUN.c.id == MEASUREMENT.c.run_id)
        .join(HOST, HOST.c.id == MEASUREMENT.c.host_id)
        .where(MEASUREMENT.c.series_id == series_id, counts())
        .order_by(MEASUREMENT.c.run_id)
    )
    values: dict[int, list[Value]] = defaultdict(list)
    for row in rows:
        values[row.release_id].append(
            Value(
                run=row.public_id,
                repeat=row.repeat,
                value=row.value,
                samples=row.samples,
                spread=row.spread,
                measured_at=row.measured_at,
                host=row.host,
                contended=row.contended,
            )
        )
    return {release_id: tuple(found) for release_id, found in values.items()}


def _explain_unmeasured(session: Session, series: Any) -> dict[int, str]:
    """Return, for each release that the series' suite has runs of, what those runs came to in words."""
    rows = session.execute(
        select(BUILD.c.release_id, RUN.c.state, func.count().label("runs"), func.max(RUN.c.reason).label("reason"))
        .join(BUILD, BUILD.c.id == RUN.c.build_id)
        .join(RELEASE, RELEASE.c.id == BUILD.c.release_id)
        .join(SUITE, SUITE.c.id == RUN.c.suite_revision_id)
        .where(
            RELEASE.c.component_id == series.component_id,
            SUITE.c.name == series.suite,
            RUN.c.hardware_class_id == series.hardware_class_id,
        )
        .group_by(BUILD.c.release_id, RUN.c.state)
    )
    by_release: dict[int, dict[str, str]] = defaultdict(dict)
    for row in rows:
        by_release[row.release_id][row.state] = row.reason
    return {release_id: explain_states(states) for release_id, states in by_release.items()}


def explain_states(reasons: Mapping[str, str]) -> str:
    """Return why there is no value, from the states of the runs and their reasons: the most hopeful state speaks."""
    for state, words in UNDER_WAY.items():
        if state in reasons:
            return words
    if "done" in reasons:
        return "its runs ended well but gave no valid value of this metric"
    for state in ("failed", "cancelled"):
        if state in reasons:
            return f"{state}: {reasons[state]}" if reasons[state] else state
    return "not measured"


def _make_point(
    place: AxisRelease,
    values: Sequence[Value],
    unmeasured: Mapping[int, str],
    changes: Sequence[Change],
    verdict: Verdict | None,
    excluded: str | None,
) -> Point:
    numbers = [value.value for value in trust(values)]
    level = median(numbers) if numbers else None
    said = unmeasured.get(place.id, "not measured")
    missing = None if numbers else place.obstacle or said
    return Point(
        release=place.name,
        track=place.track,
        published_at=place.published_at,
        level=level,
        low=min(numbers, default=None),
        high=max(numbers, default=None),
        n=len(numbers),
        spread_ratio=_scale_spread(numbers, level),
        missing=missing,
        pending=said if numbers and said in UNDER_WAY.values() else None,
        change=next((change for change in changes if change.release.identity == place.name.identity), None),
        verdict=verdict,
        excluded=excluded,
        values=tuple(values),
    )


def _scale_spread(numbers: Sequence[float], level: float | None) -> float | None:
    if level is None or level == 0 or len(numbers) < 3:
        return None
    return 1.4826 * median(abs(number - level) for number in numbers) / abs(level)
