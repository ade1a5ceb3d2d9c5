"""Which cell of a row stands under which heading, where the row has lost cells or has some too many.

The cells keep their order. Of all ways to lay them under the headings the best is taken, and where another way is as
good for a cell, nobody can know: that cell is doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baselines.references.columns import MISFIT, fit, price_of_absence
from baselines.references.figures import is_nothing

_ALIKE = 0.45
"""Ways whose costs differ by less are equally good."""
_FITS_WELL = 0.5
_LEFT_OUT = 8.0
_LEFT_OUT_EMPTY = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Column -> place of its cell; the cells that fit nowhere; groups of columns that one cell may belong to."""

    columns: dict[int, int]
    left_out: tuple[int, ...]
    doubtful: dict[int, tuple[int, ...]]


def align(fields: Sequence[str], cells: Sequence[str]) -> Alignment:
    """Return where the cells of a row belong."""
    while cells and not cells[-1]:
        cells = cells[:-1]
    if len(cells) == len(fields) and _stand_in_place(fields, cells):
        return Alignment(columns={place: place for place in range(len(cells))}, left_out=(), doubtful={})
    costs = [[fit(field, cell) for field in fields] for cell in cells]
    before = _prefix_costs(fields, cells, costs)
    after = _suffix_costs(fields, cells, costs)
    columns = _trace(fields, cells, costs, before)
    best = before[len(cells)][len(fields)]
    doubtful = {}
    for column, place in columns.items():
        if is_nothing(cells[place]):
            continue
        ways = [
            other
            for other in range(len(fields))
            if before[place][other] + costs[place][other] + after[place + 1][other + 1] < best + _ALIKE
        ]
        if len(ways) > 1:
            doubtful[column] = tuple(ways)
    left_out = [place for place in range(len(cells)) if place not in columns.values() and not is_nothing(cells[place])]
    return Alignment(columns=columns, left_out=tuple(left_out), doubtful=doubtful)


def _stand_in_place(fields: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether each cell stands under its own heading: all fit, or what does not would fit no better elsewhere.

    A few cells that are unlike their headings (`1K` for a length) have not moved while all others fit where they are.
    """
    costs = [fit(field, cell) for field, cell in zip(fields, cells, strict=True)]
    misfits = sum(cost >= MISFIT for cost in costs)
    if not misfits:
        return all(cell and cost <= _FITS_WELL for cell, cost in zip(cells, costs, strict=True))
    return misfits * 3 <= len(cells) and all(cost <= _FITS_WELL or cost >= MISFIT for cost in costs)


def _price_of_leaving(cell: str) -> float:
    return _LEFT_OUT_EMPTY if is_nothing(cell) else _LEFT_OUT


def _prefix_costs(fields: Sequence[str], cells: Sequence[str], costs: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the least cost of laying the first i cells under the first j headings."""
    table = [[0.0] * (len(fields) + 1) for _ in range(len(cells) + 1)]
    for i in range(len(cells) + 1):
        for j in range(len(fields) + 1):
            ways = []
            if i and j:
                ways.append(table[i - 1][j - 1] + costs[i - 1][j - 1])
            if j:
                ways.append(table[i][j - 1] + price_of_absence(fields[j - 1]))
            if i:
                ways.append(table[i - 1][j] + _price_of_leaving(cells[i - 1]))
            table[i][j] = min(ways, default=0.0)
    return table


def _suffix_costs(fields: Sequence[str], cells: Sequence[str], costs: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the least cost of laying the cells from i on under the headings from j on."""
    mirrored = _prefix_costs(fields[::-1], cells[::-1], [row[::-1] for row in costs[::-1]])
    return [row[::-1] for row in mirrored[::-1]]


def _trace(
    fields: Sequence[str], cells: Sequence[str], costs: Sequence[Sequence[float]], table: Sequence[Sequence[float]]
) -> dict[int, int]:
    """Return column -> cell of the best way."""
    columns: dict[int, int] = {}
    i, j = len(cells), len(fields)
    while i and j:
        if table[i][j] == table[i - 1][j - 1] + costs[i - 1][j - 1]:
            i, j = i - 1, j - 1
            columns[j] = i
        elif table[i][j] == table[i][j - 1] + price_of_absence(fields[j - 1]):
            j -= 1
        else:
            i -= 1
    return dict(sorted(columns.items()))
