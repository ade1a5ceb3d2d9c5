"""From the text of a page to its references."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from baselines.references.columns import is_header
from baselines.references.doubts import doubt_rows
from baselines.references.grids import MOST_ROWS, Grid
from baselines.references.html_grids import looks_like_html, read_html_grids
from baselines.references.mlperf import read_limits, vote_scenario
from baselines.references.reference import Printed, Reference, derive
from baselines.references.rows import read_rows
from baselines.references.separators import doubt_separators
from baselines.references.text_grids import read_text_grids

MOST_CHARACTERS = 16_000_000
_SCENARIO = re.compile(r"\b(offline|server|interactive|single[ -]?stream|multi[ -]?stream)\b", re.IGNORECASE)
_LONGEST_HEADING = 10
"""Words; a longer line is a sentence that may speak of another table."""
_ADDRESS = (
    re.compile(r"<!-- saved from url=\(\d+\)(https?://[^\s<>\"]+) -->"),
    re.compile(r"<link[^<>]{0,300}rel=[\"']canonical[\"'][^<>]{0,300}href=[\"'](https?://[^\"'<>\s]+)"),
    re.compile(r"<meta[^<>]{0,300}property=[\"']og:url[\"'][^<>]{0,300}content=[\"'](https?://[^\"'<>\s]+)"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page's references in its order, how many tables it has, and its own address where it says one.

    `passed_over` are the tables that print rates under headings that are not known: (line, header).
    """

    references: tuple[Reference, ...]
    tables: int
    address: str | None = None
    passed_over: tuple[tuple[int, str], ...] = ()


def read_page(text: str) -> Page:
    """Return what a page publishes; ValueError says why nothing can be read of it.

    Text with tables between bars (Markdown) or tabs, or HTML as saved by a browser.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"the page has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    web = looks_like_html(text)
    found = read_html_grids(text) if web else read_text_grids(text)
    grids = [grid for grid in found if is_header(grid.header)]
    passed_over = tuple((grid.line, " | ".join(grid.header)[:200]) for grid in found if not is_header(grid.header))
    if not grids:
        other = f"; the header of line {passed_over[0][0]} is {passed_over[0][1]!r}" if passed_over else ""
        raise ValueError(
            "no table of figures was found: expected a header that names the model (Network or Model), the throughput"
            f" and two columns more (GPU, Server, Precision ...), with rows below it, as Markdown, tabs or HTML{other}"
        )
    if (rows := sum(len(grid.rows) for grid in grids)) > MOST_ROWS:
        raise ValueError(f"the page has {rows:,} rows; at most {MOST_ROWS:,} are read")
    doubt = doubt_separators(grids)
    tables = [read_rows(grid, number, doubt) for number, grid in enumerate(grids, start=1)]
    printed = [row for table in name_scenarios(grids, tables) for row in table]
    address = next((match[1] for pattern in _ADDRESS if (match := pattern.search(text))), None) if web else None
    return Page(references=tuple(finish(printed)), tables=len(grids), address=address, passed_over=passed_over)


def finish(printed: Sequence[Printed]) -> list[Reference]:
    """Return what printed rows mean, with the doubts that only all of them together show."""
    return doubt_rows([derive(row) for row in printed])


def name_scenarios(grids: Sequence[Grid], tables: Sequence[Sequence[Printed]]) -> list[list[Printed]]:
    """Return the rows of MLPerf tables with their scenarios.

    By the heading above the table, else by the limits that the rows name: no limits is Offline, tighter ones than
    another table's for the same models are Interactive.
    """
    named = [_name_scenario(grid, rows) for grid, rows in zip(grids, tables, strict=True)]
    limits = [_limits_of(rows) for rows in tables]
    found = []
    for place, rows in enumerate(tables):
        scenario = named[place]
        if scenario is None and limits[place]:
            others = [limits[n] for n in range(len(tables)) if n != place and limits[n]]
            scenario = "interactive" if any(_is_tighter(limits[place], other) for other in others) else "server"
        found.append([row if row.scenario or not row.mlperf else replace(row, scenario=scenario) for row in rows])
    return found


def _name_scenario(grid: Grid, rows: Sequence[Printed]) -> str | None:
    if not any(row.mlperf for row in rows):
        return None
    for line in reversed(grid.before):
        words = line.strip("#* ")
        if len(words.split()) <= _LONGEST_HEADING and (match := _SCENARIO.search(words)):
            return match[1].casefold().replace("-", "").replace(" ", "")
    if any("constraint" in heading.casefold() for heading in grid.header):
        return vote_scenario([(row.model or "", row.constraints or "") for row in rows])
    return "offline"


def _limits_of(rows: Sequence[Printed]) -> dict[str, tuple[float, float]]:
    found = {row.model: read_limits(row.constraints) for row in rows if row.model and row.constraints}
    return {model: limits for model, limits in found.items() if limits is not None}


def _is_tighter(own: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether most of the models in common have shorter limits here."""
    shared = own.keys() & other.keys()
    return bool(shared) and 2 * sum(own[model] < other[model] for model in shared) > len(shared)
