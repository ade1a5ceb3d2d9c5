"""Claims as Vega-Lite specifications: what brought a change, one bar after another; and what figures allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from alerts.chart_rows import PICTURE_WIDTH
from alerts.chart_style import Palette, build_config, pick_palette
from alerts.chart_text import SUBTITLE_LETTERS, TITLE_LETTERS, fold_text

Spec = dict[str, Any]

MOST_BARS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One part of a change: how many times better it made it."""

    name: str
    times: float
    is_total: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRow:
    """How many times better a figure became: as the figures allow, and as the claim states it."""

    claim: str
    figure: str
    times: float
    low: float
    high: float
    outcome: str


def parts_spec(bars: Sequence[Bar], *, title: str, said: str) -> Spec:
    """Return a waterfall: each bar starts where the one before it ended, on a scale of ratios; totals start at 1."""
    palette = pick_palette(False)
    rows: list[Spec] = []
    level = 1.0
    for bar in bars:
        start = 1.0 if bar.is_total else level
        level = start * bar.times
        tone = "total" if bar.is_total else "better" if bar.times >= 1 else "worse"
        text = f"×{bar.times:.3g}"
        rows.append(
            {"name": bar.name, "from": start, "to": level, "top": max(start, level), "tone": tone, "text": text}
        )
    ends = [1.0, *(row[key] for row in rows for key in ("from", "to"))]
    low, high = min(ends), max(ends)
    room = (high / low) ** 0.12 if high > low else 1.1
    names = [bar.name for bar in bars]
    crowded = sum(map(len, names)) > 80
    x = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "axis": {"title": None, "labelAngle": -35 if crowded else 0, "labelLimit": 180},
    }
    y = {
        "type": "quantitative",
        "title": "times better (a scale of ratios)",
        "scale": {"type": "log", "domain": [low / room, high * room], "nice": False},
        "axis": {"values": _ticks(low / room, high * room), "format": "~g"},
    }
    color = {
        "field": "tone",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": ["better", "worse", "total"],
            "range": [palette.improved, palette.regressed, palette.accent],
        },
    }
    return {
        **_frame(palette, title, said),
        "width": PICTURE_WIDTH,
        "height": 320,
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "bar", "width": {"band": 0.62}},
                "encoding": {"x": x, "y": y | {"field": "from"}, "y2": {"field": "to"}, "color": color},
            },
            {
                "mark": {"type": "text", "dy": -9, "fontWeight": "bold", "color": palette.text},
                "encoding": {"x": x, "y": y | {"field": "top"}, "text": {"field": "text", "type": "nominal"}},
            },
        ],
    }


def _frame(palette: Palette, title: str, said: str) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "autosize": {"type": "pad", "contains": "padding"},
        "config": build_config(palette, solid=True),
        "title": {"text": fold_text(title, TITLE_LETTERS), "subtitle": fold_text(said, SUBTITLE_LETTERS)},
    }


def _ticks(low: float, high: float) -> list[float]:
    """Return up to eight round numbers between the two, evenly spread as ratios."""
    found: set[float] = set()
    for place in range(8):
        value = low * (high / low) ** (place / 7)
        digits = 2 if high / low < 3 else 1
        found.add(float(f"{value:.{digits}g}"))
    return sorted(one for one in found if low <= one <= high)


def ratios_spec(rows: Sequence[RatioRow], *, title: str, said: str) -> Spec:
    """Return one line a figure: how many times better, with what the printed digits allow."""
    palette = pick_palette(False)
    values = [
        {
            "name": f"{row.claim}: {row.figure}",
            "times": row.times,
            "low": row.low,
            "high": row.high,
            "text": f"×{row.times:.4g}   {row.outcome}",
        }
        for row in rows
    ]
    ends = [end for row in rows for end in (row.low, row.high)] or [1.0]
    low, high = min(*ends, 1.0), max(*ends, 1.0)
    y = {
        "field": "name",
        "type": "nominal",
        "sort": [value["name"] for value in values],
        "axis": {"title": None, "labelLimit": 320, "grid": False},
    }
    x = {
        "type": "quantitative",
        "title": "times better (a scale of ratios)",
        "scale": {"type": "log", "domain": [low * 0.9, high * math.sqrt(max(high / low, 4.0))], "nice": False},
        "axis": {"values": _ticks(low, high), "format": "~g"},
    }
    return {
        **_frame(palette, title, said),
        "width": PICTURE_WIDTH - 200,
        "height": {"step": 34},
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45, "color": palette.accent},
                "encoding": {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1, "color": palette.accent},
                "encoding": {"y": y, "x": x | {"field": "times"}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 10, "color": palette.text},
                "encoding": {"y": y, "x": x | {"field": "high"}, "text": {"field": "text", "type": "nominal"}},
            },
        ],
    }
