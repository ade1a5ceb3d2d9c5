"""Reads InferenceX's aggregate JSON: seconds, figures per GPU, interactivity as 1 / TPOT.

median_intvty (agentic: p50) is tok_s_user; the other intvty are no statistics of a rate. output_tput_per_gpu divides by
the decode GPUs when prefill and decode are apart. What agentic results call itl is AIPerf's value of a request, the
same as their tpot, and not taken as ITL; their tp is a sum over prefill and decode where these are apart.
Source: SemiAnalysisAI/InferenceX utils/process_result.py (August 2025 to August 2026), utils/aggregate_power.py,
utils/agentic/aggregation/process_agentic_result.py, before July 2026 flat in utils/process_agentic_result.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.releases import read_tag
from jobs.run_builder import RunBuilder, plain_value
from jobs.strict_json import Number, is_text, shown

AGGREGATE, AGENTIC = "inferencex_agg", "inferencex_agentic"
_WORDS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
_AGENTIC_WORDS = {**_WORDS, "p50": "p50"}
_SHARED: Mapping[str, Key] = {
    "tput_per_gpu": Key("total_tok_s_per_gpu", "tok/s/GPU"),
    "output_tput_per_gpu": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "median_intvty": Key("tok_s_user", "tok/s/user"),
    "avg_power_w": Key("power_w", "W"),
    "total_gpu_energy_j": Key("energy_j", "J"),
    **statistic_keys("{}_ttft", "ttft", "s", _WORDS),
    **statistic_keys("{}_tpot", "tpot", "s", _WORDS),
    **statistic_keys("{}_e2el", "e2e", "s", _WORDS),
}
KEYS: Mapping[str, Key] = {**_SHARED, **statistic_keys("{}_itl", "itl", "s", _WORDS)}
AGENTIC_KEYS: Mapping[str, Key] = {
    **_SHARED,
    "p50_intvty": Key("tok_s_user", "tok/s/user"),
    "mean_qps": Key("req_s", "req/s"),
    "output_tput_tps": Key("output_tok_s", "tok/s"),
    "total_tput_tps": Key("total_tok_s", "tok/s"),
    "num_requests_successful": Key("requests_ok", "count"),
    **{
        f"p50_{own}": Key(f"{family}_p50_ms", "s")
        for own, family in (("ttft", "ttft"), ("tpot", "tpot"), ("e2el", "e2e"))
    },
    "request_metrics.qps.mean": Key("req_s", "req/s"),
    "request_metrics.throughput.output.tokens_per_second": Key("output_tok_s", "tok/s"),
    "request_metrics.throughput.total.tokens_per_second": Key("total_tok_s", "tok/s"),
    "request_metrics.throughput.per_gpu.output_tput_tps": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "request_metrics.throughput.per_gpu.total_tput_tps": Key("total_tok_s_per_gpu", "tok/s/GPU"),
    "request_metrics.latency.intvty.p50": Key("tok_s_user", "tok/s/user"),
    **statistic_keys("request_metrics.latency.ttft.{}", "ttft", "s", _AGENTIC_WORDS),
    **statistic_keys("request_metrics.latency.tpot.{}", "tpot", "s", _AGENTIC_WORDS),
    **statistic_keys("request_metrics.latency.e2el.{}", "e2e", "s", _AGENTIC_WORDS),
}
_MEASURED_POWER = frozenset({"avg_power_w", "total_gpu_energy_j"})
_LABELS = {
    "model": "model",
    "hw": "gpu",
    "conc": "concurrency",
    "users": "concurrency",
    "isl": "isl",
    "osl": "osl",
    "precision": "precision",
    "framework": "framework",
    "spec_decoding": "spec_decoding",
    "image": "image",
    "kv_offloading": "offload",
    "offloading": "offload",
    "offload_mode": "offload",
}
_ONE_NODE_LABELS = {"tp": "tp", "ep": "ep", "pp": "pp"}
_OTHERS = re.compile(
    r"(?:std|mean|median|p[\d.]+)_\w+|input_tput_\w+|power_\w+|avg_total_gpu_power_w|joules_\w+|(?:prefill|decode)_\w+"
    r"|num_\w+|total_\w+|\w+_size|\w*hit_rate|duration_seconds|kv_\w+|allocated_\w+|cpu_\w+|server_\w+|tp|ep|pp|request_\w+"
)
_SIDE = ("num_workers", "tp", "ep", "pp", "dcp_size", "pcp_size", "dp_attention", "hw")


class Inferencex:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (AGGREGATE, AGENTIC)
    reads = "aggregate JSON of August 2025 to August 2026 (also lists), agentic results flat and nested"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {AGGREGATE: KEYS, AGENTIC: AGENTIC_KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return which result it is; a list of such results is read too."""
        outline = content.outline
        first = outline[0] if isinstance(outline, list) and outline else outline
        if not isinstance(first, dict) or not {"hw", "model"} <= first.keys():
            return None
        if "scenario_type" in first:
            return AGENTIC
        return AGGREGATE if {"tput_per_gpu", "infmax_model_prefix"} & first.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result, in the order of the file."""
        document = content.document
        entries = document if isinstance(document, list) else [document]
        for number, entry in enumerate(entries, start=1):
            if not isinstance(entry, dict) or ("scenario_type" in entry) != (tool == AGENTIC):
                raise Refused(f"expected a result of {tool} as entry {number}, found {shown(entry)}")
        runs: list[ParsedRun] = []
        for entry in entries:
            if (run := _read(entry, tool)) not in runs:
                runs.append(run)
        if not any(run.metrics.keys() - {"requests_ok", "requests_failed"} for run in runs):
            raise Failed("no usable value: the benchmark left no figures")
        versions = {_version(entry.get("image")) for entry in entries}
        version = versions.pop() if len(versions) == 1 else None
        return ParseResult(tool=tool, outcome=ParseOutcome.OK, version=version, runs=tuple(runs))


def create() -> Inferencex:
    """Return the parser."""
    return Inferencex()


def _read(entry: Mapping[str, Any], tool: str) -> ParsedRun:
    run = RunBuilder()
    _take_labels(run, entry)
    keys = AGENTIC_KEYS if tool == AGENTIC else KEYS
    for own, value in _numbers(entry):
        if own in _MEASURED_POWER and (doubt := _power_doubt(entry)):
            run.reject(own, value, doubt, keys[own].unit)
        elif own in keys:
            run.take(own, keys[own], value)
        elif "." not in own and own not in _LABELS and not _OTHERS.fullmatch(own):
            run.unknown(own, value, tool)
    if tool == AGENTIC:
        _take_workload(run, entry)
    return run.build()


def _power_doubt(entry: Mapping[str, Any]) -> str | None:
    """Return why a result's power may not be taken; None if it may."""
    if entry.get("power_valid") in ("0", False):
        return "the tool calls its power invalid"
    if _is_apart(entry) and "power_metric_schema_version" not in entry:
        return "written before power_metric_schema_version 2: it may be of prefill or decode alone"
    return None


def _is_apart(entry: Mapping[str, Any]) -> bool:
    """Return whether prefill and decode are described apart, so that tp, ep and pp are not of the whole."""
    return entry.get("is_multinode") is True or "num_decode_gpu" in entry


def _numbers(entry: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a result; those of `request_metrics` under their path."""
    for own, value in entry.items():
        if isinstance(value, Number):
            yield f"{before}{own}", value
        elif isinstance(value, dict) and (before or own == "request_metrics"):
            yield from _numbers(value, f"{before}{own}.")


def _take_labels(run: RunBuilder, entry: Mapping[str, Any]) -> None:
    for own, name in _LABELS.items():
        run.label(name, entry.get(own))
    if entry.get("mtp") == "on":
        run.label("spec_decoding", "mtp")
    apart = _is_apart(entry)
    if not apart:
        for own, name in _ONE_NODE_LABELS.items():
            run.label(name, entry.get(own))
    gpus = [plain_value(entry.get(own)) for own in ("num_prefill_gpu", "num_decode_gpu")]
    if all(isinstance(count, int) for count in gpus):
        run.label("gpu_count", sum(count for count in gpus if isinstance(count, int)))
    run.label("layout", _layout(entry, apart))


def _layout(entry: Mapping[str, Any], apart: bool) -> str | None:
    """Return how the work is spread beyond tp, ep and pp, as one text; None where these say all."""
    if not apart:
        parts = [f"{own} {entry[own]}" for own in ("dcp_size", "pcp_size") if entry.get(own) not in (None, "1", 1)]
        parts += ["dp_attention"] if _is_true(entry.get("dp_attention")) else []
        return ", ".join(parts) or None
    sides = []
    for side in ("prefill", "decode"):
        found = [f"{name} {entry[f'{side}_{name}']}" for name in _SIDE if entry.get(f"{side}_{name}") is not None]
        sides.append(f"{side}: {', '.join(found)}")
    return "; ".join(["disaggregated" if entry.get("disagg") is True else "several nodes", *sides])


def _is_true(value: Any) -> bool:
    return value is True or (is_text(value) and value.strip().lower() == "true")


def _take_workload(run: RunBuilder, entry: Mapping[str, Any]) -> None:
    """Take what an agentic result says of its requests; those of the warm-up neither finished nor failed."""
    run.label("scenario", entry.get("scenario_type"))
    dataset = entry.get("dataset")
    if isinstance(dataset, dict):
        run.label("dataset", dataset.get("hf_dataset_name", dataset.get("loader")))
        run.fact("dataset_entries", dataset.get("num_dataset_entries"))
    accounting = entry.get("request_accounting")
    if isinstance(accounting, dict):
        dropped, warm_up = (
            plain_value(accounting.get(own)) for own in ("records_dropped_total", "records_warmup_dropped")
        )
        if isinstance(dropped, int) and isinstance(warm_up, int):
            own = "request_accounting.records_dropped_total - records_warmup_dropped"
            run.take(own, Key("requests_failed", "count"), dropped - warm_up)
    tokens = _inside(entry, "request_metrics", "tokens")
    for fact, flat, nested in (
        ("isl_mean", "mean_input_tokens", "input"),
        ("osl_mean", "mean_output_tokens_actual", "output_actual"),
    ):
        run.fact(fact, entry.get(flat))
        run.fact(fact, _inside(tokens, nested).get("mean"))


def _inside(entry: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return the object at a path; an empty one where there is none."""
    for name in path:
        inner = entry.get(name)
        entry = inner if isinstance(inner, dict) else {}
    return entry


def _version(image: Any) -> str | None:
    """Return the version in an image's tag (`repo:v0.21.0`, also `nvcr.io#nvidia/...`); None where it holds none."""
    if not is_text(image):
        return None
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return read_tag(tag).version if tag else None
