"""Reads the service's own CSV: one row a value, with the columns metric, value, and more (see README.md beside this).

Strict: an unknown column, metric or unit sets the row aside; rows with the same labels are one run.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.fingerprint import canonical_labels
from jobs.labels import IDENTITY_LABELS
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import CATALOGUE, Key
from jobs.parsers._tables import Table, first_line, read_tables
from jobs.run_builder import RunBuilder, number_label

TOOL = "generic_csv"
_COLUMNS = frozenset({"metric", "value", "unit", "samples"})


class GenericCsv:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "the service's own CSV (see jobs/parsers/README.md)"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {}}

    def recognises(self, content: Content) -> str | None:
        """Return the id for a table with the columns metric and value."""
        header = {cell.strip() for cell in first_line(content).split(",")}
        return TOOL if {"metric", "value"} <= header else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each set of labels, in the order they appear."""
        tables, cut = read_tables(content)
        if len(tables) != 1:
            raise Refused(f"expected one table without blank lines, found {len(tables)}")
        table = tables[0]
        unknown = [c for c in table.header if c not in _COLUMNS and c not in IDENTITY_LABELS]
        if unknown or len(set(table.header)) < len(table.header):
            raise Refused(f"expected the columns metric, value, unit, samples and labels, each once, found {unknown}")
        runs = _runs_of(table)
        built = tuple(run.build() for run in runs.values())
        whole = not cut and not table.ragged
        if not any(run.metrics for run in built) and whole:
            raise Failed("no row has a usable value")
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
            reason="" if whole else "the table is cut, or a row has not as many cells as the header",
            runs=built,
        )


def create() -> GenericCsv:
    """Return the parser."""
    return GenericCsv()


def _runs_of(table: Table) -> dict[str, RunBuilder]:
    runs: dict[str, RunBuilder] = {}
    for row in table.rows:
        labels: dict[str, Label] = {
            name: value if (number := number_label(value)) is None else number
            for name, value in row.items()
            if name in IDENTITY_LABELS and value
        }
        place = canonical_labels(labels)
        run = runs.get(place)
        if run is None:
            run = runs[place] = RunBuilder()
            for name, value in labels.items():
                run.label(name, value)
        _take(run, row)
    return runs


def _take(run: RunBuilder, row: Mapping[str, str]) -> None:
    metric = row["metric"]
    if metric not in CATALOGUE:
        run.reject(metric, row["value"], "no metric of the catalogue has this name", row.get("unit", ""))
        return
    samples = number_label(row.get("samples", ""))
    run.take_as(
        metric,
        metric,
        row.get("unit") or CATALOGUE[metric].unit,
        row["value"],
        samples=samples if isinstance(samples, int) and samples > 0 else None,
    )
