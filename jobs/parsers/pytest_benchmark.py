"""Reads pytest-benchmark's JSON, of 2015 to now: one run a test, in seconds. `version` is the plugin's own.

Source: https://github.com/ionelmc/pytest-benchmark src/pytest_benchmark/fixture.py, session.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number

TOOL = "pytest_benchmark"
KEYS: Mapping[str, Key] = {"stats.mean": Key("latency_mean_ms", "s"), "stats.median": Key("latency_p50_ms", "s")}
_OTHERS = frozenset(
    {
        *("min", "max", "stddev", "rounds", "iterations", "iqr", "q1", "q3", "ops", "total"),
        *("iqr_outliers", "stddev_outliers", "ld15iqr", "hd15iqr"),
    }
)


class PytestBenchmark:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--benchmark-json of 2.5 to 5"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where benchmarks stand beside facts of the machine."""
        outline = content.outline
        own = isinstance(outline, dict) and "machine_info" in outline
        return TOOL if own and ("benchmarks" in outline or "commit_info" in outline) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a test."""
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


def create() -> PytestBenchmark:
    """Return the parser."""
    return PytestBenchmark()


def _read(entry: Any) -> ParsedRun:
    stats = entry.get("stats") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(stats, dict):
        raise Refused("expected benchmarks with a fullname and stats")
    run = RunBuilder()
    run.label("name", entry.get("fullname") or entry.get("name"))
    rounds = stats.get("rounds")
    samples = int(rounds) if isinstance(rounds, Number) and rounds.isdigit() else None
    for own, value in stats.items():
        if f"stats.{own}" in KEYS:
            run.take(f"stats.{own}", KEYS[f"stats.{own}"], value, samples=samples)
        elif isinstance(value, Number) and own not in _OTHERS:
            run.unknown(f"stats.{own}", value, TOOL)
    return run.build()
