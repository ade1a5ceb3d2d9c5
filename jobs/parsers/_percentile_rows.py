"""The table that GenAI-Perf and AIPerf share: one row a metric with its unit in the name, one column a statistic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._tables import Table, read_tables
from jobs.run_builder import RunBuilder, number_label

COLUMNS: Mapping[str, str] = {"mean": "avg", **{name: name for name in STATISTICS if name != "mean"}}
_NAMED = re.compile(r"(?P<name>[^()]+?)(?: \((?P<unit>[^()]+)\))?")
_SAME_UNIT = frozenset({None, "per sec", "count", "requests"})
"""How a row may name the metric's own unit, or leave it out."""
_POWER = re.compile(r"GPU Power Usage \(W\)")
_MEMORY = re.compile(r"GPU Memory Used \(GB\)")
_ORDERS = ([("avg",), ("Value",)], [("avg",)], [("Value",)])
"""What may stand in one file: percentiles, then single values; one alone where it is cut or no request finished."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What one tool calls its rows: `families` latencies, `scalars` a metric each, `ignored` known and unused."""

    tool: str
    families: Mapping[str, str]
    scalars: Mapping[str, Key]
    ignored: re.Pattern[str]


def read_percentile_rows(content: Content, rows: Rows) -> ParseResult:
    """Return the one run of a table; rows of lengths become facts, unknown rows are set aside.

    Raises Refused for two tables of percentiles in one file, Failed where no request finished.
    """
    tables, cut = read_tables(content)
    results = [table for table in tables if table.header[:1] == ("Metric",) and "GPU" not in table.header]
    if [table.header[1:2] for table in results] not in _ORDERS:
        raise Refused("the tables of more than one result in one file: nobody can tell which result a row belongs to")
    run = RunBuilder()
    for row in _rows_once(results, run):
        _take_row(run, row, rows)
    _take_gpu(run, tables)
    whole = any(table.header[:2] == ("Metric", "Value") for table in results)
    problem = "" if whole and not cut and not any(table.ragged for table in tables) else "the table is cut"
    if problem:
        run.flag("truncated")
    elif not set(run.metrics) - {"requests_failed"}:
        raise Failed("no request finished: the table holds no usable value")
    built = run.build()
    outcome = ParseOutcome.PARTIAL if problem else ParseOutcome.OK
    runs = (built,) if set(built.metrics) - {"requests_failed"} else ()
    return ParseResult(tool=rows.tool, outcome=outcome, reason=problem, runs=runs)


def _rows_once(tables: Sequence[Table], run: RunBuilder) -> Iterator[Mapping[str, str]]:
    """Yield the rows; one whose name stands twice with other cells is set aside, since either may be wrong."""
    rows = [row for table in tables for row in table.rows]
    different = Counter(name for name, _ in {(row["Metric"], tuple(row.values())) for row in rows})
    for row in rows:
        if different[row["Metric"]] == 1:
            yield row
        else:
            run.reject(row["Metric"], row.get("Value", row.get("avg", "")), "this row stands twice, with other values")


def _take_row(run: RunBuilder, row: Mapping[str, str], rows: Rows) -> None:
    named = _NAMED.fullmatch(row["Metric"])
    name, unit = (named["name"], named["unit"]) if named else (row["Metric"], None)
    column = "Value" if "Value" in row else "avg"
    if name in rows.families and column == "avg":
        for statistic, own in COLUMNS.items():
            metric = f"{rows.families[name]}_{statistic}_ms"
            run.take_as(f"{row['Metric']} {own}", metric, unit or "no unit", plain_number(row.get(own, "")))
    elif name in rows.scalars:
        key = rows.scalars[name]
        own = row["Metric"] if column == "Value" else f"{row['Metric']} avg"
        run.take_as(own, key.metric, key.unit if unit in _SAME_UNIT else str(unit), plain_number(row.get(column, "")))
    elif name in ("Input Sequence Length", "Output Sequence Length") and column == "avg":
        mean = number_label(plain_number(row[column]))
        run.fact("isl_mean" if name.startswith("Input") else "osl_mean", mean)
    elif not rows.ignored.fullmatch(name):
        run.unknown(f"{row['Metric']} {column}", row.get(column), rows.tool)


def _take_gpu(run: RunBuilder, tables: Sequence[Table]) -> None:
    """Take power and peak memory of a table of GPUs, where it is whole (another table follows) and has one GPU."""
    for table, _ in pairwise(tables):
        if table.header[:3] != ("Metric", "GPU", "avg") or len({row["GPU"] for row in table.rows}) != 1:
            continue
        for row in table.rows:
            if _POWER.fullmatch(row["Metric"]):
                run.take(f"{row['Metric']} avg", Key("power_w", "W"), plain_number(row["avg"]))
            elif _MEMORY.fullmatch(row["Metric"]):
                run.take(f"{row['Metric']} max", Key("memory_gb", "GB"), plain_number(row.get("max", "")))


def plain_number(text: str) -> str:
    """Return the number without thousands separators; `1,146` stays as it is, since both tools write decimals."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text.strip()) else text


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
