"""Reads SGLang's benchmarks: bench_serving (printed, JSON Lines of all versions), bench_one_batch, one_batch_server.

SGLang prints no count of failed requests. Of the first JSON Lines (July 2024) `ttft` and `itl` say neither unit nor
statistic and are set aside; those of August 2024 are in ms without saying so. A batch is one measurement: its requests
start and end together, so its times are their mean. The server's `last_ttft` is the slowest request's and `latency`
the whole batch's with requests that may end apart: no metric means them. Where `last_ttft` stands, the server's
`output_throughput` leaves the prefill out, so it is not the system's rate. Sources: sgl-project/sglang
python/sglang/bench_serving.py, bench_one_batch.py, bench_one_batch_server.py; sglang/benchmark/ since 0.5.23.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.content import Content
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers import _serving_block as block
from jobs.parsers import _serving_log as log
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.parsers._serving_json import first_result, keys_of, read_records, read_serving, writer_of_record
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number, is_text

SERVING, ONE_BATCH, ONE_BATCH_SERVER = block.SGLANG, "sglang_bench_one_batch", "sglang_one_batch_server"
_AUGUST_2024 = {"mean": "mean", "p50": "median"}
SERVING_KEYS: Mapping[str, Key] = {
    **keys_of("e2e_latency", "_ms", "ms"),
    "total_throughput": Key("total_tok_s", "tok/s"),
    "output_token_throughput": Key("output_tok_s", "tok/s"),
    **statistic_keys("{}_e2e_latency", "e2e", "ms", _AUGUST_2024),
    **statistic_keys("{}_ttft", "ttft", "ms", _AUGUST_2024),
    **statistic_keys("{}_itl", "itl", "ms", _AUGUST_2024),
}
ONE_BATCH_KEYS: Mapping[str, Key] = {
    "prefill_latency": Key("ttft_mean_ms", "s"),
    "median_decode_latency": Key("itl_p50_ms", "s"),
    "total_latency": Key("e2e_mean_ms", "s"),
    "prefill_throughput": Key("prompt_tok_s", "tok/s"),
    "overall_throughput": Key("total_tok_s", "tok/s"),
}
SERVER_KEYS: Mapping[str, Key] = {
    "input_throughput": Key("prompt_tok_s", "tok/s"),
    "output_throughput": Key("output_tok_s", "tok/s"),
    "overall_throughput": Key("total_tok_s", "tok/s"),
}
_BATCH_LABELS = {"run_name": "name", "batch_size": "batch", "input_len": "isl", "output_len": "osl"}
_BATCH_OTHERS = re.compile(
    r"median_decode_throughput|latency|last_ttft|last_gen_throughput|acc_length|cache_hit_rate|total_output_tokens"
    r"|num_early_stopped|steady_state_\w+|avg_\w+|ttft"
)
_SERVER_INFO = {
    "model_path": "model",
    "served_model_name": "model",
    "tp_size": "tp",
    "pp_size": "pp",
    "ep_size": "ep",
    "dp_size": "dp",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "speculative_algorithm": "spec_decoding",
}
_STEP = re.compile(
    rf"(?:^|.*[\]:>#]\s*)(?P<step>Prefill\.|Decode\.  median|Total\.) *latency: *(?P<latency>{NUMBER}) s,"
    rf" (?:median )?throughput: *(?P<rate>{NUMBER}) token/s\s*"
)
_STEPS = {
    "Prefill.": ("prefill_latency", "prefill_throughput"),
    "Decode.  median": ("median_decode_latency", "median_decode_throughput"),
    "Total.": ("total_latency", "overall_throughput"),
}
_BATCH = re.compile(r".*Decode +\d+\. Batch size: (?P<batch>\d+), latency: .*")


class Sglang:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (SERVING, ONE_BATCH, ONE_BATCH_SERVER)
    reads = "bench_serving of 2024 to 2026 and bench_one_batch: printed, JSON Lines; one_batch_server: JSON Lines"
    landmarks: tuple[str, ...] = (*log.LANDMARKS, "Prefill. latency: ", "Total. latency: ", "Warmup ...")
    keys: Mapping[str, Mapping[str, Key]] = {
        SERVING: {**SERVING_KEYS, **block.KEYS},
        ONE_BATCH: ONE_BATCH_KEYS,
        ONE_BATCH_SERVER: SERVER_KEYS,
    }

    def recognises(self, content: Content) -> str | None:
        """Return which of the benchmarks wrote it."""
        record = first_result(content)
        if record is not None:
            return _writer_of(record)
        text = content.sample
        if ("Prefill. latency: " in text or "Total. latency: " in text) and " token/s" in text:
            return ONE_BATCH
        return SERVING if log.writer_of(content) == SERVING else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a line of JSON, or a printed block."""
        if first_result(content) is not None:
            read = _read_serving if tool == SERVING else _read_batch
            return read_records(content, tool, _writer_of, read)
        return log.read_log(content, tool) if tool == SERVING else _read_steps(content, self.landmarks)


def create() -> Sglang:
    """Return the parser."""
    return Sglang()


def _writer_of(record: Mapping[str, Any]) -> str | None:
    if {"run_name", "batch_size"} <= record.keys():
        if {"prefill_latency", "total_latency", "prefill_throughput"} & record.keys():
            return ONE_BATCH
        return ONE_BATCH_SERVER if {"latency", "overall_throughput"} & record.keys() else None
    found = writer_of_record(record)
    return found if found == SERVING else None


def _read_serving(record: Mapping[str, Any]) -> ParsedRun:
    info = record.get("server_info")
    stated = info if isinstance(info, dict) else {}
    labels = {name: stated[own] for own, name in _SERVER_INFO.items() if _is_stated(stated.get(own))}
    if is_text(record.get("dataset_name")):
        labels["dataset"] = record["dataset_name"]
        if record["dataset_name"].startswith("random"):
            labels.update({"isl": record.get("random_input_len"), "osl": record.get("random_output_len")})
    if is_text(record.get("model")) and "model_id" not in record:
        labels["model"] = record["model"]
    return read_serving(record, SERVING, SERVING_KEYS, labels)


def _is_stated(value: object) -> bool:
    return isinstance(value, str) and value not in ("auto", "none", "")


def _read_batch(record: Mapping[str, Any]) -> ParsedRun:
    tool = _writer_of(record) or ONE_BATCH
    keys = ONE_BATCH_KEYS if tool == ONE_BATCH else SERVER_KEYS
    run = RunBuilder()
    for own, name in _BATCH_LABELS.items():
        run.label(name, record.get(own))
    decode_only = tool == ONE_BATCH_SERVER and "last_ttft" in record
    for own, value in record.items():
        if own == "output_throughput" and decode_only:
            run.reject(own, value, "leaves the prefill out, so it is not the rate of the whole system", "tok/s")
        elif own in keys:
            run.take(own, keys[own], value)
        elif isinstance(value, Number) and own not in _BATCH_LABELS and not _BATCH_OTHERS.fullmatch(own):
            run.unknown(own, value, tool)
    return run.build()


@dataclass(slots=True)
class _Steps:
    """One printed batch: its figures by their JSON names, whether it is the warm-up, and its size."""

    warm_up: bool | None
    batch: str = ""
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return {"prefill_latency", "total_latency"} <= self.figures.keys()


def _steps_of(lines: Sequence[str]) -> Iterator[_Steps]:
    """Yield the printed batches; the warm-up stands after `Warmup ...` or, in a cut text, before `Benchmark ...`."""
    warm_up: bool | None = None
    waiting: list[_Steps] = []
    current: _Steps | None = None
    for line in lines:
        if "Warmup ..." in line or "Benchmark ..." in line:
            for steps in waiting:
                steps.warm_up = "Benchmark ..." in line if steps.warm_up is None else steps.warm_up
            warm_up = "Warmup ..." in line
        elif step := _STEP.fullmatch(line):
            if current is None or step["step"] == "Prefill." or current.is_whole:
                current = _Steps(warm_up)
                waiting.append(current)
            latency, rate = _STEPS[step["step"]]
            current.figures.update({latency: step["latency"], rate: step["rate"]})
        elif current is not None and (size := _BATCH.fullmatch(line)):
            current.batch = size["batch"]
    yield from waiting


def _read_steps(content: Content, landmarks: Sequence[str]) -> ParseResult:
    lines, _ = whole_lines(content, landmarks)
    batches = [steps for steps in _steps_of(lines) if not steps.warm_up]
    runs = []
    for steps in batches:
        run = RunBuilder()
        run.label("batch", number_label(steps.batch))
        for own, value in steps.figures.items():
            if own in ONE_BATCH_KEYS:
                run.take(own, ONE_BATCH_KEYS[own], value)
        if not steps.is_whole:
            run.flag("truncated")
        runs.append(run.build())
    whole = bool(batches) and all(steps.is_whole for steps in batches)
    reason = "the text ends before the total of a batch" if batches else "the text ends before the first batch"
    return ParseResult(
        tool=ONE_BATCH,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else reason,
        runs=without_repeats(run for run in runs if run.metrics),
    )
