"""A series from a CSV file: which column is what, which rows are one release, and in which order releases stand."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tracker.cli.measured_columns import refuse_mixed_decimals
from tracker.errors import UserError

AXES = ("release", "version", "tag", "build", "time", "date", "timestamp", "commit")
NOT_MEASURED = ("", "nan", "na", "n/a", "null", "none", "-")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvSeries:
    """The repeats of each release, in order; empty where a release is named and nothing was measured."""

    metric: str
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    order: str
    """How the releases were put in order, in words."""
    missing: int
    """How many cells said that nothing was measured."""


def read_series(file: str, metric: str | None) -> CsvSeries:
    """Return the series of a file, of standard input for `-`; UserError says which line, and what was expected."""
    text = read_text(file)
    header, _, _ = text.partition("\n")
    delimiter = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        names = [name.strip() for name in next(rows, [])]
        axis, column = _choose_columns(file, names, metric)
        return _gather(file, rows, names[column], axis, column, delimiter)
    except csv.Error as error:
        raise UserError(f"{file}, line {rows.line_num}: is not CSV: {error}") from error


def read_text(file: str) -> str:
    """Return the text of a file, of standard input for `-`; UserError where it is empty or no text."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or '').lower()}; check the path") from error
    if not content.strip():
        raise UserError(f"{file}: is empty; expected a line of column names such as `release,value`, then rows")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 text (byte {error.start}); expected CSV") from error
    if "\0" in text:
        raise UserError(f"{file}: is a binary file; expected CSV")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _choose_columns(file: str, names: list[str], metric: str | None) -> tuple[int, int]:
    """Return the places of the release and of the value."""
    lower = [name.lower() for name in names]
    twice = sorted({name for name in lower if name and lower.count(name) > 1})
    if twice:
        raise UserError(f"{file}, line 1: expected different column names, found twice: {', '.join(twice)}")
    axes = [place for place, name in enumerate(lower) if name in AXES]
    if not axes:
        known, found = ", ".join(AXES), ", ".join(names)
        raise UserError(f"{file}, line 1: expected a column named one of {known}; found {found}")
    others = [place for place in range(len(names)) if place not in axes]
    wanted = metric.lower() if metric else "value" if "value" in lower else None
    if wanted is not None:
        if wanted not in lower:
            raise UserError(f"{file}, line 1: no column {metric!r}; found {', '.join(names)}")
        return axes[0], lower.index(wanted)
    if len(others) != 1:
        found = ", ".join(names[place] for place in others) or "none"
        raise UserError(f"{file}, line 1: which column is the value? name it with --metric; found {found}")
    return axes[0], others[0]


def _gather(file: str, rows: Iterable[list[str]], metric: str, axis: int, column: int, delimiter: str) -> CsvSeries:
    repeats: dict[str, list[float]] = {}
    missing = 0
    read: list[tuple[str, str]] = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{file}, line {rows.line_num}"  # type: ignore[attr-defined]
        if len(row) <= max(axis, column):
            raise UserError(f"{where}: expected {max(axis, column) + 1} columns or more, found {len(row)}")
        label = row[axis].strip()
        if not label:
            raise UserError(f"{where}: the release is empty; expected a name or a time")
        value = read_value(row[column].strip(), where, metric, delimiter)
        read.append((row[column].strip(), f"{where}, column {metric}"))
        missing += value is None
        repeats.setdefault(label, []).extend([] if value is None else [value])
    if not repeats:
        raise UserError(f"{file}: has column names and no rows; expected one row a measurement")
    if delimiter != ",":
        refuse_mixed_decimals(read)
    groups, order = order_labels(list(repeats))
    return CsvSeries(
        metric=metric,
        labels=tuple(group[0] for group in groups),
        values=tuple(tuple(value for label in group for value in repeats[label]) for group in groups),
        order=order,
        missing=missing,
    )


def read_value(text: str, where: str, metric: str, delimiter: str) -> float | None:
    """Return the number of a cell, None where it says that nothing was measured."""
    if text.lower() in NOT_MEASURED:
        return None
    if _DECIMAL_COMMA.fullmatch(text):
        if delimiter == ",":
            raise UserError(f"{where}, column {metric}: {text!r} has a decimal comma; write a point, or use ; columns")
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"{where}, column {metric}: expected a number, found {text[:40]!r}") from None
    if not math.isfinite(value):
        raise UserError(f"{where}, column {metric}: expected a finite number, found {text!r}; leave it empty instead")
    return value


def order_labels(labels: list[str]) -> tuple[list[list[str]], str]:
    """Return the labels of each release, oldest first, and by what: versions, times, or the order of the file."""
    from jobs.releases import order_tags

    times = [_read_time(label) for label in labels]
    if all(time is not None for time in times):
        placed = sorted(zip(times, labels, strict=True), key=lambda one: one[0] or "")
        return [[label] for _, label in placed], "by time"
    known = order_tags(labels)
    if not known.excluded and not known.nightlies:
        return known.order, "by version"
    if not known.excluded and not known.order:
        return known.nightlies, "by the date in the name"
    return [[label] for label in labels], "as in the file"


def _read_time(label: str) -> str | None:
    """Return the time in a form that sorts, None for what is no ISO 8601 time."""
    if not re.match(r"\d{4}-\d{2}-\d{2}", label):
        return None
    try:
        moment = datetime.fromisoformat(label)
    except ValueError:
        return None
    return f"{moment.timestamp():020.6f}" if moment.tzinfo else moment.isoformat()
