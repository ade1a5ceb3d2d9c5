"""What a config costs over its releases as a Vega-Lite specification: as priced, and with the books held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from alerts.chart_rows import PICTURE_WIDTH
from alerts.chart_style import Palette, build_config, pick_palette
from alerts.chart_text import TITLE_LETTERS, fold_text

Spec = dict[str, Any]

VIEWS = ("as priced", "software only")
MOST_PANELS = 6
PANEL_LETTERS = 95
MOST_LABELS = 30
"""Of more releases some are labelled, the newest always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPanel:
    """One config: the figure of each release in both views, None where it is not known."""

    name: str
    releases: tuple[str, ...]
    as_priced: tuple[float | None, ...]
    software_only: tuple[float | None, ...]


def cost_spec(panels: Sequence[CostPanel], *, title: str, axis: str, lower_is_better: bool) -> Spec:
    """Return the specification of one panel a config, releases at equal distances; only known figures are drawn."""
    palette = pick_palette(False)
    better = "lower is better ↓" if lower_is_better else "higher is better ↑"
    subtitle = "as priced: by the edition of the day · software only: by one edition throughout"
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": build_config(palette, solid=True),
        "title": {"text": fold_text(title, TITLE_LETTERS), "subtitle": [subtitle]},
        "vconcat": [_panel(panel, f"{axis}  ·  {better}", palette, len(panels)) for panel in panels],
        "spacing": 28,
    }


def _panel(panel: CostPanel, axis: str, palette: Palette, panels: int) -> Spec:
    rows = [
        {"release": release, "order": order, "view": view, "value": value}
        for view, values in zip(VIEWS, (panel.as_priced, panel.software_only), strict=True)
        for order, (release, value) in enumerate(zip(panel.releases, values, strict=True))
        if value is not None
    ]
    known = [value for values in (panel.as_priced, panel.software_only) for value in values if value is not None]
    if not known:
        return _empty(panel, palette)
    span = (max(known) - min(known)) or abs(max(known)) * 0.1
    crowded = sum(map(len, panel.releases)) > 90
    step = -(-len(panel.releases) // MOST_LABELS)
    labelled = list(panel.releases[::-1][::step])
    view = {
        "field": "view",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(VIEWS), "range": [palette.accent, palette.regressed]},
        "legend": {"orient": "top", "direction": "horizontal", "labelColor": palette.text, "symbolStrokeWidth": 2},
    }
    shared = {
        "x": {
            "field": "release",
            "type": "ordinal",
            "sort": list(panel.releases),
            "scale": {"domain": list(panel.releases), "type": "point", "padding": 0.5},
            "axis": {"title": None, "labelAngle": -45 if crowded else 0, "grid": False, "values": labelled},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": axis,
            "scale": {"domain": [min(known) - span * 0.1, max(known) + span * 0.1], "nice": False, "zero": False},
        },
        "color": view,
    }
    dashed = {"condition": {"test": f"datum.view === '{VIEWS[1]}'", "value": [6, 4]}, "value": [1, 0]}
    shape = {"field": "view", "type": "nominal", "scale": {"domain": list(VIEWS), "range": ["circle", "square"]}}
    tooltip = [{"field": name, "type": "nominal"} for name in ("release", "view", "value")]
    return {
        "title": {"text": fold_text(panel.name, PANEL_LETTERS), "fontSize": 12},
        "width": PICTURE_WIDTH - 80,
        "height": 240 if panels < 3 else 150,
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": shared | {"strokeDash": dashed}},
            {
                "mark": {
                    "type": "point",
                    "filled": True,
                    "size": 60 if len(panel.releases) <= MOST_LABELS else 18,
                    "opacity": 1,
                },
                "encoding": shared | {"shape": shape | {"title": None, "legend": None}, "tooltip": tooltip},
            },
        ],
    }


def _empty(panel: CostPanel, palette: Palette) -> Spec:
    return {
        "title": {"text": fold_text(panel.name, PANEL_LETTERS), "fontSize": 12},
        "width": PICTURE_WIDTH - 80,
        "height": 60,
        "data": {"values": [{"text": "no figure is known"}]},
        "mark": {"type": "text", "fontSize": 13, "color": palette.faint},
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
