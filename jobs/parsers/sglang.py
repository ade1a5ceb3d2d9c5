"""Reads SGLang's benchmarks: bench_serving (printed, JSONL of all versions) and bench_one_batch (JSONL, seconds).

SGLang prints no count of failed requests. The first JSONL (July 2024) has `ttft` and `itl` without unit or statistic:
these are set aside. Source: sgl-project/sglang python/sglang/bench_serving.py, bench_one_batch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers import _serving_log as serving
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, decode

SERVING, ONE_BATCH = "sglang_bench_serving", "sglang_bench_one_batch"
SERVING_KEYS: Mapping[str, Key] = {
    **serving.json_keys("e2e_latency"),
    "total_throughput": Key("total_tok_s", "tok/s"),
    "output_token_throughput": Key("output_tok_s", "tok/s"),
}
ONE_BATCH_KEYS: Mapping[str, Key] = {
    "total_latency": Key("e2e_mean_ms", "s"),
    "latency": Key("e2e_mean_ms", "s"),
    "prefill_latency": Key("ttft_mean_ms", "s"),
    "last_ttft": Key("ttft_mean_ms", "s"),
    "median_decode_latency": Key("itl_p50_ms", "s"),
    "overall_throughput": Key("total_tok_s", "tok/s"),
    "output_throughput": Key("output_tok_s", "tok/s"),
    "median_decode_throughput": Key("output_tok_s", "tok/s"),
    "prefill_throughput": Key("prompt_tok_s", "tok/s"),
    "input_throughput": Key("prompt_tok_s", "tok/s"),
}
_SERVING_OTHERS = frozenset(
    {
        "request_rate",
        "max_concurrency",
        "num_prompts",
        "duration",
        "total_input_tokens",
        "total_input_text_tokens",
        "total_input_vision_tokens",
        "total_output_tokens",
        "total_output_tokens_retokenized",
        "input_throughput",
        "concurrency",
        "accept_length",
        "max_output_tokens_per_s",
        "max_concurrent_requests",
        "sharegpt_output_len",
        "random_input_len",
        "random_output_len",
        "random_range_ratio",
        "output_throughput_retokenized",
        "total_throughput_retokenized",
    }
)
_ONE_BATCH_OTHERS = frozenset({"batch_size", "input_len", "output_len", "acc_length", "cache_hit_rate"})


class Sglang:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (SERVING, ONE_BATCH)
    reads = "bench_serving of 2024 to 2026: printed, JSONL; bench_one_batch JSONL"
    landmarks: tuple[str, ...] = (serving.TITLE,)
    keys: Mapping[str, Mapping[str, Key]] = {SERVING: {**SERVING_KEYS, **serving.KEYS}, ONE_BATCH: ONE_BATCH_KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return which of the two benchmarks wrote it."""
        first = content.first_record
        if first is not None:
            return _kind_of(first)
        return SERVING if serving.writer_of(content.sample) == "sglang" else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a line of JSONL, or a printed block."""
        if content.first_record is None:
            return serving.read_log(content, tool)
        return _read_lines(content, tool)


def create() -> Sglang:
    """Return the parser."""
    return Sglang()


def _kind_of(first: Mapping[str, Any]) -> str | None:
    if {"batch_size", "input_len", "output_len"} <= first.keys() and {"latency", "total_latency"} & first.keys():
        return ONE_BATCH
    own = {"mean_e2e_latency_ms", "total_output_tokens_retokenized", "sharegpt_output_len", "accept_length"}
    oldest = {"request_rate", "output_token_throughput"} <= first.keys()
    return SERVING if own & first.keys() or oldest else None


def _read_lines(content: Content, tool: str) -> ParseResult:
    runs: list[ParsedRun] = []
    problems: list[str] = []
    number = 0
    for number, line in enumerate(content.lines(), start=1):
        if not line.strip():
            continue
        try:
            document = decode(line)
        except (Cut, Refused) as error:
            problems.append(f"line {number} is not a whole JSON value: {error}")
            continue
        if not isinstance(document, dict) or _kind_of(document) != tool:
            problems.append(f"line {number} is no result of {tool}")
            continue
        run = _read_one_batch(document) if tool == ONE_BATCH else _read_serving(document)
        if run.metrics and run not in runs:
            runs.append(run)
    if not runs and not problems:
        raise Failed("no line has a usable value: no request finished")
    outcome = ParseOutcome.PARTIAL if problems else ParseOutcome.OK
    return ParseResult(tool=tool, outcome=outcome, reason="; ".join(problems[:3]), runs=tuple(runs))


def _read_serving(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    if document.get("completed") == "0":
        return run.build()
    run.label("backend", document.get("backend"))
    run.label("dataset", document.get("dataset_name"))
    run.label("model", document.get("model_id", document.get("model")))
    run.fact("requests", document.get("num_prompts"))
    serving.take_label(run, "request_rate", _rate(document.get("request_rate")))
    serving.take_label(run, "concurrency", document.get("max_concurrency"))
    if str(document.get("dataset_name", "")).startswith("random"):
        run.label("isl", document.get("random_input_len"))
        run.label("osl", document.get("random_output_len"))
    for own, value in document.items():
        if own in SERVING_KEYS:
            run.take(own, SERVING_KEYS[own], value)
        elif isinstance(value, Number) and own not in _SERVING_OTHERS and not serving.OTHER_STATISTIC.fullmatch(own):
            run.unknown(own, value, SERVING)
    return run.build()


def _rate(value: Any) -> Any:
    return None if value == "trace" else value


def _read_one_batch(document: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    run.label("batch", document.get("batch_size"))
    run.label("isl", document.get("input_len"))
    run.label("osl", document.get("output_len"))
    run.label("name", document.get("run_name"))
    for own, value in document.items():
        if own in ONE_BATCH_KEYS:
            run.take(own, ONE_BATCH_KEYS[own], value)
        elif isinstance(value, Number) and own not in _ONE_BATCH_OTHERS:
            run.unknown(own, value, ONE_BATCH)
    return run.build()
