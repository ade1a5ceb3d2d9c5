"""Reads GenAI-Perf: its CSV (thousands separators, CRLF), its JSON export, and the CSV of `analyze`.

Its Inter Token Latency is one value a request: TPOT. Its energy is the mean of a counter that never starts at 0, so it
is not taken. Source: triton-inference-server/perf_analyzer genai-perf/genai_perf/export_data, subcommand/analyze.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._lines import PRINTED
from jobs.parsers._percentile_rows import (
    COLUMNS,
    Rows,
    columns_from_high,
    is_percentile_table,
    keys_of,
    plain_number,
    read_percentile_rows,
)
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import is_text

TOOL, ANALYZE = "genai_perf", "genai_perf_analyze"
TAGS = {"time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2e"}
SCALARS: Mapping[str, Key] = {
    "output_token_throughput": Key("output_tok_s", "tok/s"),
    "request_throughput": Key("req_s", "req/s"),
    "request_count": Key("requests_ok", "count"),
    "output_token_throughput_per_user": Key("tok_s_user", "tok/s/user"),
}
ROWS = Rows(
    tool=TOOL,
    families={tag.replace("_", " ").title(): family for tag, family in TAGS.items()},
    scalars={tag.replace("_", " ").title(): key for tag, key in SCALARS.items()},
    ignored=re.compile(
        r"Time To Second Token|Image .*|Request Goodput|.*Token Throughput Per Request|Num .*|.*Sequence Length"
    ),
)
_OTHER_TAGS = re.compile(r"time_to_second_token|image_\w+|request_goodput|\w+_per_request|num_\w+|\w+_sequence_length")
_COLUMN = re.compile(r"(?:(?P<statistic>p\d+|Avg\.) )?(?P<name>[^()]+?) \((?P<unit>[^()]+)\)")
_NUMBER = re.compile(PRINTED, re.IGNORECASE)
_LOADS = {"Concurrency": "concurrency", "Request Rate": "request_rate"}
_ANALYZE_LABELS = {**_LOADS, "ISL": "isl", "Num Dataset Entries": "dataset_entries"}
_POWER, _MEMORY = "gpu_power_usage", "gpu_memory_used"


class GenaiPerf:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL, ANALYZE)
    reads = "CSV and JSON export of 0.0.2 to 0.0.16, CSV of analyze"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {
        TOOL: {
            **keys_of(ROWS.families, ROWS.scalars),
            **{f"{tag}.{c}": Key(f"{name}_{s}_ms", "ms") for tag, name in TAGS.items() for s, c in COLUMNS.items()},
            **{f"{tag}.avg": key for tag, key in SCALARS.items()},
        },
        ANALYZE: {
            **{
                f"{percentile} {name} (ms)": Key(f"{family}_{percentile}_ms", "ms")
                for percentile in STATISTICS
                if percentile != "mean"
                for name, family in ROWS.families.items()
            },
            "Avg. Output Token Throughput (tokens/sec)": SCALARS["output_token_throughput"],
            "Request Throughput (requests/sec)": SCALARS["request_throughput"],
        },
    }

    def recognises(self, content: Content) -> str | None:
        """Return which of its outputs it is."""
        outline = content.outline
        if isinstance(outline, dict):
            return TOOL if _is_export(outline) else None
        header = first_line(content)
        if header.startswith(tuple(f"Config Name,{load}," for load in _LOADS)):
            return ANALYZE
        return TOOL if is_percentile_table(header) and columns_from_high(header) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a file, or one a configuration."""
        if content.outline is not None:
            return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(_read_export(content.document),))
        return _read_analyze(content) if tool == ANALYZE else read_percentile_rows(content, ROWS)


def create() -> GenaiPerf:
    """Return the parser."""
    return GenaiPerf()


def _is_export(outline: Mapping[str, Any]) -> bool:
    """Return whether a JSON is its export: AIPerf's is alike, but says whether it was cancelled."""
    config = outline.get("input_config")
    own = isinstance(config, dict) and {"model", "model_names", "formatted_model_name"} & config.keys()
    measured = (TAGS.keys() | SCALARS.keys()) & outline.keys()
    return bool(own and measured and not {"was_cancelled", "aiperf_version", "records"} & outline.keys())


def _read_export(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    _take_config(run, document["input_config"])
    for tag, entry in document.items():
        if not isinstance(entry, dict) or not is_text(entry.get("unit")):
            continue
        unit = entry["unit"]
        if tag in TAGS:
            for statistic, column in COLUMNS.items():
                run.take_as(f"{tag}.{column}", f"{TAGS[tag]}_{statistic}_ms", unit, entry.get(column))
        elif tag in SCALARS:
            run.take_as(f"{tag}.avg", SCALARS[tag].metric, unit or SCALARS[tag].unit, entry.get("avg"))
        elif tag in ("input_sequence_length", "output_sequence_length"):
            run.fact("isl_mean" if tag.startswith("input") else "osl_mean", entry.get("avg"))
        elif not _OTHER_TAGS.fullmatch(tag):
            run.unknown(f"{tag}.avg", entry.get("avg"), TOOL)
    _take_gpu(run, document.get("telemetry_stats"))
    if not run.metrics:
        raise Failed("the export holds no usable value: no request finished")
    return run.build()


def _take_config(run: RunBuilder, config: Mapping[str, Any]) -> None:
    models = config.get("model_names", config.get("model"))
    run.label("model", models[0] if isinstance(models, list) and len(models) == 1 else models)
    analyzer = config.get("perf_analyzer")
    stimulus = analyzer.get("stimulus") if isinstance(analyzer, dict) else None
    load = stimulus if isinstance(stimulus, dict) else config
    run.label("concurrency", load.get("concurrency"))
    run.label("request_rate", load.get("request_rate"))


def _take_gpu(run: RunBuilder, telemetry: Any) -> None:
    """Take mean power and peak memory, where telemetry saw one GPU: of several, some may have stood idle."""
    if not isinstance(telemetry, dict):
        return
    entries = {own: entry for own, entry in telemetry.items() if isinstance(entry, dict)}
    gpus = {name for entry in entries.values() for name in entry if name != "unit"}
    if len(gpus) != 1:
        return
    gpu = gpus.pop()
    for own, statistic, metric in ((_POWER, "avg", "power_w"), (_MEMORY, "max", "memory_gb")):
        values = entries.get(own, {}).get(gpu)
        if isinstance(values, dict):
            run.take_as(
                f"telemetry_stats.{own}.{statistic}", metric, str(entries[own].get("unit")), values.get(statistic)
            )


def _read_analyze(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    table = tables[0] if tables else None
    if table is None or "Config Name" not in table.header:
        raise Refused("expected a table with Config Name and Concurrency or Request Rate")
    rows = [row for row in table.rows if _is_whole(row)]
    runs: list[ParsedRun] = []
    for row in rows:
        run = RunBuilder()
        run.label("name", row["Config Name"])
        for column, value in row.items():
            if column in _ANALYZE_LABELS:
                run.label(_ANALYZE_LABELS[column], number_label(value))
            else:
                _take_column(run, column, value)
        if (built := run.build()) not in runs:
            runs.append(built)
    whole = not cut and len(rows) == len(table.rows) and not any(each.ragged for each in tables)
    if whole and not any(run.metrics for run in runs):
        raise Failed("no configuration has a usable value")
    return ParseResult(
        tool=ANALYZE,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else "the table is cut",
        runs=tuple(runs),
    )


def _is_whole(row: Mapping[str, str]) -> bool:
    """Return whether every cell beside the name is a number, as `analyze` writes them; else the row is damaged."""
    return all(_NUMBER.fullmatch(cell) for column, cell in row.items() if column != "Config Name")


def _take_column(run: RunBuilder, column: str, value: str) -> None:
    found = _COLUMN.fullmatch(column)
    if found is None:
        return
    name, unit, number = found["name"], found["unit"], plain_number(value)
    statistic = "mean" if found["statistic"] in ("Avg.", None) else found["statistic"]
    if name in ROWS.families and statistic in STATISTICS and found["statistic"]:
        run.take_as(column, f"{ROWS.families[name]}_{statistic}_ms", unit, number)
    elif name in ROWS.scalars and statistic == "mean":
        run.take_as(column, ROWS.scalars[name].metric, ROWS.scalars[name].unit if unit == "per sec" else unit, number)
    elif name not in ROWS.scalars and name not in ROWS.families and not ROWS.ignored.fullmatch(name):
        run.unknown(column, value, ANALYZE)
