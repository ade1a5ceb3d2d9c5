"""Reads AIPerf: its JSON export (early `records` and later top level), its CSV, and its records of each request.

Its inter_token_latency is one value a request: TPOT; inter_chunk_latency is nearest to ITL. request_count leaves out
errors. aiperf_version is the load generator's, not the server's. Source: ai-dynamo/aiperf exporters.
"""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused, UserError
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._percentile_rows import columns_from_high, is_percentile_table, keys_of, read_percentile_rows
from jobs.parsers._tables import first_line
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, decode, is_text
from jobs.units import convert

TOOL = "aiperf"
TAGS = {
    "time_to_first_token": "ttft",
    "ttft": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}
SCALARS: Mapping[str, Key] = {
    "output_token_throughput": Key("output_tok_s", "tok/s"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "request_throughput": Key("req_s", "req/s"),
    "output_token_throughput_per_user": Key("tok_s_user", "tok/s/user"),
    "request_count": Key("requests_ok", "count"),
    "error_request_count": Key("requests_failed", "count"),
}
ROWS = {
    "Time to First Token": "ttft",
    "Inter Token Latency": "tpot",
    "Inter Chunk Latency": "itl",
    "Request Latency": "e2e",
}
ROW_SCALARS: Mapping[str, Key] = {
    "Output Token Throughput": SCALARS["output_token_throughput"],
    "Total Token Throughput": SCALARS["total_token_throughput"],
    "Request Throughput": SCALARS["request_throughput"],
    "Output Token Throughput Per User": SCALARS["output_token_throughput_per_user"],
    "Request Count": SCALARS["request_count"],
    "Error Request Count": SCALARS["error_request_count"],
}
_COLUMNS = {"mean": "avg", **{name: name for name in STATISTICS if name != "mean"}}
_RECORD_TAGS = ("time_to_first_token", "ttft", "request_latency", "inter_token_latency")
_TAG_KEYS = {
    f"{tag}.{column}": Key(f"{family}_{statistic}_ms", "ms")
    for tag, family in TAGS.items()
    for statistic, column in _COLUMNS.items()
}
_IGNORED = re.compile(
    r"Time to Second Token|Output Token Count|Reasoning Token Count|Benchmark .*|(?:Maximum|Minimum) .*|Total .*"
    r"|Good .*|GPU .*|.*Time to First Output Token|Prefill .*|HTTP .*|Stream .*|Credit .*|Goodput|.*Sequence Length.*"
    r"|Error .*"
)


class Aiperf:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "profile_export JSON (early and 0.2 on), CSV, JSONL of requests"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {
        TOOL: {
            **keys_of(ROWS, ROW_SCALARS),
            **{
                f"{tag}.{c}": Key(f"{family}_{s}_ms", "ms") for tag, family in TAGS.items() for s, c in _COLUMNS.items()
            },
            **{f"{tag}.avg": key for tag, key in SCALARS.items()},
        }
    }

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for one of its four outputs."""
        outline = content.outline
        if isinstance(outline, dict) and not {"metadata", "metrics"} <= outline.keys():
            own = {"aiperf_version", "benchmark_id"} & outline.keys() or "was_cancelled" in outline
            early = isinstance(outline.get("records"), dict) and "input_config" in outline
            return TOOL if own or early else None
        first = content.first_record
        if first is not None:
            metadata = first.get("metadata")
            own_record = isinstance(metadata, dict) and {"credit_phase", "x_request_id", "worker_id"} & metadata.keys()
            return TOOL if own_record else None
        header = first_line(content)
        return TOOL if is_percentile_table(header) and not columns_from_high(header) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return the one run of a file."""
        outline = content.outline
        if isinstance(outline, dict) and not {"metadata", "metrics"} <= outline.keys():
            return _read_export(content.document)
        if content.first_record is not None:
            return _read_records(content)
        return read_percentile_rows(content, TOOL, ROWS, ROW_SCALARS, _IGNORED)


def create() -> Aiperf:
    """Return the parser."""
    return Aiperf()


def _read_export(document: Any) -> ParseResult:
    if not isinstance(document, dict):
        raise Refused("expected an object")
    records = document.get("records")
    before, entries = ("records.", records) if isinstance(records, dict) else ("", document)
    run = RunBuilder()
    _take_config(run, document.get("input_config"))
    for tag, entry in entries.items():
        if isinstance(entry, dict) and "unit" in entry:
            _take_entry(run, f"{before}{tag}", tag, entry)
    if document.get("was_cancelled") is True:
        run.flag("truncated")
    built = run.build()
    failed = built.metrics.get("requests_failed")
    if failed and failed.value > 0:
        run.flag("requests_failed")
    if not built.metrics:
        raise Failed("the export holds no usable value: no request finished")
    if set(built.metrics) <= {"requests_failed"}:
        raise Failed("no request finished")
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(run.build(),))


def _take_config(run: RunBuilder, config: Any) -> None:
    if not isinstance(config, dict):
        return
    endpoint, load = config.get("endpoint"), config.get("loadgen")
    models = endpoint.get("model_names") if isinstance(endpoint, dict) else None
    if isinstance(models, list) and len(models) == 1:
        run.label("model", models[0])
    if isinstance(load, dict):
        run.label("concurrency", load.get("concurrency"))
        run.fact("requests", load.get("request_count"))
        run.label("request_rate", load.get("request_rate"))


def _take_entry(run: RunBuilder, own: str, tag: str, entry: Mapping[str, Any]) -> None:
    unit = entry["unit"] if is_text(entry["unit"]) else ""
    if tag in TAGS:
        count = entry.get("count")
        samples = int(count) if isinstance(count, Number) and count.isdigit() else None
        for statistic, column in _COLUMNS.items():
            name = f"{TAGS[tag]}_{statistic}_ms"
            run.take_as(f"{own}.{column}", name, unit, entry.get(column), samples=samples)
    elif tag in SCALARS:
        run.take(f"{own}.avg", SCALARS[tag], entry.get("avg"))
    elif tag in ("input_sequence_length", "output_sequence_length", "isl", "osl"):
        run.fact("isl_mean" if tag.startswith("i") else "osl_mean", entry.get("avg"))


def _read_records(content: Content) -> ParseResult:
    """Return the means over the requests that finished; other statistics of a part would not be the run's."""
    finished, failed = 0, 0
    values: dict[str, list[float]] = {tag: [] for tag in _RECORD_TAGS}
    seen: set[str] = set()
    problems = []
    for number, line in enumerate(content.lines(), start=1):
        if not line.strip():
            continue
        try:
            record = decode(line)
        except (Cut, Refused) as error:
            problems.append(f"line {number} is not a whole JSON value: {error}")
            continue
        name = hashlib.sha256(line.encode("utf-8", "replace")).hexdigest()
        if name in seen:
            continue
        seen.add(name)
        metrics = record.get("metrics") if isinstance(record, dict) else None
        if not isinstance(metrics, dict):
            raise Refused(f"line {number} is no record of a request")
        if record.get("error") is not None:
            failed += 1
            continue
        finished += 1
        for tag in values:
            if isinstance(metrics.get(tag), dict):
                values[tag].append(_milliseconds(metrics[tag], number))
    return _result_of_records(finished, failed, values, problems)


def _milliseconds(metric: Mapping[str, Any], line: int) -> float:
    try:
        return convert(str(metric.get("value")), str(metric.get("unit")), "ms")
    except UserError as error:
        raise Refused(f"line {line}: {error}") from error


def _result_of_records(
    finished: int, failed: int, values: Mapping[str, list[float]], problems: list[str]
) -> ParseResult:
    if problems:
        reason = "; ".join(problems[:3]) + "; means over a part of the requests are not the run's"
        return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason)
    if not finished:
        raise Failed(f"no request finished; {failed} failed")
    run = RunBuilder()
    run.take("records with error null", SCALARS["request_count"], finished)
    run.take("records with error set", SCALARS["error_request_count"], failed)
    for tag, found in values.items():
        if found:
            mean = repr(statistics.fmean(found))
            run.take(
                f"metrics.{tag}.value, mean of the records", Key(f"{TAGS[tag]}_mean_ms", "ms"), mean, samples=len(found)
            )
    if failed:
        run.flag("requests_failed")
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(run.build(),))
