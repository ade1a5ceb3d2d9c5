"""Reads GenAI-Perf: its CSV (thousands separators, CRLF), its JSON export, and the CSV of `analyze`.

Its Inter Token Latency is one value a request: TPOT. Source: triton-inference-server/perf_analyzer genai-perf/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._lines import without_thousands
from jobs.parsers._percentile_rows import columns_from_high, is_percentile_table, keys_of, read_percentile_rows
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number

TOOL, ANALYZE = "genai_perf", "genai_perf_analyze"
FAMILIES = {
    "Time To First Token": "ttft",
    "Inter Token Latency": "tpot",
    "Request Latency": "e2e",
}
SCALARS: Mapping[str, Key] = {
    "Output Token Throughput": Key("output_tok_s", "tok/s"),
    "Request Throughput": Key("req_s", "req/s"),
    "Request Count": Key("requests_ok", "count"),
    "Output Token Throughput Per User": Key("tok_s_user", "tok/s/user"),
}
JSON_FAMILIES = {"time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2e"}
JSON_SCALARS: Mapping[str, Key] = {
    "output_token_throughput": Key("output_tok_s", "tok/s"),
    "request_throughput": Key("req_s", "req/s"),
    "request_count": Key("requests_ok", "count"),
    "output_token_throughput_per_user": Key("tok_s_user", "tok/s/user"),
}
_IGNORED = re.compile(r"Time To Second Token|GPU .*|.*Telemetry.*|Image .*|.* Count|Energy .*|Power .*")
_ANALYZE = re.compile(
    r"(?P<what>p\d+|Avg\.) (?P<name>[^()]+?) \((?P<unit>[^()]+)\)|(?P<rate>Request Throughput) \(.*\)"
)
_ANALYZE_LABELS = {"Concurrency": "concurrency", "ISL": "isl", "Num Dataset Entries": "dataset_entries"}
_ANALYZE_KEYS = {
    f"{percentile} {name} (ms)": Key(f"{family}_{percentile}_ms", "ms")
    for percentile in ("p50", "p90", "p95", "p99")
    for name, family in FAMILIES.items()
}


class GenaiPerf:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL, ANALYZE)
    reads = "CSV and JSON export of 0.0.2 to 0.0.16, CSV of analyze"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {
        TOOL: {**keys_of(FAMILIES, SCALARS), **JSON_SCALARS},
        ANALYZE: _ANALYZE_KEYS,
    }

    def recognises(self, content: Content) -> str | None:
        """Return which of its outputs it is."""
        outline = content.outline
        if isinstance(outline, dict):
            plain = {"input_config", "request_throughput"} <= outline.keys() and "aiperf_version" not in outline
            return TOOL if plain and "records" not in outline and "benchmark_id" not in outline else None
        header = first_line(content)
        if header.startswith("Config Name,Concurrency"):
            return ANALYZE
        return TOOL if is_percentile_table(header) and columns_from_high(header) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a file, or a configuration."""
        if content.outline is not None:
            return _read_export(content.document)
        if tool == ANALYZE:
            return _read_analyze(content)
        return read_percentile_rows(content, TOOL, FAMILIES, SCALARS, _IGNORED)


def create() -> GenaiPerf:
    """Return the parser."""
    return GenaiPerf()


def _read_analyze(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    table = tables[0] if tables else None
    if table is None or "Config Name" not in table.header:
        raise Refused("expected a table with Config Name and Concurrency")
    runs = []
    for row in table.rows:
        run = RunBuilder()
        run.label("name", row["Config Name"])
        for own, name in _ANALYZE_LABELS.items():
            run.label(name, number_label(row.get(own, "")))
        for column, value in row.items():
            _take_column(run, column, value)
        runs.append(run.build())
    whole = not cut and not table.ragged
    return ParseResult(
        tool=ANALYZE,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else "the table is cut",
        runs=tuple(runs),
    )


def _take_column(run: RunBuilder, column: str, value: str) -> None:
    found = _ANALYZE.fullmatch(column)
    number = without_thousands(value)
    if found is None:
        return
    if found["rate"]:
        run.take(column, SCALARS["Request Throughput"], number)
        return
    statistic = "mean" if found["what"] == "Avg." else found["what"]
    if found["name"] in FAMILIES and statistic in STATISTICS:
        run.take_as(column, f"{FAMILIES[found['name']]}_{statistic}_ms", found["unit"], number)
    elif found["name"] == "Output Token Throughput" and statistic == "mean":
        run.take(column, SCALARS["Output Token Throughput"], number)


def _read_export(document: Any) -> ParseResult:
    if not isinstance(document, dict):
        raise Refused("expected an object")
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(_read_document(document),))


def _read_document(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    config = document.get("input_config")
    if isinstance(config, dict):
        model = config.get("model", config.get("model_names"))
        run.label("model", model[0] if isinstance(model, list) and model else model)
        run.label("concurrency", config.get("concurrency"))
    for own, entry in document.items():
        if not isinstance(entry, dict) or "unit" not in entry:
            continue
        if own in JSON_FAMILIES:
            for statistic, column in {"mean": "avg", **{s: s for s in STATISTICS if s != "mean"}}.items():
                run.take(
                    f"{own}.{column}",
                    Key(f"{JSON_FAMILIES[own]}_{statistic}_ms", str(entry["unit"])),
                    entry.get(column),
                )
        elif own in JSON_SCALARS:
            run.take(f"{own}.avg", JSON_SCALARS[own], entry.get("avg"))
        elif own in ("input_sequence_length", "output_sequence_length") and isinstance(entry.get("avg"), Number):
            run.fact("isl_mean" if own.startswith("input") else "osl_mean", entry["avg"])
    return run.build()
