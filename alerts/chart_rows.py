"""The rows that a trend chart draws, by the name of the layer that draws them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from alerts.trend import Trend, TrendChange, TrendPoint
from alerts.wording import format_effect, format_value

Rows = list[dict[str, Any]]

PICTURE_WIDTH = 720
"""Width of a picture in pixels; labels are kept apart for this width."""
_LETTER_PX = 6.6
"""Mean width of the letters of a change's label."""
_SPREAD_PX = 26
"""How far the repeats of one release may lie apart."""


def list_datasets(trend: Trend) -> dict[str, Rows]:
    """Return the rows that the layers draw, by name."""
    points = sorted(trend.points, key=lambda point: point.order)
    stretches = _number_stretches(points)
    per_release = _pixels_per_release(trend)
    return {
        "points": [_make_row(trend, point, stretches[point.order]) for point in points],
        "repeats": [row for point in points for row in _spread_repeats(point, _SPREAD_PX / per_release)],
        "levels": _list_levels(points, trend.changes),
        "changes": _list_changes(trend),
        "missing": [{"order": gap.order, "release": gap.release, "reason": gap.reason} for gap in trend.missing],
    }


def _pixels_per_release(trend: Trend) -> float:
    orders = trend.releases
    return PICTURE_WIDTH / (max(orders) - min(orders) + 1)


def _make_row(trend: Trend, point: TrendPoint, stretch: int) -> dict[str, Any]:
    interval = "" if point.low is None or point.high is None else f"{point.low:.6g} to {point.high:.6g}"
    return {
        "order": point.order,
        "release": point.release,
        "level": point.level,
        "low": point.low,
        "high": point.high,
        "stretch": stretch,
        "hollow": bool(point.flags),
        "shown": format_value(point.level, trend.unit),
        "interval": interval,
        "runs": point.n,
        "flags": ", ".join(point.flags),
    }


def _spread_repeats(point: TrendPoint, widest: float) -> Rows:
    """Return the repeats side by side in the order they ran, so that they do not hide behind their median."""
    middle = (len(point.repeats) - 1) / 2
    step = min(0.36, widest) / max(1.0, middle * 2)
    return [{"at": point.order + (i - middle) * step, "value": value} for i, value in enumerate(point.repeats)]


def _number_stretches(points: list[TrendPoint]) -> dict[int, int]:
    """Return order -> number of the unbroken stretch it belongs to: the line stops at a missing release."""
    stretches: dict[int, int] = {}
    number = 0
    for before, point in pairwise([points[0], *points]):
        number += point.order > before.order + 1
        stretches[point.order] = number
    return stretches


def _list_levels(points: list[TrendPoint], changes: Iterable[TrendChange]) -> Rows:
    """Return one row for each stretch between change points: from, to and the median of its levels."""
    starts = sorted({change.order for change in changes} | {points[0].order})
    ends = [*starts[1:], points[-1].order + 1]
    rows = []
    for start, end in zip(starts, ends, strict=True):
        inside = [point.level for point in points if start <= point.order < end]
        rows.append({"from": start - 0.5, "to": end - 0.5, "level": statistics.median(inside)})
    return rows


def _list_changes(trend: Trend) -> Rows:
    """Return one row for each change point, with the row and the side its label stands at."""
    names = trend.releases
    last = max(names)
    per_release = _pixels_per_release(trend)
    taken: list[list[tuple[float, float]]] = []
    rows = []
    for change in sorted(trend.changes, key=lambda one: one.order):
        text = _label_change(change)
        at = change.order - 0.5
        width = (len(text) * _LETTER_PX + 12) / per_release
        leftwards = at + width > last + 0.5
        rows.append(
            {
                "at": at,
                "row": _take_row(taken, (at - width, at) if leftwards else (at, at + width)),
                "leftwards": leftwards,
                "verdict": change.verdict.value,
                "text": text,
                "release": names[change.order],
                "label": change.label or ("" if change.confirmed else "provisional: seen only at the newest release"),
            }
        )
    return rows


def _label_change(change: TrendChange) -> str:
    """Return `▲ +14.7 % regressed`; a question mark where it is not confirmed."""
    arrow = "" if not change.effect_ratio else "▲ " if change.effect_ratio > 0 else "▼ "
    effect = "" if change.effect_ratio is None else f"{format_effect(change.effect_ratio)} "
    return f"{arrow}{effect}{change.verdict.value}{'' if change.confirmed else '?'}"


def _take_row(taken: list[list[tuple[float, float]]], span: tuple[float, float]) -> int:
    """Return the first row where nothing stands in the span, and note that it is taken."""
    for row, spans in enumerate(taken):
        if all(span[1] <= low or span[0] >= high for low, high in spans):
            spans.append(span)
            return row
    taken.append([span])
    return len(taken) - 1
