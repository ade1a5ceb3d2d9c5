"""Reads the service's own CSV: one row a value, or one row a result with a column a metric (see README.md beside this).

Strict: an unknown column, a label that is none, or a metric given twice refuses the file with its line; a value that
is unknown, in a wrong unit or not believable is set aside.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.fingerprint import canonical_labels
from jobs.labels import IDENTITY_LABELS, LARGEST_COUNT, label_problem
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import CATALOGUE, Key
from jobs.parsers._tables import first_line
from jobs.run_builder import NOT_MEASURED, RunBuilder, number_label
from jobs.strict_json import shown

TOOL = "generic_csv"
LONG, LONG_ONLY = frozenset({"metric", "value"}), frozenset({"metric", "value", "unit", "samples", "spread"})
SHARED = frozenset({"version", "flags"})
_METRIC_COLUMN = re.compile(r"(?P<metric>\w+)(?: ?\[(?P<unit>[^\[\]]+)\])?")
_FACT = re.compile(r"fact:(?P<name>\w+)")
Row = Mapping[str, str]


class GenericCsv:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "the service's own CSV (see jobs/parsers/README.md)"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {}}

    def recognises(self, content: Content) -> str | None:
        """Return the id for a table with the columns metric and value, or one named after a metric with its unit."""
        header = {cell.strip() for cell in first_line(content).split(",")}
        named = any("_" in match["metric"] for match in map(_metric_of, header) if match)
        return TOOL if header >= LONG or (named and len(header) > 1) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each set of labels, in the order they appear."""
        rows, cut = _rows(content)
        version = _version(rows)
        runs: dict[str, _Run] = {}
        for line, row in rows:
            _check_tool(row, asked)
            labels = _labels(row, line)
            runs.setdefault(canonical_labels(labels), _Run(labels)).take(row, line)
        built = [run.build(truncated=cut and number == len(runs)) for number, run in enumerate(runs.values(), start=1)]
        reasons = [f"{it.key}: {it.reason}" for run in built for it in run.rejected]
        if not any(run.metrics for run in built):
            raise Cut("the table is cut before its first value") if cut else Failed("; ".join(reasons) or "no values")
        if cut:
            reasons.insert(0, "the last row is cut")
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.PARTIAL if reasons else ParseOutcome.OK,
            reason="; ".join(reasons[:3]) + (f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""),
            version=version,
            runs=tuple(built),
        )


def _metric_of(column: str) -> re.Match[str] | None:
    """Return the metric that a column is named after, with its unit in brackets; None if it is no metric's."""
    match = _METRIC_COLUMN.fullmatch(column)
    return match if match and match["metric"] in CATALOGUE else None


def _cells(line: str, number: int) -> list[str]:
    try:
        rows = list(csv.reader([line], strict=True))
    except csv.Error as error:
        raise Refused(f"line {number} is no row of a CSV: {error}") from error
    return [cell.strip() for cell in rows[0]]


def _rows(content: Content) -> tuple[list[tuple[int, Row]], bool]:
    """Return the rows with their lines, and whether an unended last one was left out; raise Refused for misfits."""
    lines = content.whole().split("\n")
    cut = bool(lines.pop().strip())
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise Cut("the table is cut in its header")
    header = _cells(numbered[0][1], numbered[0][0])
    _check_header(header)
    rows: list[tuple[int, Row]] = []
    for number, line in numbered[1:]:
        cells = _cells(line, number)
        if len(cells) != len(header):
            raise Refused(f"line {number}: expected {len(header)} cells as in the header, found {len(cells)}")
        rows.append((number, dict(zip(header, cells, strict=True))))
    return rows, cut


def _check_header(header: Sequence[str]) -> None:
    long = {*header} >= LONG
    named = LONG_ONLY if long else frozenset()
    for column in header:
        known = column in {*named, *SHARED, *IDENTITY_LABELS} or _FACT.fullmatch(column)
        if header.count(column) > 1:
            raise Refused(f"the column {column!r} stands twice")
        if not known and (long or not _metric_of(column)):
            near = get_close_matches(column, [*named, *SHARED, *IDENTITY_LABELS, *CATALOGUE], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "what only describes a run is a column fact:NAME"
            raise Refused(f"unknown column {shown(column)!r}; {hint}")


def _check_tool(row: Row, asked: Mapping[str, Label]) -> None:
    if row.get("tool") and row["tool"] != asked.get("tool", row["tool"]):
        raise Refused(f"expected a result of {asked['tool']}, found one of {shown(row['tool'])}")


def _labels(row: Row, line: int) -> dict[str, Label]:
    """Return a row's labels: texts, or numbers where the label is one; raise Refused for a misfit."""
    labels: dict[str, Label] = {}
    for name in IDENTITY_LABELS:
        text = row.get(name, "")
        if not text:
            continue
        number = number_label(text) if label_problem(name, text) and "," not in text else None
        value = text if number is None else number
        if problem := label_problem(name, value):
            raise Refused(f"line {line}: {problem}")
        labels[name] = value
    return labels


def _version(rows: Sequence[tuple[int, Row]]) -> str | None:
    versions = {row["version"] for _, row in rows if row.get("version")}
    if len(versions) > 1:
        raise Refused(f"expected one version in a file, found {', '.join(sorted(versions)[:3])}")
    return next(iter(versions), None)


class _Run:
    """One run in the making; a metric may be given once."""

    def __init__(self, labels: Mapping[str, Label]) -> None:
        self._builder = RunBuilder()
        self._lines: dict[str, int] = {}
        for name, value in labels.items():
            self._builder.label(name, value)

    def take(self, row: Row, line: int) -> None:
        for flag in row.get("flags", "").split():
            self._builder.flag(flag)
        for column, text in row.items():
            if fact := _FACT.fullmatch(column):
                number = number_label(text) if "," not in text else None
                self._builder.fact(fact["name"], text if number is None else number)
        entries = list(_entries(row))
        if entries and all(_is_foreign(metric, text, long="metric" in row) for _, metric, text in entries):
            raise Refused(f"line {line}: expected numbers, found {shown(entries[0][2])!r}")
        for unit, metric, text in entries:
            if metric in self._lines:
                raise Refused(f"line {line}: {metric} stands in line {self._lines[metric]} with the same labels")
            self._lines[metric] = line
            self._take(row, unit, metric, text)

    def _take(self, row: Row, unit: str, metric: str, text: str) -> None:
        if metric not in CATALOGUE:
            near = get_close_matches(metric, CATALOGUE, n=1)
            self._builder.reject(metric, text, f"unknown metric{f'; did you mean {near[0]}?' if near else ''}", unit)
            return
        counted = row.get("samples") or None
        samples = number_label(counted) if counted and counted.isdecimal() else None
        if counted and (not isinstance(samples, int) or not 1 <= samples <= LARGEST_COUNT):
            self._builder.reject(metric, text, f"'samples' must be a whole number from 1, found {shown(counted)}", unit)
            return
        chosen = samples if isinstance(samples, int) else None
        unit = unit or CATALOGUE[metric].unit
        self._builder.take_as(metric, metric, unit, text, samples=chosen, spread=row.get("spread") or None)

    def build(self, *, truncated: bool) -> ParsedRun:
        if truncated:
            self._builder.flag("truncated")
        return self._builder.build()


def _entries(row: Row) -> Iterator[tuple[str, str, str]]:
    """Yield unit, metric and value of a row: one where it names a metric, else one a metric's column."""
    if "metric" in row:
        yield row.get("unit", ""), row["metric"], row["value"]
        return
    for column, text in row.items():
        if match := _metric_of(column):
            yield match["unit"] or "", match["metric"], text


def _is_foreign(metric: str, text: str, *, long: bool) -> bool:
    """Return whether neither the value is a number nor, where the row names it, the metric is known."""
    number = number_label(text) is not None or text.lower() in NOT_MEASURED
    return not number and not (long and metric in CATALOGUE)


def create() -> GenericCsv:
    """Return the parser."""
    return GenericCsv()
