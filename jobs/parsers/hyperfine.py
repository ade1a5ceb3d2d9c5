"""Reads hyperfine's `--export-json` and `--export-csv`: one result a command, in seconds.

Source: https://github.com/sharkdp/hyperfine src/benchmark/benchmark_result.rs, src/export/csv.rs.
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
from jobs.strict_json import is_text, shown

TOOL = "hyperfine"
KEYS: Mapping[str, Key] = {"mean": Key("latency_mean_ms", "s"), "median": Key("latency_p50_ms", "s")}
OTHER_KEYS = frozenset(
    {
        *("command", "stddev", "user", "system", "min", "max", "times", "exit_codes"),
        *("memory_usage_byte", "parameter", "parameters"),
    }
)
_HEADER = "command,mean,stddev,"


class Hyperfine:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "--export-json and --export-csv of 1.x"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where results have a command and times."""
        if first_line(content).startswith(_HEADER):
            return TOOL
        outline = content.outline
        results = outline.get("results") if isinstance(outline, dict) else None
        first = results[0] if isinstance(results, list) and results else None
        return TOOL if isinstance(first, dict) and {"command", "mean"} <= first.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a command; Failed where none has a usable time."""
        results, cut = _rows(content) if first_line(content).startswith(_HEADER) else (_results(content), False)
        runs = tuple(_read(result) for result in results)
        if not any(run.metrics for run in runs):
            raise Cut("the table is cut before its first row") if cut else Failed("no command has a usable time")
        outcome = ParseOutcome.PARTIAL if cut else ParseOutcome.OK
        return ParseResult(tool=TOOL, outcome=outcome, reason="a row is cut or foreign" if cut else "", runs=runs)


def _results(content: Content) -> list[Mapping[str, Any]]:
    document = content.document
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise Refused(f"expected a list of objects under 'results', found {shown(results)}")
    return results


def _rows(content: Content) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the rows of the CSV whose times are all numbers, and whether others were left out."""
    tables, cut = read_tables(content)
    rows = [row for row in tables[0].rows if row["command"] != "command"] if tables else []
    own = [row for row in rows if all(number_label(row.get(key, "0")) is not None for key in ("mean", "median", "max"))]
    return [{key: value for key, value in row.items() if not key.startswith("parameter_")} for row in own], cut or len(
        own
    ) < len(rows) or any(table.ragged for table in tables[:1])


def _read(result: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    command, times, codes = result.get("command"), result.get("times"), result.get("exit_codes")
    run.label("name", command if is_text(command) else None)
    samples = len(times) if isinstance(times, list) and times else None
    if isinstance(codes, list) and any(code != "0" for code in codes):
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
