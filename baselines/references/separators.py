"""Whether the comma or the point of a page's figures is its decimal sign: `8.471` is 8471 on a German page.

Figures are read as English pages print them. Where the page itself says otherwise, or says nothing and the figure could
be either, the figure is doubted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from baselines.references.columns import find_fields
from baselines.references.figures import is_nothing
from baselines.references.grids import Grid

_DECIMAL_COMMA = re.compile(
    r"^(?:\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+|0,\d+|\d{1,3}(?:\.\d{3}){2,})(?![\d.,])"
)
_DECIMAL_POINT = re.compile(r"^(?:[\d,]*\.(?:\d{1,2}|\d{4,})|[\d,]+,\d{3}\.\d+|0?\.\d+|\d{1,3}(?:,\d{3})+)(?![\d.,])")
_EITHER_POINT = re.compile(r"^[1-9]\d{0,2}\.\d{3}(?![\d.,])")
_EITHER_COMMA = re.compile(r"^[1-9]\d{0,2}(?:,\d{3})+(?![\d.,])")
_FIGURES = ("value", "latency", "efficiency")


def doubt_separators(grids: Sequence[Grid]) -> Callable[[str], str | None]:
    """Return what says of a figure as printed why its comma or point may be meant otherwise; None where it is clear."""
    cells = list(_figure_cells(grids))
    commas = next((cell for cell in cells if _DECIMAL_COMMA.match(cell)), None)
    points = any(_DECIMAL_POINT.match(cell) for cell in cells)

    def doubt(cell: str) -> str | None:
        if commas is not None and (_EITHER_POINT.match(cell) or _EITHER_COMMA.match(cell)):
            return f"the comma is the decimal sign in {commas!r}; {cell!r} is read as if the point were"
        if commas is None and not points and _EITHER_POINT.match(cell):
            whole = cell.split()[0].replace(".", "")
            return f"{cell!r} may be {whole}: no figure of the page tells whether its point groups digits"
        return None

    return doubt


def _figure_cells(grids: Sequence[Grid]) -> Iterator[str]:
    """Yield the cells that stand under headings of figures."""
    for grid in grids:
        places = [place for place, field in enumerate(find_fields(grid.header)) if field in _FIGURES]
        for row in grid.rows:
            yield from (row.cells[n] for n in places if n < len(row.cells) and not is_nothing(row.cells[n]))
