"""Reads AIPerf: its JSON export (early `records` and later top level), its CSV, and its records of each request.

Its inter_token_latency is one value a request: TPOT; inter_chunk_latency is nearest to ITL. request_count leaves out
errors. aiperf_version is the load generator's, not the server's; average_gpu_power is all GPUs together and not taken.
Source: ai-dynamo/aiperf exporters and common/models/export_models.py, 0.1 to 0.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._percentile_rows import (
    COLUMNS,
    Rows,
    columns_from_high,
    is_percentile_table,
    keys_of,
    read_percentile_rows,
)
from jobs.parsers._request_records import is_request_record, read_request_records
from jobs.parsers._tables import first_line
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, is_text

TOOL = "aiperf"
TAGS = {
    "time_to_first_token": "ttft",
    "ttft": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}
RECORD_TAGS = {tag: family for tag, family in TAGS.items() if family != "itl"}
SCALARS: Mapping[str, Key] = {
    "output_token_throughput": Key("output_tok_s", "tok/s"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "request_throughput": Key("req_s", "req/s"),
    "output_token_throughput_per_user": Key("tok_s_user", "tok/s/user"),
    "request_count": Key("requests_ok", "count"),
    "error_request_count": Key("requests_failed", "count"),
    "total_gpu_energy": Key("energy_j", "J"),
    "nvidia_total_gpu_energy": Key("energy_j", "J"),
    "amd_total_gpu_energy": Key("energy_j", "J"),
}
ROWS = Rows(
    tool=TOOL,
    families={
        "Time to First Token": "ttft",
        "Inter Token Latency": "tpot",
        "Inter Chunk Latency": "itl",
        "Request Latency": "e2e",
    },
    scalars={tag.replace("_", " ").title().replace("Gpu", "GPU"): key for tag, key in SCALARS.items()},
    ignored=re.compile(
        r"Time to (?:Second|First Output) Token|(?:Output|Reasoning|Benchmark) Token Count|Benchmark .*|Total .*"
        r"|(?:Maximum|Minimum) .*|Good ?Request.*|Goodput.*|.*Prefill.*|HTTP .*|Stream .*|Credit .*|.*Sequence Length"
        r"|Network.*|Usage .*|Overall .*|.*GPU Power|.* per .*|Energy .*|.*OSL.*|.*Accept.*|.*Draft.*|Spec .*|Image .*"
        r"|Video .*|Audio .*|Number of .*|Replay .*|Request Error Rate|Context .*|Thinking .*|Decode .*|E2E .*"
        r"|Input Token Throughput|Completed Requests.*|Inverse .*|Accuracy.*"
    ),
)
_OTHER_TAGS = re.compile(
    r"time_to_(?:second|first_output)_token|ttst|\w+_token_count|benchmark_\w+|total_\w+|\w+_timestamp|\w+_sequence_length"
    r"|good\w*|prefill_\w+|http_\w+|stream_\w+|credit_\w+|network_\w+|usage_\w+|overall_\w+|(?:nvidia|amd)_\w+|energy_\w+"
    r"|\w*osl\w*|\w*error_\w+|\w*spec_decode_\w+|image_\w+|video_\w+|audio_\w+|num_\w+|replay_\w+|request_error_rate|rtfx"
    r"|\w*context_overflow_count|thinking_\w+|decode_\w+|e2e_\w+|input_token_throughput|completed_request_count"
    r"|accuracy\..*|\w+_per_\w+|average_gpu_power|theoretical_\w+"
)
_NOT_RESULTS = {
    "Timeslice,": "a time series: rows of each time slice, not the result of a run",
    "metric,mean,std,": "statistics over several runs; hand in each run's own profile_export_aiperf",
    "Endpoint,Type,Metric,": "counters of the server, not the result of a run",
}
_POWER = ("gpu_power_usage", "nvidia_power_usage", "amd_power")
_MEMORY = ("gpu_memory_used", "nvidia_memory_used", "amd_memory_used")


class Aiperf:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "profile_export_aiperf JSON and CSV and profile_export.jsonl of 0.1 to 0.13"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {
        TOOL: {
            **keys_of(ROWS.families, ROWS.scalars),
            **{f"{tag}.{c}": Key(f"{name}_{s}_ms", "ms") for tag, name in TAGS.items() for s, c in COLUMNS.items()},
            **{f"{tag}.avg": key for tag, key in SCALARS.items()},
        }
    }

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for one of its outputs, those that are no results included."""
        outline = content.outline
        if isinstance(outline, dict):
            return TOOL if is_request_record(outline) or _is_export(outline) else None
        if content.first_record is not None:
            return TOOL if is_request_record(content.first_record) else None
        header = first_line(content)
        if is_percentile_table(header):
            return None if columns_from_high(header) else TOOL
        no_request = header == "Metric,Value" and "\nError Request Count," in content.sample
        return TOOL if no_request or header.startswith(tuple(_NOT_RESULTS)) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return the one run of a file."""
        if content.outline is not None and not is_request_record(content.outline):
            return _read_export(content.document)
        if content.first_record is not None:
            return read_request_records(content, TOOL, RECORD_TAGS)
        header = first_line(content)
        for start, reason in _NOT_RESULTS.items():
            if header.startswith(start):
                raise Refused(reason)
        return read_percentile_rows(content, ROWS)


def create() -> Aiperf:
    """Return the parser."""
    return Aiperf()


def _is_export(outline: Mapping[str, Any]) -> bool:
    config = outline.get("input_config")
    endpoint = config.get("endpoint") if isinstance(config, dict) else None
    early = "input_config" in outline and (
        isinstance(outline.get("records"), dict) or isinstance(outline.get("timeslices"), list)
    )
    named = isinstance(endpoint, dict) and "model_names" in endpoint
    ended = "was_cancelled" in outline and {"error_summary", "input_config"} & outline.keys()
    return bool("aiperf_version" in outline or early or named or ended)


def _read_export(document: Mapping[str, Any]) -> ParseResult:
    if "timeslices" in document:
        raise Refused("a time series: one entry a time slice, not the result of a run")
    if isinstance(document.get("metrics"), dict):
        what = "counters of the server" if "summary" in document else "statistics over several runs"
        raise Refused(f"{what}, not the result of a run; hand in the run's own profile_export_aiperf.json")
    run = RunBuilder()
    _take_config(run, document.get("input_config"))
    if reason := _own_verdict(document):
        run.flag("invalid_result")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.INVALID, reason=reason, runs=(run.build(),))
    records = document.get("records")
    before, entries = ("records.", records) if isinstance(records, dict) else ("", document)
    for tag, entry in entries.items():
        if isinstance(entry, dict) and "unit" in entry:
            _take_entry(run, f"{before}{tag}", tag, entry)
    _take_gpu(run, document.get("telemetry_data"))
    if document.get("was_cancelled") is True:
        run.flag("cancelled")
    if not set(run.metrics) - {"requests_failed"}:
        raise Failed(_why_none_finished(document.get("error_summary")))
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(run.build(),))


def _own_verdict(document: Mapping[str, Any]) -> str:
    """Return why the tool itself says that the result must not be used; empty where it does not."""
    if document.get("is_complete") is False:
        return f"the tool calls the run incomplete: {document.get('incomplete_reason') or 'no reason given'}"
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and metadata.get("submission_valid") is False:
        reasons = metadata.get("submission_invalid_reasons")
        said = ", ".join(str(reason) for reason in reasons) if isinstance(reasons, list) else ""
        return f"the tool calls its result invalid: {said or 'no reason given'}"
    return ""


def _why_none_finished(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) and errors else None
    details = first.get("error_details") if isinstance(first, dict) else None
    message = details.get("message") if isinstance(details, dict) else None
    return f"no request finished: {message[:200]}" if is_text(message) else "no request finished"


def _take_config(run: RunBuilder, config: Any) -> None:
    if not isinstance(config, dict):
        return
    endpoint, load = config.get("endpoint"), config.get("loadgen")
    run.label("model", _only_name(endpoint.get("model_names") if isinstance(endpoint, dict) else None))
    run.label("model", _only_name(config.get("models")))
    if isinstance(load, dict):
        run.label("concurrency", load.get("concurrency"))
        run.fact("requests", load.get("request_count"))
        run.label("request_rate", load.get("request_rate"))
    phases = list(_measured_phases(config.get("phases")))
    if len(phases) == 1:
        run.label("concurrency", phases[0].get("concurrency"))
        run.fact("requests", phases[0].get("requests"))
        run.label("request_rate", phases[0].get("rate"))


def _only_name(models: Any) -> Any:
    """Return the one model's name: written alone, in a list, or as `{"items": [{"name": ...}]}`; None if not one."""
    items = models.get("items") if isinstance(models, dict) else models
    if isinstance(items, list):
        items = items[0] if len(items) == 1 else None
    return items.get("name") if isinstance(items, dict) else items


def _measured_phases(phases: Any) -> Iterator[Mapping[str, Any]]:
    for phase in phases if isinstance(phases, list) else ():
        if not isinstance(phase, dict):
            continue
        warm_up = "warmup" in (phase.get("kind"), phase.get("name")) or phase.get("exclude_from_results") is True
        if not warm_up:
            yield phase


def _take_entry(run: RunBuilder, own: str, tag: str, entry: Mapping[str, Any]) -> None:
    unit = entry["unit"] if is_text(entry["unit"]) else "no unit"
    if tag in TAGS:
        count = entry.get("count")
        samples = int(count) if isinstance(count, Number) and count.isdigit() and len(count) < 16 else None
        for statistic, column in COLUMNS.items():
            run.take_as(f"{own}.{column}", f"{TAGS[tag]}_{statistic}_ms", unit, entry.get(column), samples=samples)
    elif tag in SCALARS:
        run.take_as(f"{own}.avg", SCALARS[tag].metric, "count" if unit == "requests" else unit, entry.get("avg"))
    elif tag in ("input_sequence_length", "output_sequence_length"):
        run.fact("isl_mean" if tag.startswith("i") else "osl_mean", entry.get("avg"))
    elif not _OTHER_TAGS.fullmatch(tag):
        run.unknown(f"{own}.avg", entry.get("avg"), TOOL)


def _take_gpu(run: RunBuilder, telemetry: Any) -> None:
    """Take mean power and peak memory, where telemetry saw one GPU: of several, some may have stood idle."""
    gpus = {str(gpu.get("gpu_uuid")): gpu for gpu in _gpus(telemetry)}
    metrics = next(iter(gpus.values())).get("metrics") if len(gpus) == 1 else None
    for own, entry in metrics.items() if isinstance(metrics, dict) else ():
        unit = entry.get("unit") if isinstance(entry, dict) else None
        if own in _POWER and unit == "W":
            run.take(f"telemetry_data.{own}.avg", Key("power_w", "W"), entry.get("avg"))
        elif own in _MEMORY and unit == "GB":
            run.take(f"telemetry_data.{own}.max", Key("memory_gb", "GB"), entry.get("max"))


def _gpus(telemetry: Any) -> Iterator[Mapping[str, Any]]:
    endpoints = telemetry.get("endpoints") if isinstance(telemetry, dict) else None
    for endpoint in endpoints.values() if isinstance(endpoints, dict) else ():
        gpus = endpoint.get("gpus") if isinstance(endpoint, dict) else None
        yield from (gpu for gpu in (gpus.values() if isinstance(gpus, dict) else ()) if isinstance(gpu, dict))
