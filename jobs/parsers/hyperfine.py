"""Reads hyperfine's `--export-json`: one result a command, in seconds.

Source: https://github.com/sharkdp/hyperfine src/benchmark/benchmark_result.rs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder

TOOL = "hyperfine"
KEYS: Mapping[str, Key] = {"mean": Key("latency_mean_ms", "s"), "median": Key("latency_p50_ms", "s")}
OTHER_KEYS = frozenset(
    {"command", "stddev", "user", "system", "min", "max", "times", "exit_codes", "memory_usage_byte", "parameters"}
)


class Hyperfine:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--export-json of 1.x"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where results have a command and times."""
        outline = content.outline
        results = outline.get("results") if isinstance(outline, dict) else None
        first = results[0] if isinstance(results, list) and results else None
        return TOOL if isinstance(first, dict) and {"command", "mean"} <= first.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a command; Failed where every command exited with an error."""
        results = content.document["results"]
        if not all(isinstance(result, dict) for result in results):
            raise Refused("expected a list of objects under 'results'")
        runs = tuple(_read(result) for result in results)
        if not any(run.metrics for run in runs):
            raise Failed("no command has a usable time")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=runs)


def _read(result: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    run.label("name", result.get("command"))
    times = result.get("times")
    samples = len(times) if isinstance(times, list) and times else None
    failed = [code for code in result.get("exit_codes") or () if code != "0"]
    if failed:
        run.flag("tool_errors")
    for key, value in result.items():
        if key in KEYS:
            run.take(key, KEYS[key], value, samples=samples)
        elif key not in OTHER_KEYS:
            run.unknown(key, value, TOOL)
    return run.build()


def create() -> Hyperfine:
    """Return the parser."""
    return Hyperfine()
