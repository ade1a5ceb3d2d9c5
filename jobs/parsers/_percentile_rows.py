"""The table that GenAI-Perf and AIPerf share: one row a metric with its unit in the name, one column a statistic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._lines import without_thousands
from jobs.parsers._tables import read_tables
from jobs.run_builder import RunBuilder, number_label

COLUMNS: Mapping[str, str] = {"mean": "avg", **{name: name for name in STATISTICS if name != "mean"}}
_NAMED = re.compile(r"(?P<name>[^()]+?)(?: \((?P<unit>[^()]+)\))?")
_TIMES = {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s"}


def read_percentile_rows(
    content: Content, tool: str, families: Mapping[str, str], scalars: Mapping[str, Key], ignored: re.Pattern[str]
) -> ParseResult:
    """Return the one run of a table; `families` maps a row's name to a latency family, `scalars` one to its key.

    Rows of lengths become facts; other rows that `ignored` does not match are set aside.
    """
    tables, cut = read_tables(content)
    heads = [table for table in tables if table.header[:1] == ("Metric",) and "avg" in table.header]
    if len(heads) > 1:
        raise Refused("two tables of percentiles in one file: nobody can tell which result a row belongs to")
    run = RunBuilder()
    for table in tables:
        if table.header[:1] != ("Metric",):
            continue
        for row in table.rows:
            _take_row(run, row, tool, families, scalars, ignored)
    has_values = any(table.header[:2] == ("Metric", "Value") for table in tables)
    ragged = any(table.ragged for table in tables)
    problem = "" if has_values and not cut and not ragged else "the table is cut"
    if problem:
        run.flag("truncated")
    built = run.build()
    if built.metrics.get("requests_failed") and built.metrics["requests_failed"].value > 0:
        run.flag("requests_failed")
        built = run.build()
    outcome = ParseOutcome.PARTIAL if problem else ParseOutcome.OK
    return ParseResult(tool=tool, outcome=outcome, reason=problem, runs=(built,) if built.metrics else ())


def _take_row(
    run: RunBuilder,
    row: Mapping[str, str],
    tool: str,
    families: Mapping[str, str],
    scalars: Mapping[str, Key],
    ignored: re.Pattern[str],
) -> None:
    named = _NAMED.fullmatch(row["Metric"])
    name, unit = (named["name"], named["unit"]) if named else (row["Metric"], None)
    if name in families:
        for statistic, column in COLUMNS.items():
            if unit in _TIMES and column in row:
                key = Key(f"{families[name]}_{statistic}_ms", _TIMES[unit])
                run.take(f"{row['Metric']} {column}", key, without_thousands(row[column]))
            elif column in row:
                run.reject(f"{row['Metric']} {column}", row[column], f"unknown unit {unit!r} of a time")
    elif name in scalars:
        column = "Value" if "Value" in row else "avg"
        own = row["Metric"] if column == "Value" else f"{row['Metric']} avg"
        run.take(own, scalars[name], without_thousands(row.get(column, "")))
    elif name in ("Input Sequence Length", "Output Sequence Length") and "avg" in row:
        run.fact("isl_mean" if name.startswith("Input") else "osl_mean", number_label(row["avg"]))
    elif not ignored.fullmatch(name):
        column = "Value" if "Value" in row else "avg"
        run.unknown(f"{row['Metric']} {column}", row.get(column), tool)


def is_percentile_table(header: str) -> bool:
    """Return whether a first line is the header of such a table, AIPerf's or GenAI-Perf's."""
    return header.startswith("Metric,avg,")


def keys_of(families: Mapping[str, str], scalars: Mapping[str, Key]) -> dict[str, Key]:
    """Return the keys as the table writes them, for the list of what is read."""
    times = {
        f"{name} (ms) {column}": Key(f"{family}_{statistic}_ms", "ms")
        for name, family in families.items()
        for statistic, column in COLUMNS.items()
    }
    return {**times, **scalars}


def columns_from_high(header: str) -> bool:
    """Return whether percentiles run from p99 down, as GenAI-Perf writes them; AIPerf runs from p1 up."""
    cells: Sequence[str] = header.split(",")
    return "p99" in cells and "p25" in cells and cells.index("p99") < cells.index("p25")
