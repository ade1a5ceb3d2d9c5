"""Reads Google Benchmark's JSON: real_time is a mean over iterations, in each entry's own time_unit.

With repetitions the aggregates count, where they stand; cpu_time is not the latency.
Source: https://github.com/google/benchmark src/json_reporter.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder

TOOL = "google_benchmark"
AGGREGATES = {"mean": "latency_mean_ms", "median": "latency_p50_ms"}


class GoogleBenchmark:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--benchmark_format=json of 1.x"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {"real_time": Key("latency_mean_ms", "ns")}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where benchmarks stand beside their context."""
        outline = content.outline
        own = isinstance(outline, dict) and isinstance(outline.get("context"), dict)
        return TOOL if own and {"num_cpus", "library_build_type", "executable"} & outline["context"].keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a benchmark and repetition, or one a benchmark where there are aggregates."""
        document = content.document
        entries = document.get("benchmarks") if isinstance(document, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise Refused("expected a list of objects under 'benchmarks'")
        runs = _runs_of(entries)
        built = tuple(run.build() for run in runs)
        if not any(run.metrics for run in built):
            raise Failed("no benchmark has a usable time")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=built)


def create() -> GoogleBenchmark:
    """Return the parser."""
    return GoogleBenchmark()


def _runs_of(entries: Sequence[Mapping[str, Any]]) -> list[RunBuilder]:
    aggregated = {_name(entry) for entry in entries if entry.get("run_type") == "aggregate"}
    runs: list[RunBuilder] = []
    by_name: dict[str, RunBuilder] = {}
    for entry in entries:
        name, aggregate = _name(entry), entry.get("aggregate_name")
        if entry.get("run_type") == "aggregate":
            if aggregate not in AGGREGATES:
                continue
            run = by_name.get(name)
        elif name in aggregated:
            continue
        else:
            run = None
        if run is None:
            run = by_name[name] = RunBuilder()
            run.label("name", name)
            runs.append(run)
        if entry.get("error_occurred"):
            run.flag("tool_errors")
            continue
        metric = AGGREGATES[str(aggregate)] if aggregate in AGGREGATES else "latency_mean_ms"
        run.take_as("real_time", metric, str(entry.get("time_unit", "ns")), entry.get("real_time"))
    return runs


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("run_name") or entry.get("name") or "")
