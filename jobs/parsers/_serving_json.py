"""The result JSON that the serving benchmarks of vLLM, TensorRT-LLM, SGLang and InferenceX share: one object a run.

Written with `--save-result` as one object, with `--append-result` and by SGLang as JSON Lines. Which tool wrote it
shows in its keys. Sources: see `_serving_log`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, NoResult, Refused
from jobs.measurements import ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._arguments import printed_label
from jobs.parsers._repeats import without_repeats
from jobs.parsers._serving_block import SECONDS, SGLANG, TRTLLM, VLLM
from jobs.parsers._serving_log import is_figure
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, decode, is_text

_STATISTICS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
_LABELS = {
    "model_id": "model",
    "endpoint_type": "backend",
    "backend": "backend",
    "date": "date",
    "num_prompts": "requests",
    "max_concurrency": "concurrency",
    "request_rate": "request_rate",
}
_METADATA = {
    "tp": "tp",
    "tensor_parallel_size": "tp",
    "pp": "pp",
    "pipeline_parallel_size": "pp",
    "ep": "ep",
    "dp": "dp",
    "data_parallel_size": "dp",
    "gpu": "gpu",
    "gpu_count": "gpu_count",
    "precision": "precision",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "isl": "isl",
    "osl": "osl",
    "image": "image",
    "driver": "driver",
    "cuda": "cuda",
}
"""What people give with `--metadata KEY=VALUE`; it stands among the other keys."""
OTHERS = re.compile(
    r"best_of|burstiness|duration|total_\w+|request_goodput:?|good_completed|input_throughput|max_\w+|rtfx|seed|logprobs"
    r"|(?:std|min|max|p[\d.]+|mean|median)_\w+|probe_\w+|spec_decode_\w+|diffusion_\w+|ramp_up_\w+|input_sequence\w+"
    r"|concurrency|accept_length|(?:sharegpt|random)_\w+|\w+_retokenized|benchmark_duration|wall_duration|\w+_len|tag"
)
"""Numeric keys that the writers are known to write and no metric means."""
_DETAILED = 2**16
"""Characters of a line that can only be so long with the figures of single requests, which are not read."""
MOST_RECORDS = 10_000
"""Results of one file; all of them are held until the file is read."""


def keys_of(e2e: str, suffix: str, unit: str) -> dict[str, Key]:
    """Return the keys of the result JSON; `e2e` is the tool's word for end to end, `suffix` what latencies end in."""
    families = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": e2e}
    latencies = [
        statistic_keys("{}_" + word + suffix, family, unit, names)
        for family, word in families.items()
        for names in (_STATISTICS, {"p50": "p50"})
    ]
    return {
        "request_throughput": Key("req_s", "req/s"),
        "output_throughput": Key("output_tok_s", "tok/s"),
        "completed": Key("requests_ok", "count"),
        "failed": Key("requests_failed", "count"),
        **{own: key for group in latencies for own, key in group.items()},
    }


def writer_of_record(record: Mapping[str, Any]) -> str | None:
    """Return which tool wrote a result object; None if none of the four did."""
    keys = record.keys()
    sglang = {"sharegpt_output_len", "total_output_tokens_retokenized", "mean_e2e_latency_ms", "mean_e2e_latency"}
    if ("dataset_name" in keys and sglang & keys) or {"request_rate", "output_token_throughput"} <= keys:
        return SGLANG
    if sglang & keys and "completed" in keys:
        return SGLANG
    counted = {"request_throughput", "request_inthroughput", "total_input_tokens"} & keys
    rated = {"completed", "request_throughput", "output_throughput"} <= keys
    served = rated or ({"completed", "duration"} <= keys and counted) or {"model_id", "tokenizer_id"} <= keys
    if not served or "tput_per_gpu" in keys:
        return None
    if {"user_throughput", "avg_decoded_tokens_per_iter", "e2els"} & keys:
        return TRTLLM
    if any(key.endswith("_ms") for key in keys):
        return VLLM
    if {"median_ttft", "mean_ttft", "median_e2el", "good_completed"} & keys or "backend" not in keys:
        return SECONDS if {"num_prompts", "request_throughput"} & keys else None
    return VLLM if {"num_prompts", "request_throughput", "request_inthroughput"} & keys else None


def first_result(content: Content) -> dict[str, Any] | None:
    """Return the first object of a JSON text (one object, a list of them, JSON Lines), perhaps cut; None for others."""
    outline = content.outline
    if isinstance(outline, list):
        return outline[0] if outline and isinstance(outline[0], dict) else None
    return content.first_record


def records_of(content: Content) -> Iterator[tuple[int, dict[str, Any] | NoResult]]:
    """Yield each object with its number (of the line, or in the list), or why it is none; raise Cut for a cut one."""
    if isinstance(content.outline, dict | list):
        document = content.document
        for number, value in enumerate(document if isinstance(document, list) else [document], start=1):
            yield number, value if isinstance(value, dict) else Refused(f"entry {number} is no JSON object")
        return
    for number, line in enumerate(content.lines(bare_arrays_above=_DETAILED), start=1):
        if not line.strip():
            continue
        try:
            value = decode(line)
        except Cut:
            yield number, Cut(f"line {number} is cut off: it is not a whole JSON value")
            continue
        except Refused as error:
            yield number, Refused(f"line {number} is not a JSON value: {error}")
            continue
        yield number, value if isinstance(value, dict) else Refused(f"line {number} is no JSON object")


def read_records(
    content: Content,
    tool: str,
    writer_of: Callable[[Mapping[str, Any]], str | None],
    read: Callable[[Mapping[str, Any]], ParsedRun],
) -> ParseResult:
    """Return one run a record of `tool`; Failed where no request finished, partial where a record cannot be read."""
    runs: list[ParsedRun] = []
    problems: list[str] = []
    version: str | None = None
    first: NoResult | None = None
    for number, record in records_of(content):
        if len(runs) + len(problems) >= MOST_RECORDS:
            raise Refused(f"expected at most {MOST_RECORDS:,} results in one file, found more; split it")
        if isinstance(record, NoResult):
            first = first or record
            problems.append(str(record))
        elif writer_of(record) != tool:
            problems.append(f"entry {number} is no result of {tool}")
        else:
            runs.append(read(record))
            version = version or _version(record)
    if first is not None and not runs:
        raise first
    figures = any(is_figure(name) for run in runs for name in run.metrics)
    if not figures and not problems:
        raise Failed("no request finished" if runs and "requests_ok" in runs[0].metrics else "no value can be used")
    return ParseResult(
        tool=tool,
        outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
        reason="; ".join(problems[:3]),
        version=version,
        runs=without_repeats(run for run in runs if run.metrics),
    )


def _version(record: Mapping[str, Any]) -> str | None:
    """Return the version of the server: vLLM's `--version` of 2024 or its metadata, SGLang's server_info."""
    info = record.get("server_info")
    version = record.get("version", info.get("version") if isinstance(info, dict) else None)
    return version if is_text(version) and version.strip() and version != "N/A" else None


def read_serving(
    record: Mapping[str, Any], tool: str, keys: Mapping[str, Key], labels: Mapping[str, object] | None = None
) -> ParsedRun:
    """Return the run of a result object: labels (those of `labels` too), metrics by `keys`, other numbers set aside."""
    run = RunBuilder()
    for name, value in (labels or {}).items():
        run.label(name, value)
    set_labels(run, record)
    completed = record.get("completed")
    samples = int(completed) if isinstance(completed, Number) and completed.isdigit() else None
    for own, value in record.items():
        if samples == 0 and own not in ("completed", "failed"):
            continue
        if own in keys:
            of_requests = None if own in ("completed", "failed") or "_itl" in own else samples
            run.take(own, keys[own], value, samples=of_requests)
        elif isinstance(value, Number) and own not in _LABELS and own not in _METADATA and not OTHERS.fullmatch(own):
            run.unknown(own, value, tool)
    return run.build()


def set_labels(run: RunBuilder, record: Mapping[str, Any]) -> None:
    """Set what a result object says of itself, metadata that people gave included."""
    for own, name in {**_METADATA, **_LABELS}.items():
        value = record.get(own)
        if isinstance(value, str):
            for label, plain in printed_label(name, value).items():
                run.label(label, plain)
