"""Colours and type of the charts, light and dark; the verdict colours stay apart for colour-blind readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_FONT = "Inter, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colours of one mode."""

    background: str
    text: str
    faint: str
    grid: str
    accent: str
    regressed: str
    improved: str
    changed: str


_LIGHT = Palette(
    background="#ffffff",
    text="#1f2933",
    faint="#66717d",
    grid="#e8ecf0",
    accent="#1f6fb2",
    regressed="#b8390e",
    improved="#00795a",
    changed="#6b4fa0",
)
_DARK = Palette(
    background="#14191f",
    text="#e4e9ee",
    faint="#95a1ad",
    grid="#2a323b",
    accent="#6db3f2",
    regressed="#ff8a5c",
    improved="#3ddbaa",
    changed="#bda4f0",
)


def pick_palette(dark: bool) -> Palette:
    """Return the colours for a dark or a light page."""
    return _DARK if dark else _LIGHT


def build_config(palette: Palette, *, solid: bool) -> dict[str, Any]:
    """Return the Vega-Lite configuration; `solid` paints the background, otherwise the page shows through."""
    return {
        "background": palette.background if solid else "transparent",
        "font": _FONT,
        "padding": 12,
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "color": palette.text,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": palette.faint,
            "subtitleFontSize": 11,
            "subtitlePadding": 5,
            "offset": 12,
        },
        "axis": {
            "labelColor": palette.faint,
            "titleColor": palette.faint,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titlePadding": 10,
            "labelLimit": 130,
            "gridColor": palette.grid,
            "domainColor": palette.grid,
            "tickColor": palette.grid,
        },
    }
