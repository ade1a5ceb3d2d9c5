"""Two Pareto fronts as a Vega-Lite specification: throughput per GPU against interactivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from alerts.chart_rows import PICTURE_WIDTH
from alerts.chart_style import Palette, build_config, pick_palette
from alerts.chart_text import SUBTITLE_LETTERS, TITLE_LETTERS, fold_text

Spec = dict[str, Any]

HOLLOW = "hollow: beaten by another config of its release"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierDot:
    """One config of a sweep."""

    name: str
    x: float
    y: float
    on_front: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSide:
    """One release: its configs, and its front as it is read between them."""

    release: str
    dots: tuple[FrontierDot, ...]
    curve: tuple[tuple[float, float], ...]


def frontier_spec(
    before: FrontierSide,
    after: FrontierSide,
    both: Sequence[tuple[float, float, float]],
    *,
    title: str,
    said: str,
    axis: str = "tok/s/GPU",
) -> Spec:
    """Return the specification; `both` is interactivity, earlier and later throughput over the common coverage."""
    palette = pick_palette(False)
    sides = (before, after)
    names = [f"{before.release} (earlier)", f"{after.release} (later)"]
    color = {
        "field": "side",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": [palette.faint, palette.accent]},
        "legend": {"orient": "top", "direction": "horizontal", "labelColor": palette.text, "labelFontSize": 12},
    }
    x = {
        "type": "quantitative",
        "title": "interactivity, tok/s/user  ·  more is better →",
        "scale": {"nice": True, "zero": False},
    }
    y = {"type": "quantitative", "title": f"{axis}  ·  more is better ↑", "scale": {"nice": True, "zero": True}}
    curves = [
        {"side": name, "x": at, "y": value} for name, side in zip(names, sides, strict=True) for at, value in side.curve
    ]
    dots = [
        {"side": name, "x": dot.x, "y": dot.y, "config": dot.name, "front": dot.on_front}
        for name, side in zip(names, sides, strict=True)
        for dot in side.dots
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": PICTURE_WIDTH,
        "height": 380,
        "autosize": {"type": "pad", "contains": "padding"},
        "config": build_config(palette, solid=True),
        "title": {"text": fold_text(title, TITLE_LETTERS), "subtitle": [*fold_text(said, SUBTITLE_LETTERS), HOLLOW]},
        "layer": [
            *_areas(both, x, y, palette),
            {
                "data": {"values": curves},
                "mark": {"type": "line", "strokeWidth": 2, "interpolate": "linear"},
                "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "y"}, "color": color},
            },
            _dots(dots, x, y, color, palette, hollow=True),
            _dots(dots, x, y, color, palette, hollow=False),
        ],
    }


def _areas(both: Sequence[tuple[float, float, float]], x: Spec, y: Spec, palette: Palette) -> list[Spec]:
    """Return the area between the curves, one piece for each stretch in which the same one lies above."""
    found = []
    for above, group in groupby(pairwise(both), key=lambda two: two[0][2] + two[1][2] >= two[0][1] + two[1][1]):
        pieces = list(group)
        rows = [pieces[0][0], *(right for _, right in pieces)]
        found.append(
            {
                "data": {"values": [{"x": at, "low": min(a, b), "high": max(a, b)} for at, a, b in rows]},
                "mark": {"type": "area", "opacity": 0.2, "color": palette.improved if above else palette.regressed},
                "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "low"}, "y2": {"field": "high"}},
            }
        )
    return found


def _dots(dots: Sequence[Spec], x: Spec, y: Spec, color: Spec, palette: Palette, *, hollow: bool) -> Spec:
    mark: Spec = {"type": "point", "size": 60, "opacity": 1, "filled": not hollow}
    if hollow:
        mark |= {"fill": palette.background, "strokeWidth": 1.5}
    return {
        "data": {"values": [dot for dot in dots if dot["front"] is not hollow]},
        "mark": mark,
        "encoding": {
            "x": x | {"field": "x"},
            "y": y | {"field": "y"},
            "color": color,
            "tooltip": [{"field": "config", "type": "nominal"}, {"field": "side", "type": "nominal"}],
        },
    }
