"""Reads vLLM's own benchmarks: serve (benchmark_serving.py), throughput and latency; JSON, PyTorch JSON, printed.

Source: vllm-project/vllm vllm/benchmarks/{serve,throughput,latency}.py and lib/utils.py. `failed` exists since late
2025: before, the number of failed requests is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers import _serving_log as serving
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number

SERVE, THROUGHPUT, LATENCY = "vllm_bench_serve", "vllm_bench_throughput", "vllm_bench_latency"
SERVE_KEYS: Mapping[str, Key] = {
    **serving.json_keys("e2el"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "failed": Key("requests_failed", "count"),
}
THROUGHPUT_KEYS: Mapping[str, Key] = {
    "requests_per_second": Key("req_s", "req/s"),
    "tokens_per_second": Key("total_tok_s", "tok/s"),
    "requests/s": Key("req_s", "req/s"),
    "total tokens/s": Key("total_tok_s", "tok/s"),
    "output tokens/s": Key("output_tok_s", "tok/s"),
}
_PERCENTILES = {"p50": "50", "p90": "90", "p95": "95", "p99": "99"}
LATENCY_KEYS: Mapping[str, Key] = {
    "avg_latency": Key("e2e_mean_ms", "s"),
    **statistic_keys("percentiles.{}", "e2e", "s", _PERCENTILES),
    "Avg latency": Key("e2e_mean_ms", "s"),
    **statistic_keys("{}% percentile latency", "e2e", "s", _PERCENTILES),
}
_SERVE_LABELS = {"model_id": "model", "backend": "backend", "endpoint_type": "backend", "date": "date"}
_SERVE_OTHERS = frozenset(
    {
        "num_prompts",
        "request_rate",
        "burstiness",
        "max_concurrency",
        "best_of",
        "duration",
        "total_input_tokens",
        "total_output_tokens",
        "request_goodput",
        "request_goodput:",
        "input_throughput",
        "max_output_tokens_per_s",
        "max_concurrent_requests",
        "rtfx",
    }
)
_THROUGHPUT_LINE = re.compile(rf"Throughput: (?P<figures>{NUMBER} requests/s, .+?)\s*$", re.MULTILINE)
_FIGURE = re.compile(rf"(?P<value>{NUMBER}) (?P<key>requests/s|total tokens/s|output tokens/s)(?=,|\s*$)")
_LATENCY_LINE = re.compile(
    rf"^\s*(?P<key>Avg latency|\d+% percentile latency): (?P<value>{NUMBER}) seconds\s*$", re.MULTILINE
)
_STARTS = ("Starting initial single prompt test run", "vllm bench serve", "benchmark_serving.py")


class Vllm:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (SERVE, THROUGHPUT, LATENCY)
    reads = "bench serve, throughput, latency of 2024 to 2026: JSON, PyTorch-benchmark JSON, printed"
    landmarks: tuple[str, ...] = (serving.TITLE, "Throughput: ", "percentile latency: ", "Avg latency: ")
    keys: Mapping[str, Mapping[str, Key]] = {
        SERVE: {**SERVE_KEYS, **serving.KEYS},
        THROUGHPUT: THROUGHPUT_KEYS,
        LATENCY: LATENCY_KEYS,
    }

    def recognises(self, content: Content) -> str | None:
        """Return which of the three benchmarks wrote it."""
        outline = content.outline
        if isinstance(outline, dict):
            return _kind_of(outline)
        if isinstance(outline, list):
            return _kind_of_records(outline)
        text = content.sample
        if serving.TITLE in text:
            return SERVE if serving.writer_of(text) == "vllm" else None
        if _THROUGHPUT_LINE.search(text):
            return THROUGHPUT
        if "Avg latency: " in text and "% percentile latency: " in text and " seconds" in text:
            return LATENCY
        return SERVE if _STARTS[0] in text and "bench_serving" not in text else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        if isinstance(content.outline, list):
            return _read_records(content.document, tool)
        if content.outline is not None:
            readers = {SERVE: _read_serve, THROUGHPUT: _read_throughput, LATENCY: _read_latency}
            return _whole(tool, readers[tool](content.document))
        if tool == SERVE:
            return serving.read_log(content, tool)
        return _read_lines(content, tool, self.landmarks)


def create() -> Vllm:
    """Return the parser."""
    return Vllm()


def _kind_of(outline: Mapping[str, Any]) -> str | None:
    if {"avg_latency", "percentiles"} <= outline.keys():
        return LATENCY
    if {"elapsed_time", "requests_per_second", "tokens_per_second"} <= outline.keys():
        return THROUGHPUT
    theirs = {"mean_e2e_latency_ms", "total_output_tokens_retokenized", "user_throughput", "random_input_len"}
    serve = {"request_throughput", "output_throughput", "completed"} <= outline.keys() or (
        {"model_id", "num_prompts", "request_rate"} <= outline.keys()
    )
    seconds = "median_ttft" in outline or "input_throughput" in outline
    return SERVE if serve and not seconds and not theirs & outline.keys() else None


def _kind_of_records(outline: Sequence[Any]) -> str | None:
    """Return the benchmark of a list in PyTorch's format."""
    first = outline[0] if outline else None
    if not isinstance(first, dict) or not {"benchmark", "metric"} <= first.keys():
        return None
    benchmark = first["benchmark"]
    name = str(benchmark.get("name", "")) if isinstance(benchmark, dict) else ""
    if not name.startswith("vLLM"):
        return None
    metrics = {
        str(r["metric"].get("name")) for r in outline if isinstance(r, dict) and isinstance(r.get("metric"), dict)
    }
    if "latency" in metrics:
        return LATENCY
    return THROUGHPUT if metrics & THROUGHPUT_KEYS.keys() else SERVE


def _whole(tool: str, run: ParsedRun) -> ParseResult:
    if "requests_ok" in run.metrics and run.metrics["requests_ok"].value == 0:
        raise Failed("no request finished")
    if not run.metrics:
        raise Failed("the file holds no usable value")
    return ParseResult(tool=tool, outcome=ParseOutcome.OK, runs=(run,))


def _read_serve(document: Any) -> ParsedRun:
    if not isinstance(document, dict):
        raise Refused("expected an object")
    run = RunBuilder()
    for own, name in _SERVE_LABELS.items():
        run.label(name, document.get(own))
    run.fact("requests", document.get("num_prompts"))
    serving.take_label(run, "concurrency", document.get("max_concurrency"))
    serving.take_label(run, "request_rate", document.get("request_rate"))
    for own, value in document.items():
        if own in SERVE_KEYS:
            run.take(own, SERVE_KEYS[own], value)
        elif isinstance(value, Number) and own not in _SERVE_OTHERS and not serving.OTHER_STATISTIC.fullmatch(own):
            run.unknown(own, value, SERVE)
    if str(document.get("failed") or "0") != "0":
        run.flag("requests_failed")
    return run.build()


def _read_throughput(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    run.fact("requests", document.get("num_requests"))
    for own, key in THROUGHPUT_KEYS.items():
        run.take(own, key, document.get(own))
    return run.build()


def _read_latency(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    percentiles = document.get("percentiles")
    stated = (
        {f"percentiles.{name}": value for name, value in percentiles.items()} if isinstance(percentiles, dict) else {}
    )
    for own, key in LATENCY_KEYS.items():
        run.take(own, key, {**document, **stated}.get(own))
    return run.build()


def _read_records(document: Any, tool: str) -> ParseResult:
    """Return the one result of a list in PyTorch's format: one record a metric."""
    run = RunBuilder()
    keys = {SERVE: SERVE_KEYS, THROUGHPUT: THROUGHPUT_KEYS, LATENCY: LATENCY_KEYS}[tool]
    for record in document:
        metric = record.get("metric") if isinstance(record, dict) else None
        values = metric.get("benchmark_values") if isinstance(metric, dict) else None
        if not isinstance(metric, dict) or not isinstance(values, list):
            raise Refused("expected records with metric.name and metric.benchmark_values")
        model = record.get("model")
        run.label("model", model.get("name") if isinstance(model, dict) else None)
        extra = metric.get("extra_info")
        extra = extra if isinstance(extra, dict) else {}
        serving.take_label(run, "concurrency", extra.get("max_concurrency"))
        name = str(metric.get("name"))
        if tool == LATENCY and name == "latency":
            stated = extra.get("percentiles")
            percentiles = {f"percentiles.{p}": v for p, v in stated.items()} if isinstance(stated, dict) else {}
            for own, key in LATENCY_KEYS.items():
                run.take(own, key, {**extra, **percentiles}.get(own))
        elif name in keys and len(values) == 1:
            run.take(name, keys[name], values[0])
    return _whole(tool, run.build())


def _read_lines(content: Content, tool: str, landmarks: Sequence[str]) -> ParseResult:
    lines, _ = whole_lines(content, landmarks)
    text = "\n".join(lines)
    run = RunBuilder()
    if tool == THROUGHPUT:
        runs = [_read_figures(match["figures"]) for match in _THROUGHPUT_LINE.finditer(text)]
    else:
        for match in _LATENCY_LINE.finditer(text):
            if match["key"] in LATENCY_KEYS:
                run.take(match["key"], LATENCY_KEYS[match["key"]], match["value"])
        runs = [run.build()]
    runs = [one for number, one in enumerate(runs) if one.metrics and one not in runs[:number]]
    if not runs:
        return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason="the text ends before a result")
    return ParseResult(tool=tool, outcome=ParseOutcome.OK, runs=tuple(runs))


def _read_figures(figures: str) -> ParsedRun:
    run = RunBuilder()
    for figure in _FIGURE.finditer(figures):
        run.take(figure["key"], THROUGHPUT_KEYS[figure["key"]], figure["value"])
    return run.build()
