"""Small trends as inline SVG, drawn here so that lists need no script."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from alerts.wording import format_value
from tracker.store.views.series import SeriesItem

WIDTH, HEIGHT, MARGIN = 132, 30, 4
MAX_POINTS = 60


def draw_sparkline(series: SeriesItem) -> Markup:
    """Return the trend of a series as SVG with a text for those who do not see it; empty under two levels."""
    levels = [level.level for level in series.trend[-MAX_POINTS:]]
    if len(levels) < 2:
        return Markup("")
    places = _place(levels)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    first, last = series.trend[-len(levels)], series.trend[-1]
    told = (
        f"{series.metric} from {format_value(first.level, series.unit)} at {first.release.display}"
        f" to {format_value(last.level, series.unit)} at {last.release.display}"
    )
    return Markup(
        '<svg class="spark" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-label="{told}">'
        '<polyline points="{line}"/>{change}<circle class="end" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/></svg>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        told=told,
        line=line,
        change=_mark_change(series, places),
        x=places[-1][0],
        y=places[-1][1],
    )


def _place(levels: Sequence[float]) -> list[tuple[float, float]]:
    """Return a place for each level; a range below 4 % of the level is drawn flat, not blown up."""
    low, high = min(levels), max(levels)
    span = max(high - low, abs(high) * 0.04) or 1.0
    middle = (low + high) / 2
    step = (WIDTH - 2 * MARGIN) / (len(levels) - 1)
    height = HEIGHT - 2 * MARGIN
    return [
        (MARGIN + index * step, HEIGHT / 2 - (level - middle) / span * height) for index, level in enumerate(levels)
    ]


def _mark_change(series: SeriesItem, places: Sequence[tuple[float, float]]) -> Markup:
    """Return a dot where the newest change stands."""
    if series.change is None:
        return Markup("")
    shown = series.trend[-len(places) :]
    for place, level in zip(places, shown, strict=True):
        if level.release.identity == series.change.release.identity:
            tone = {"regressed": "bad", "improved": "good"}.get(series.change.verdict, "neutral")
            return Markup('<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>').format(
                tone=tone, x=place[0], y=place[1]
            )
    return Markup("")
