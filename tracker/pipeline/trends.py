"""From what is stored of a series to what its chart shows, for pages and messages alike."""

from __future__ import annotations

from collections.abc import Sequence

from alerts.trend import MissingRelease, Trend, TrendChange, TrendPoint
from alerts.wording import Change, Direction
from tracker.store.engine import Session
from tracker.store.views.axes import Place
from tracker.store.views.series import Point, SeriesDetail, show_series


def trend_of(session: Session, fingerprint: str) -> Trend | None:
    """Return the trend of a series, None when there is no such series."""
    detail = show_series(session, fingerprint)
    return make_trend(detail) if detail else None


def make_trend(detail: SeriesDetail) -> Trend:
    """Return what the chart of a series shows: every release keeps its place, measured or not."""
    series = detail.series
    places = {point.release.identity: order for order, point in enumerate(detail.points)}
    measured = {point.release.identity for point in detail.points if point.level is not None}
    return Trend(
        title=f"{series.component}: {series.name}",
        unit=series.unit,
        direction=Direction(series.direction),
        metric=series.metric,
        points=tuple(
            _make_point(point, places[point.release.identity]) for point in detail.points if point.level is not None
        ),
        missing=tuple(
            MissingRelease(
                release=point.release.display, order=places[point.release.identity], reason=point.missing or ""
            )
            for point in detail.points
            if point.level is None
        ),
        changes=tuple(
            TrendChange(
                order=places[change.release.identity],
                verdict=Change(change.verdict),
                effect_ratio=change.effect_ratio,
                label=change.reason,
                confirmed=change.confirmed,
            )
            for change in detail.changes
            if change.release.identity in measured
        ),
    )


def make_inside_trend(detail: SeriesDetail, component: str, places: Sequence[Place]) -> Trend:
    """Return what the chart of a series over the versions of a component inside shows; nothing is judged there.

    Runs whose images do not say the version have no place on this axis.
    """
    series = detail.series
    said = [place for place in places if place.version is not None]
    return Trend(
        title=f"{series.component}: {series.name}, over the {component} inside",
        unit=series.unit,
        direction=Direction(series.direction),
        metric=series.metric,
        axis=f"{component} version",
        is_judged=False,
        points=tuple(
            TrendPoint(
                release=place.version or "",
                order=order,
                level=place.level,
                low=place.low,
                high=place.high,
                n=place.n,
                repeats=place.values,
            )
            for order, place in enumerate(said)
        ),
    )


def _make_point(point: Point, order: int) -> TrendPoint:
    return TrendPoint(
        release=point.release.display,
        order=order,
        level=point.level or 0.0,
        low=point.low,
        high=point.high,
        n=point.n,
        repeats=tuple(value.value for value in point.values),
        flags=tuple(filter(None, (_flag_exclusion(point), point.pending, _flag_change(point)))),
    )


def _flag_exclusion(point: Point) -> str | None:
    return f"excluded: {point.excluded}" if point.excluded else None


def _flag_change(point: Point) -> str | None:
    return "provisional" if point.change is not None and not point.change.confirmed else None
