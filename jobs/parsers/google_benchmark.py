"""Reads Google Benchmark's JSON and CSV: real_time is a mean over iterations, in each entry's own time_unit.

Repetitions are one run where aggregates stand (mean and median over repetitions); cpu_time is not the latency.
Source: https://github.com/google/benchmark src/json_reporter.cc, csv_reporter.cc, 1.0 to 1.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._tables import read_tables
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number, is_text

TOOL = "google_benchmark"
AGGREGATES: Mapping[str, str] = {"mean": "latency_mean_ms", "median": "latency_p50_ms"}
OTHER_KEYS = frozenset(
    {
        *("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"),
        *("cpu_time", "bytes_per_second", "items_per_second", "cpu_coefficient", "real_coefficient", "rms"),
        *("allocs_per_iter", "max_bytes_used", "total_allocated_bytes", "net_heap_growth", "real_time"),
    }
)
_HEADER = ("name", "iterations", "real_time", "cpu_time", "time_unit")
_SUFFIX = re.compile(r"(?P<name>.+)_(?P<aggregate>mean|median|stddev|cv|min|max|BigO|RMS)")
_CONTEXT = ("num_cpus", "mhz_per_cpu", "library_build_type", "executable", "json_schema_version")


class GoogleBenchmark:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--benchmark_format json and csv of 1.x"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {"real_time": Key("latency_mean_ms", "ns")}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where benchmarks stand beside their context, or under the header of its CSV."""
        if ",".join(_HEADER) in content.sample:
            return TOOL
        outline = content.outline
        context = outline.get("context") if isinstance(outline, dict) else None
        return TOOL if isinstance(context, dict) and any(key in context for key in _CONTEXT) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a benchmark and repetition, or one a benchmark where there are aggregates."""
        entries, cut = _entries(content)
        runs = _runs_of(entries)
        if not any(run.metrics for run in runs):
            if cut:
                raise Cut("the table is cut before its first row")
            errors = [entry.get("error_message") or entry.get("skip_message") for entry in entries]
            texts = [str(error) for error in errors if error]
            raise Failed(f"no benchmark has a usable time{': ' + texts[0][:80] if texts else ''}")
        outcome = ParseOutcome.PARTIAL if cut else ParseOutcome.OK
        return ParseResult(
            tool=TOOL, outcome=outcome, reason="a row of the table is cut or foreign" if cut else "", runs=runs
        )


def _entries(content: Content) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """Return the benchmarks, and whether one is missing because the text is cut."""
    if content.sample.lstrip()[:1] == "{":
        document = content.document
        found = document.get("benchmarks") if isinstance(document, dict) else None
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise Refused("expected a list of objects under 'benchmarks'")
        return found, False
    text = content.whole()
    start = text.index(",".join(_HEADER))
    tables, cut = read_tables(Content.of_text(text[start:]))
    ragged = any(table.ragged for table in tables[:1])
    found = [row for row in tables[0].rows if row["name"] != "name"] if tables else []
    rows = [row for row in found if number_label(row["iterations"]) or _is_without_iterations(row)]
    return [_entry_of(row, {row["name"] for row in rows}) for row in rows], cut or ragged or len(rows) < len(found)


def _is_without_iterations(row: Mapping[str, str]) -> bool:
    """Return whether a row without iterations is one all the same: an error, or the fit of a family."""
    return row.get("error_occurred") in ("true", "false") or row["name"].endswith(("_BigO", "_RMS"))


def _entry_of(row: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    """Return a row of the CSV as an entry of the JSON; an aggregate is told by its name, and by one of its kin."""
    entry: dict[str, Any] = {
        key: Number(value) if number_label(value) is not None else value for key, value in row.items()
    }
    entry["name"] = entry["run_name"] = row["name"]
    entry["error_occurred"] = row.get("error_occurred") == "true" or bool(row.get("error_message"))
    match = _SUFFIX.fullmatch(row["name"])
    if match and {match["name"], f"{match['name']}_stddev", f"{match['name']}_BigO"} & {*names}:
        entry |= {"run_name": match["name"], "run_type": "aggregate", "aggregate_name": match["aggregate"]}
    return {key: value for key, value in entry.items() if value != ""}


def _runs_of(entries: Sequence[Mapping[str, Any]]) -> tuple[ParsedRun, ...]:
    aggregated = {_name(e) for e in entries if _is_aggregate(e) and e.get("aggregate_name") in AGGREGATES}
    runs: list[RunBuilder] = []
    by_name: dict[str, RunBuilder] = {}
    for entry in entries:
        name = _name(entry)
        if _is_aggregate(entry):
            if entry.get("aggregate_name") not in AGGREGATES:
                continue
        elif name in aggregated:
            continue
        if not _is_aggregate(entry) or name not in by_name:
            by_name[name] = RunBuilder()
            by_name[name].label("name", name)
            runs.append(by_name[name])
        _take(by_name[name], entry)
    return tuple(run.build() for run in runs)


def _take(run: RunBuilder, entry: Mapping[str, Any]) -> None:
    if entry.get("error_occurred") or entry.get("skipped"):
        run.flag("tool_errors")
        run.reject(
            "error_message", entry.get("error_message") or entry.get("skip_message"), "it did not run to its end"
        )
        return
    metric = AGGREGATES.get(str(entry.get("aggregate_name")), "latency_mean_ms")
    time, unit = entry.get("real_time"), entry.get("time_unit")
    if not is_text(unit):
        run.reject("real_time", time, "the entry has no time_unit")
    elif isinstance(time, Number):
        counted = entry.get("repetitions" if _is_aggregate(entry) else "iterations")
        samples = number_label(counted) if isinstance(counted, Number) else None
        positive = samples if isinstance(samples, int) and not isinstance(samples, bool) and samples > 0 else None
        run.take_as("real_time", metric, unit, time, samples=positive)
    for key, value in entry.items():
        if isinstance(value, Number) and key not in OTHER_KEYS:
            run.unknown(key, value, TOOL)


def _is_aggregate(entry: Mapping[str, Any]) -> bool:
    return entry.get("run_type") == "aggregate"


def _name(entry: Mapping[str, Any]) -> str:
    name = entry.get("run_name") or entry.get("name")
    return name if is_text(name) else ""


def create() -> GoogleBenchmark:
    """Return the parser."""
    return GoogleBenchmark()
