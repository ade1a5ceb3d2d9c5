"""Points from a CSV or JSON file: rows under names that many tools use, checked one by one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.characters import find_unstorable
from tracker.cli.csv_series import AXES, NOT_MEASURED, read_text, read_value
from tracker.cli.measured_columns import drop_measured, refuse_mixed_decimals, refuse_twice_measured
from tracker.errors import UserError

ALIASES = {
    **{name: "release" for name in AXES if name not in ("time", "date", "timestamp")},
    "tok/s/user": "tok_s_user",
    "interactivity": "tok_s_user",
    "tok/s/gpu": "tok_s_per_gpu",
    "output tok/s/gpu": "output_tok_s_per_gpu",
    "total tok/s/gpu": "total_tok_s_per_gpu",
    "output tok/s": "output_tok_s",
    "total tok/s": "total_tok_s",
    "conc": "concurrency",
    "gpus": "gpu_count",
    "day": "date",
}
"""Other names of columns, in small letters."""
LEAST, LARGEST = 1e-9, 1e15
"""What a number may be: beyond it there is no such throughput, time or power."""
LEAST_TPOT_MS = 0.02
"""No user gets 50,000 tokens a second: it is in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One row: column -> text, without empty cells, and where it stands."""

    cells: Mapping[str, str]
    where: str
    delimiter: str = ","

    def number(self, name: str) -> float | None:
        """Return the number of a cell, None where there is none; UserError for what is no number above 0."""
        text = self.cells.get(name)
        value = None if text is None else read_value(text, self.where, name, self.delimiter)
        if value is not None and value <= 0:
            raise UserError(f"{self.where}, column {name}: expected a number above 0, found {text}; leave it empty")
        if value is not None and not LEAST <= value <= LARGEST:
            raise UserError(f"{self.where}, column {name}: expected {LEAST:g} to {LARGEST:g}, found {text}")
        if value is not None and name.startswith("tpot_") and value < LEAST_TPOT_MS:
            told = f"{value:g} ms, which is {1000 / value:,.0f} tokens a second for one user"
            raise UserError(f"{self.where}, column {name}: expected ms, found {told}; write it in ms")
        return value


def read_points(file: str, needed: Sequence[str | tuple[str, ...]], measurements: Collection[str]) -> list[PointRow]:
    """Return the rows of a file; UserError unless it has each needed column, or one of each group of them.

    `measurements` are the columns read as numbers; those of other measurements are left out, never taken for labels.
    """
    text = read_text(file)
    rows = list(_json_rows(file, text) if text.lstrip()[:1] in "[{" else _csv_rows(file, text))
    if not rows:
        raise UserError(f"{file}: has column names and no rows; expected one row a measurement")
    known = {name for row in rows for name in row.cells}
    for group in needed:
        names = (group,) if isinstance(group, str) else group
        if not known & set(names):
            wanted = " or ".join(names)
            raise UserError(f"{file}: expected a column {wanted} with values; found {', '.join(sorted(known))}")
    read = {*measurements, *(name for group in needed for name in ((group,) if isinstance(group, str) else group))}
    kept = [replace(row, cells=cells) for row, cells in zip(rows, drop_measured(file, rows, read), strict=True)]
    numbers = [
        (row.cells[name], f"{row.where}, column {name}") for row in kept for name in measurements if name in row.cells
    ]
    if kept[0].delimiter != ",":
        refuse_mixed_decimals(numbers)
    refuse_twice_measured(kept, measurements)
    return kept


def canonical_name(name: str) -> str:
    """Return the name that a column is known by here."""
    plain = " ".join(name.strip().lower().split())
    return ALIASES.get(plain, plain.replace(" ", "_"))


def _csv_rows(file: str, text: str) -> Iterable[PointRow]:
    header, _, _ = text.partition("\n")
    delimiter = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        names = [canonical_name(name) for name in next(rows, [])]
        _refuse_twice(file, names)
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            where = f"{file}, line {rows.line_num}"
            if len(row) > len(names):
                raise UserError(f"{where}: expected {len(names)} columns, as line 1 has, found {len(row)}")
            yield _row(dict(zip(names, row, strict=False)), where, delimiter)
    except csv.Error as error:
        raise UserError(f"{file}, line {rows.line_num}: is not CSV: {error}") from error


def _json_rows(file: str, text: str) -> Iterable[PointRow]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: is not JSON: {error}") from error
    items = document.get("items") if isinstance(document, dict) else document
    if not isinstance(items, list):
        raise UserError(f"{file}: expected a list of objects, or an object with such a list under 'items'")
    for number, item in enumerate(items, start=1):
        where = f"{file}, item {number}"
        if not isinstance(item, dict):
            raise UserError(f'{where}: expected an object such as {{"release": "1.2.0"}}, found {str(item)[:40]}')
        _refuse_twice(where, [canonical_name(name) for name in item])
        released = [value for name, value in item.items() if canonical_name(name) == "release" and value is not None]
        if any(not isinstance(value, str) for value in released):
            raise UserError(f"{where}: expected the release in quotes, found {released[0]}; a number loses its zeros")
        yield _row({canonical_name(name): _text(value, where, name) for name, value in item.items()}, where, ",")


def _text(value: Any, where: str, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        raise UserError(f"{where}, {name}: expected a number or a text, found {str(value)[:40]}")
    return str(value)


def _refuse_twice(where: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise UserError(f"{where}: expected each column once, found twice: {', '.join(twice)}")


def _row(cells: Mapping[str, str], where: str, delimiter: str) -> PointRow:
    kept = {name: cell.strip() for name, cell in cells.items() if name and cell.strip().lower() not in NOT_MEASURED}
    if character := find_unstorable(kept):
        raise UserError(f"{where}: a text in it holds the unusable character {character}; remove that")
    if "release" not in kept:
        raise UserError(f"{where}: expected a release, found none; name the column `release` and fill it")
    return PointRow(cells=kept, where=where, delimiter=delimiter)
