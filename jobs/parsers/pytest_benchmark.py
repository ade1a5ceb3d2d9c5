"""Reads pytest-benchmark's JSON, of 2015 to now, and its CSV: one run a test, in seconds.

`version` in the JSON is the plugin's own.
Source: https://github.com/ionelmc/pytest-benchmark src/pytest_benchmark/stats.py, session.py, csv.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number, is_text, shown

TOOL = "pytest_benchmark"
KEYS: Mapping[str, Key] = {"stats.mean": Key("latency_mean_ms", "s"), "stats.median": Key("latency_p50_ms", "s")}
OTHER_KEYS = frozenset(
    {
        *("min", "max", "stddev", "rounds", "iterations", "iqr", "q1", "q3", "ops", "total"),
        *("iqr_outliers", "stddev_outliers", "outliers", "ld15iqr", "hd15iqr", "data"),
    }
)
_NUMBERS = ("mean", "median", "rounds", "iterations", "min", "max")
_COLUMNS = OTHER_KEYS | {"mean", "median"}


class PytestBenchmark:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--benchmark-json and saved runs of 2.5 to 5.x, and the CSV of pytest-benchmark compare"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where benchmarks stand beside facts of the machine, or have its own statistics."""
        if _is_table(content):
            return TOOL
        outline = content.outline
        if not isinstance(outline, dict):
            return None
        if isinstance(outline.get("machine_info"), dict) and ("benchmarks" in outline or "commit_info" in outline):
            return TOOL
        entries = outline.get("benchmarks")
        first = entries[0] if isinstance(entries, list) and entries else None
        stats = first.get("stats") if isinstance(first, dict) and "fullname" in first else None
        return TOOL if isinstance(stats, dict) and {"iqr", "ld15iqr", "outliers"} & stats.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a test."""
        if _is_table(content):
            return _read_table(content)
        document = content.document
        benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
        if not isinstance(benchmarks, list):
            raise Refused("expected a list under 'benchmarks'")
        if not benchmarks:
            raise Failed("no test was measured: 'benchmarks' is empty")
        runs = tuple(_read(entry) for entry in benchmarks)
        if not any(run.metrics for run in runs):
            raise Failed("no test has a usable time")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=runs)


def _read(entry: Any) -> ParsedRun:
    stats = entry.get("stats") if isinstance(entry, dict) else None
    if not isinstance(stats, dict):
        raise Refused(f"expected benchmarks with a fullname and stats, found {shown(entry)}")
    run = RunBuilder()
    name = entry.get("fullname") or entry.get("name")
    run.label("name", name if is_text(name) else None)
    _take(run, stats)
    return run.build()


def _take(run: RunBuilder, stats: Mapping[str, Any]) -> None:
    rounds = stats.get("rounds")
    samples = int(rounds) if isinstance(rounds, str) and rounds.isdecimal() and len(rounds) < 16 else None
    for own, value in stats.items():
        key = KEYS.get(f"stats.{own}")
        if key is not None and isinstance(value, str):
            run.take(f"stats.{own}", key, value, samples=samples or None)
        elif isinstance(value, Number) and own not in OTHER_KEYS:
            run.unknown(f"stats.{own}", value, TOOL)


def _is_table(content: Content) -> bool:
    header = first_line(content).split(",")
    columns = [column for column in header[1:] if not column.startswith("param:")]
    own = {"iqr", "outliers", "rounds", "iterations", "ld15iqr", "ops"} & {*columns}
    return header[0] == "name" and len(own) >= 2 and {*columns} <= _COLUMNS


def _read_table(content: Content) -> ParseResult:
    """Return one run a row of the CSV, in which parameters stand apart from the name."""
    tables, cut = read_tables(content)
    runs = []
    rows = tables[0].rows if tables else ()
    foreign = [row for row in rows if not any(number_label(row[column]) for column in _NUMBERS if column in row)]
    for row in rows:
        if row in foreign:
            continue
        run = RunBuilder()
        params = [f"{column[6:]}={value}" for column, value in row.items() if column.startswith("param:") and value]
        run.label("name", row["name"] + (f"[{', '.join(params)}]" if params else ""))
        _take(run, {column: value for column, value in row.items() if column in _COLUMNS})
        runs.append(run.build())
    partial = cut or bool(foreign) or any(table.ragged for table in tables[:1])
    if not any(run.metrics for run in runs):
        raise Cut("the table is cut before its first row") if partial else Failed("no test has a usable time")
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if partial else ParseOutcome.OK,
        reason="a row of the table is cut or foreign" if partial else "",
        runs=tuple(runs),
    )


def create() -> PytestBenchmark:
    """Return the parser."""
    return PytestBenchmark()
