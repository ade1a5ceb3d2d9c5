"""Columns of a file of points that hold measurements: those that are read, those beside them, and their numbers' form.

A measurement is never a label: each of its values would make a config of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Protocol

from jobs.labels import IDENTITY_LABELS
from jobs.metrics import CATALOGUE
from tracker.errors import UserError

_MEANT = re.compile(r"(?:^|_)(?:tpot|power|interactivity|throughput|tps|tok_s|tok(?:en)?s?/s(?:ec|econd)?)(?:_|/|$|\()")
"""Like one of the columns that are read, under another name or in another unit."""
_BESIDE = re.compile(r"(?:^|_)(?:ttft|itl|e2el?|latency|energy|accuracy|duration|req_s|req/s)(?:_|$|\()")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_THREE_AFTER_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


class Cells(Protocol):
    """A row: column -> text, and where it stands."""

    @property
    def cells(self) -> Mapping[str, str]: ...
    @property
    def where(self) -> str: ...


def drop_measured(file: str, rows: Sequence[Cells], read: Collection[str]) -> list[dict[str, str]]:
    """Return the cells of each row without measurements that are not read.

    UserError for a column that is like one of those read (`tpot_ms`, `power_kw`): nobody knows what it holds.
    """
    names = {name: None for row in rows for name in row.cells if name not in read and name not in IDENTITY_LABELS}
    for name in names:
        if name not in CATALOGUE and _MEANT.search(name):
            near = get_close_matches(name, read, n=2, cutoff=0.5) or sorted(read)
            raise UserError(
                f"{file}: column {name}: expected a label, or a measurement as {' or '.join(near)}; rename the column"
                " if it is that, in that unit, else remove it"
            )
    beside = {name for name in names if name in CATALOGUE or _BESIDE.search(name)}
    return [{name: text for name, text in row.cells.items() if name not in beside} for row in rows]


def refuse_twice_measured(rows: Sequence[Cells], read: Collection[str]) -> None:
    """Raise UserError where one repeat of one config at one release stands in two rows: it would count as two."""
    seen: dict[tuple[tuple[str, str], ...], str] = {}
    for row in rows:
        if "repeat" not in row.cells:
            continue
        key = tuple(sorted((name, text) for name, text in row.cells.items() if name not in read))
        if key in seen:
            told = ", ".join(f"{name} {text}" for name, text in row.cells.items() if name not in read)
            raise UserError(f"{row.where}: expected each repeat once, found it in {seen[key]} too: {told}; remove one")
        seen[key] = row.where


def refuse_mixed_decimals(cells: Sequence[tuple[str, str]]) -> None:
    """Raise UserError where numbers (text, where) of one file use both signs, or `8,000` may be 8 or 8000."""
    commas = [(text, where) for text, where in cells if _COMMA.fullmatch(text)]
    if not commas:
        return
    pointed = next(((text, where) for text, where in cells if "." in text), None)
    if pointed is not None:
        raise UserError(
            f"{pointed[1]}: expected one decimal sign throughout, found {pointed[0]!r}, and {commas[0][0]!r} in"
            f" {commas[0][1]}; write points or commas, and no sign between thousands"
        )
    if all(_THREE_AFTER_COMMA.fullmatch(text) for text, _ in commas):
        text, where = commas[0]
        raise UserError(
            f"{where}: {text!r} may be {text.replace(',', '.')} or {text.replace(',', '')}: nothing in the file tells;"
            " write a point for decimals, and no sign between thousands"
        )
