"""Where two detectors differ on one series, as an HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baselines import ChangePoint

STYLE = "body{font:15px system-ui;margin:2rem auto;max-width:60rem}td,th{padding:.3rem .8rem;text-align:left}"


def write_page(
    metric: str,
    labels: Sequence[str],
    found: Mapping[str, Sequence[ChangePoint]],
    pictures: Mapping[str, str],
) -> str:
    """Return the page: a sentence, a table of every place that either found, and a picture a detector."""
    (one, first), (other, second) = found.items()
    places = sorted({change.index for change in (*first, *second)})
    by_place = [{change.index: change for change in changes} for changes in (first, second)]
    rows = "".join(
        f"<tr><td>{escape(labels[place])}</td>" + "".join(_cell(changes.get(place)) for changes in by_place) + "</tr>"
        for place in places
    )
    alone = sum((place in by_place[0]) != (place in by_place[1]) for place in places)
    said = f"They differ at {alone} of {len(places)} places." if alone else "They agree."
    head = "".join(f"<th>{escape(name)}</th>" for name in ("release", one, other))
    drawn = "".join(f"<h2>{escape(name)}</h2>{picture}" for name, picture in pictures.items())
    title = escape(f"{metric}: {one} and {other}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>{said}</p><table><tr>{head}</tr>{rows}</table>{drawn}</html>\n"
    )


def _cell(change: ChangePoint | None) -> str:
    if change is None:
        return "<td>nothing</td>"
    return f"<td>{100 * change.effect_ratio:+.1f} %, p {change.p:.2g}</td>"
