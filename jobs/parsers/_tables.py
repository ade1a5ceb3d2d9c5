"""Tables of comma separated values as tools write them: blocks with blank lines between, and only whole rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.content import Content
from jobs.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One block: its header and its rows, each with as many cells as the header; `ragged` rows are left out."""

    header: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    ragged: int = 0


def read_tables(content: Content) -> tuple[list[Table], bool]:
    """Return the blocks of a text, and whether a last line that may be cut was left out; Refused for what is no CSV."""
    lines = content.whole().split("\n")
    cut = bool(lines.pop().strip())
    try:
        cells = list(csv.reader(lines, strict=False))
    except csv.Error as error:
        raise Refused(f"the table cannot be read: {error}") from error
    return list(_blocks(cells)), cut


def _blocks(cells: Sequence[Sequence[str]]) -> Iterator[Table]:
    block: list[Sequence[str]] = []
    for row in [*cells, []]:
        if any(cell.strip() for cell in row):
            block.append([cell.strip() for cell in row])
        elif block:
            yield _table(block)
            block = []


def _table(block: Sequence[Sequence[str]]) -> Table:
    header = tuple(block[0])
    whole = [row for row in block[1:] if len(row) == len(header)]
    doubled = len(set(header)) < len(header)
    rows = () if doubled else tuple(dict(zip(header, row, strict=True)) for row in whole)
    return Table(header=header, rows=rows, ragged=len(block) - 1 - len(whole))


def first_line(content: Content) -> str:
    """Return the first line that is not blank, for recognising a tool by its header."""
    return next((line.strip() for line in content.sample[:8192].split("\n") if line.strip()), "")
