"""The trend of a series as a Vega-Lite specification, and as a picture.

Pages embed the specification, messages carry the picture: both show the same chart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

from alerts.chart_rows import PICTURE_WIDTH, list_datasets
from alerts.chart_style import Palette, build_config, pick_palette
from alerts.errors import ChartFailed
from alerts.trend import Trend
from alerts.wording import Change, Direction, count

Spec = dict[str, Any]

_BARS_UP_TO = 45
_LABELS_UP_TO = 40
_ROW_PX = 15
"""Height of one row of change labels."""


def trend_spec(trend: Trend, *, dark: bool = False, width: int | None = None, height: int = 280) -> Spec:
    """Return the Vega-Lite specification of a trend; without `width` it fills the page's element.

    Releases stand in release order at equal distances; a release without a measurement keeps its place, empty.
    """
    palette = pick_palette(dark)
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width or "container",
        "height": height,
        "autosize": {"type": "fit-x" if width is None else "pad", "contains": "padding"},
        "config": build_config(palette, solid=width is not None),
        "usermeta": {"background": palette.background},
        "title": {"text": trend.title, "subtitle": _write_subtitle(trend)},
    }
    if not trend.points:
        return spec | _layer_nothing(trend, palette)
    rows = list_datasets(trend)
    label_rows = 1 + max((change["row"] for change in rows["changes"]), default=-1)
    y_scale = _scale_y(trend, (label_rows * _ROW_PX + 6) / height)
    return spec | {"datasets": rows, "layer": _list_layers(trend, palette, y_scale, height)}


def render(spec: Spec, format: Literal["png", "svg"] = "png", *, scale: float = 2.0, timeout_s: float = 30.0) -> bytes:
    """Return the specification drawn as PNG or SVG (UTF-8); a process of its own draws it and gives its memory back.

    Raises ChartFailed where it cannot be drawn or takes longer than `timeout_s`.
    """
    fixed = _fix_size(spec) if spec.get("width") == "container" else spec
    command = [sys.executable, "-P", str(Path(__file__).with_name("draw_chart.py")), format, str(scale)]
    try:
        done = subprocess.run(command, input=json.dumps(fixed).encode(), capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ChartFailed(f"drawing the chart took longer than {timeout_s:g} s and was stopped") from error
    if done.returncode != 0 or not done.stdout:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise ChartFailed(f"the chart could not be drawn (exit code {done.returncode}): {lines[-1][:500]}")
    return done.stdout


def _fix_size(spec: Spec) -> Spec:
    """Return a page's specification with the width and the background that a picture needs."""
    return spec | {"width": PICTURE_WIDTH, "config": spec["config"] | spec["usermeta"]}


def _write_subtitle(trend: Trend) -> list[str]:
    """Return what a reader needs to read the chart."""
    parts = [f"median of each {trend.axis}"]
    if any(point.repeats for point in trend.points):
        parts.append("faint dots: single runs")
    if any(point.low is not None for point in trend.points):
        parts.append(f"{'bars' if len(trend.points) <= _BARS_UP_TO else 'band'}: lowest to highest run")
    if any(point.flags for point in trend.points):
        parts.append("hollow: may still change")
    if trend.missing:
        parts.append("× not measured")
    return [" · ".join(parts)] if trend.points else []


def _write_axis_title(trend: Trend) -> str:
    better = {Direction.LOWER: "lower is better ↓", Direction.HIGHER: "higher is better ↑", Direction.NEUTRAL: ""}
    quantity = ", ".join(filter(None, (trend.metric or "value", trend.unit)))
    return "  ·  ".join(filter(None, (quantity, better[trend.direction])))


def _layer_nothing(trend: Trend, palette: Palette) -> Spec:
    """Return a chart that says there is nothing, so that an empty frame is never taken for a flat line."""
    missing = f" ({count(len(trend.missing), trend.axis)} known)" if trend.missing else ""
    return {
        "data": {"values": [{"text": f"No measurement yet{missing}"}]},
        "mark": {"type": "text", "fontSize": 15, "color": palette.faint},
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }


def _list_layers(trend: Trend, palette: Palette, y_scale: Spec, height: int) -> list[Spec]:
    """Return the layers from the back to the front."""
    x = _encode_x(trend)
    y = {"type": "quantitative", "title": _write_axis_title(trend), "scale": y_scale}
    levels = [_layer_levels(x, y, palette)] if trend.is_judged and len(trend.points) > 1 else []
    layers = [*levels, _layer_repeats(x, y, palette), *_layer_interval(trend, x, y, palette)]
    layers += [_layer_line(x, y, palette), *_layer_points(trend, x, y, palette)]
    if trend.missing:
        layers.append(_layer_missing(x, palette, height))
    return layers + (_layer_changes(x, palette) if trend.changes else [])


def _encode_x(trend: Trend) -> Spec:
    names = trend.releases
    shown = _choose_labels(list(names), {change.order for change in trend.changes})
    few = len(names) * max(map(len, names.values())) <= 90
    axis = {
        "title": None,
        "values": shown,
        "labelExpr": f"{json.dumps({str(order): name for order, name in names.items()})}[datum.value]",
        "labelAngle": 0 if few else -45,
        "labelAlign": "center" if few else "right",
        "labelOverlap": False,
        "grid": False,
    }
    edge = 0.6
    domain = [min(names) - edge, max(names) + edge]
    return {"type": "quantitative", "axis": axis, "scale": {"domain": domain, "nice": False, "zero": False}}


def _choose_labels(orders: list[int], important: set[int]) -> list[int]:
    """Return the places that get a label: all of few; of many the newest, those with a change, and evenly some."""
    if len(orders) <= _LABELS_UP_TO:
        return orders
    step = -(-len(orders) // _LABELS_UP_TO)
    wanted = [orders[-1], *sorted(important, reverse=True), *orders[::step]]
    chosen: list[int] = []
    for order in wanted:
        if all(abs(order - other) >= step for other in chosen):
            chosen.append(order)
    return sorted(chosen)


def _scale_y(trend: Trend, label_share: float) -> Spec:
    """Return a scale that shows all values large and leaves that share of the height free above, for labels."""
    values = [point.level for point in trend.points]
    values += [
        value for point in trend.points for value in (*point.repeats, point.low, point.high) if value is not None
    ]
    low, high = min(values), max(values)
    span = (high - low) or abs(high) * 0.1 or 1.0
    share = min(0.5, label_share)
    top = span * (0.08 + 1.16 * share / (1 - share))
    return {"domain": [low - span * 0.08, high + top], "nice": False, "zero": False}


def _layer_levels(x: Spec, y: Spec, palette: Palette) -> Spec:
    return {
        "data": {"name": "levels"},
        "mark": {"type": "rule", "strokeWidth": 7, "opacity": 0.22, "color": palette.text, "strokeCap": "butt"},
        "encoding": {"x": x | {"field": "from"}, "x2": {"field": "to"}, "y": y | {"field": "level"}},
    }


def _layer_repeats(x: Spec, y: Spec, palette: Palette) -> Spec:
    return {
        "data": {"name": "repeats"},
        "mark": {"type": "circle", "size": 16, "opacity": 0.38, "color": palette.accent, "tooltip": None},
        "encoding": {"x": x | {"field": "at"}, "y": y | {"field": "value"}},
    }


def _layer_interval(trend: Trend, x: Spec, y: Spec, palette: Palette) -> list[Spec]:
    """Return bars for few releases, a band for many, nothing where no interval is known."""
    if all(point.low is None or point.high is None for point in trend.points):
        return []
    bars: Spec = {"type": "rule", "strokeWidth": 2, "opacity": 0.55, "color": palette.accent}
    band: Spec = {"type": "area", "opacity": 0.18, "color": palette.accent}
    return [
        {
            "data": {"name": "points"},
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": bars if len(trend.points) <= _BARS_UP_TO else band,
            "encoding": {
                "x": x | {"field": "order"},
                "y": y | {"field": "low"},
                "y2": {"field": "high"},
                "detail": {"field": "stretch", "type": "nominal"},
            },
        }
    ]


def _layer_line(x: Spec, y: Spec, palette: Palette) -> Spec:
    return {
        "data": {"name": "points"},
        "mark": {"type": "line", "strokeWidth": 1.6, "opacity": 0.9, "color": palette.accent},
        "encoding": {
            "x": x | {"field": "order"},
            "y": y | {"field": "level"},
            "detail": {"field": "stretch", "type": "nominal"},
        },
    }


def _layer_points(trend: Trend, x: Spec, y: Spec, palette: Palette) -> list[Spec]:
    tooltip = [
        {"field": "release", "type": "nominal", "title": trend.axis},
        {"field": "shown", "type": "nominal", "title": "median"},
        {"field": "interval", "type": "nominal", "title": "lowest to highest run"},
        {"field": "runs", "type": "quantitative", "title": "runs"},
        {"field": "flags", "type": "nominal", "title": "may still change"},
    ]
    return [
        {
            "data": {"name": "points"},
            "transform": [{"filter": "datum.hollow" if hollow else "!datum.hollow"}],
            "mark": {
                "type": "point",
                "filled": True,
                "size": 18 if len(trend.points) > 60 else 58,
                "opacity": 1,
                "color": palette.background if hollow else palette.accent,
                "stroke": palette.accent,
                "strokeWidth": 1.8,
            },
            "encoding": {"x": x | {"field": "order"}, "y": y | {"field": "level"}, "tooltip": tooltip},
        }
        for hollow in (False, True)
    ]


def _layer_missing(x: Spec, palette: Palette, height: int) -> Spec:
    return {
        "data": {"name": "missing"},
        "mark": {"type": "text", "text": "×", "fontSize": 15, "color": palette.faint},
        "encoding": {
            "x": x | {"field": "order"},
            "y": {"value": height - 9},
            "tooltip": [
                {"field": "release", "type": "nominal", "title": "release"},
                {"field": "reason", "type": "nominal", "title": "missing"},
            ],
        },
    }


def _layer_changes(x: Spec, palette: Palette) -> list[Spec]:
    """Return a dashed line and a label for each change; colour repeats what arrow and word already say."""
    color = {
        "field": "verdict",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": [change.value for change in Change],
            "range": [palette.regressed, palette.improved, palette.changed],
        },
    }
    tooltip = [
        {"field": "release", "type": "nominal", "title": "from release"},
        {"field": "text", "type": "nominal", "title": "change"},
        {"field": "label", "type": "nominal", "title": "detail"},
    ]
    at = {"x": x | {"field": "at"}, "color": color, "tooltip": tooltip}
    label = at | {"text": {"field": "text", "type": "nominal"}, "y": {"value": 7}}
    text = {
        "type": "text",
        "align": {"expr": "datum.leftwards ? 'right' : 'left'"},
        "dx": {"expr": "datum.leftwards ? -6 : 6"},
        "dy": {"expr": f"datum.row * {_ROW_PX}"},
        "fontWeight": "bold",
        "fontSize": 11,
    }
    halo = text | {"stroke": palette.background, "strokeWidth": 5, "strokeJoin": "round"}
    changes = {"name": "changes"}
    return [
        {"data": changes, "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5}, "encoding": at},
        {"data": changes, "mark": halo, "encoding": label},
        {"data": changes, "mark": text, "encoding": label},
    ]
