"""vLLM's offline benchmarks, throughput and latency: what they print, and their keys.

Throughput counts prompt and output tokens as one (`tokens/s` before 2025, `total tokens/s` since). Latency is the time
of a whole batch, whose requests start and end together, in seconds. Sources: vllm/benchmarks/{throughput,latency}.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._arguments import engine_labels, find_arguments
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number

THROUGHPUT, LATENCY = "vllm_bench_throughput", "vllm_bench_latency"
THROUGHPUT_KEYS: Mapping[str, Key] = {
    "requests_per_second": Key("req_s", "req/s"),
    "tokens_per_second": Key("total_tok_s", "tok/s"),
    "requests/s": Key("req_s", "req/s"),
    "tokens/s": Key("total_tok_s", "tok/s"),
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
LANDMARKS = ("Throughput: ", "percentile latency: ", "Avg latency: ")
_OTHERS = re.compile(r"elapsed_time|num_requests|total_num_tokens|std_latency|latencies|percentiles")
_THROUGHPUT = re.compile(
    rf"(?:^|.*[\s\]:>])Throughput: (?P<figures>{NUMBER} requests/s, {NUMBER} (?:total )?tokens/s.*)"
)
_FIGURE = re.compile(rf"(?P<value>{NUMBER}) (?P<key>requests/s|(?:total |output )?tokens/s)(?=[,.\s]|$)")
_LATENCY = re.compile(
    rf"(?:^|.*[\s\]:>])(?P<key>Avg latency|\d+% percentile latency): (?P<value>{NUMBER}|nan|inf) seconds\s*"
)
_CRASH = re.compile(r"benchmarks/(?P<which>throughput|latency)\.py|benchmark_(?P<old>throughput|latency)\.py")
_ERROR = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)


def printed_kind(text: str) -> str | None:
    """Return which of the two printed a text, or crashed in it."""
    if "requests/s, " in text and any(_THROUGHPUT.fullmatch(line) for line in _lines_with(text, "Throughput: ")):
        return THROUGHPUT
    if any(_LATENCY.fullmatch(line) for mark in LANDMARKS[1:] for line in _lines_with(text, mark)):
        return LATENCY
    crash = _CRASH.search(text) if "Traceback (most recent call last)" in text else None
    if crash:
        return THROUGHPUT if "throughput" in (crash["which"], crash["old"]) else LATENCY
    return None


def _lines_with(text: str, mark: str) -> Iterator[str]:
    at = text.find(mark)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        yield text[start : end if end >= 0 else len(text)][:2000]
        at = text.find(mark, at + len(mark))


def json_kind(record: Mapping[str, Any]) -> str | None:
    """Return which of the two wrote a result object."""
    if {"avg_latency", "latencies"} <= record.keys() or {"avg_latency", "percentiles"} <= record.keys():
        return LATENCY
    return THROUGHPUT if {"elapsed_time", "num_requests", "total_num_tokens"} <= record.keys() else None


def read_result(record: Mapping[str, Any], tool: str, labels: Mapping[str, object]) -> ParsedRun:
    """Return the run of a result object."""
    run = RunBuilder()
    for name, label in labels.items():
        run.label(name, label)
    run.fact("requests", record.get("num_requests"))
    keys = THROUGHPUT_KEYS if tool == THROUGHPUT else LATENCY_KEYS
    percentiles = record.get("percentiles")
    stated = {f"percentiles.{p}": value for p, value in percentiles.items()} if isinstance(percentiles, dict) else {}
    latencies = record.get("latencies")
    samples = len(latencies) if isinstance(latencies, list) and latencies else None
    for own, value in {**record, **stated}.items():
        if own in keys:
            run.take(own, keys[own], value, samples=samples)
        elif isinstance(value, Number) and not own.startswith("percentiles.") and not _OTHERS.fullmatch(own):
            run.unknown(own, value, tool)
    return run.build()


def read_printed(content: Content, tool: str) -> ParseResult:
    """Return one run a printed result; Failed for a crash without any."""
    lines, _ = whole_lines(content, LANDMARKS)
    found = list(_throughputs(lines) if tool == THROUGHPUT else _latencies(lines))
    runs = without_repeats(run for run in found if run.metrics)
    if not runs:
        if errors := _ERROR.findall("\n".join(lines)):
            raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}")
        return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason="the text ends before a result")
    cut = any("truncated" in run.flags for run in runs)
    return ParseResult(
        tool=tool,
        outcome=ParseOutcome.PARTIAL if cut else ParseOutcome.OK,
        reason="the text ends before the 99% percentile latency" if cut else "",
        runs=runs,
    )


def _labelled(labels: Mapping[str, Label]) -> RunBuilder:
    run = RunBuilder()
    for name, value in labels.items():
        run.label(name, value)
    return run


def _throughputs(lines: Sequence[str]) -> Iterator[ParsedRun]:
    labels: dict[str, Label] = {}
    inaccurate = False
    for line in lines:
        if "Namespace(" in line:
            labels = engine_labels(find_arguments(line))
        elif "metrics are not accurate" in line:
            inaccurate = True
        elif "Throughput: " in line and (match := _THROUGHPUT.fullmatch(line)):
            run = _labelled(labels)
            for figure in _FIGURE.finditer(match["figures"]):
                run.take(figure["key"], THROUGHPUT_KEYS[figure["key"]], figure["value"])
            if inaccurate:
                run.flag("tool_warnings")
            inaccurate = False
            yield run.build()


def _latencies(lines: Sequence[str]) -> Iterator[ParsedRun]:
    labels: dict[str, Label] = {}
    printed: dict[str, str] = {}
    for line in lines:
        if "Namespace(" in line:
            labels = engine_labels(find_arguments(line))
        elif " latency: " in line and (match := _LATENCY.fullmatch(line)):
            if match["key"] in printed:
                yield _latency(labels, printed)
                printed = {}
            printed[match["key"]] = match["value"]
    if printed:
        yield _latency(labels, printed)


def _latency(labels: Mapping[str, Label], printed: Mapping[str, str]) -> ParsedRun:
    run = _labelled(labels)
    for own, value in printed.items():
        if own in LATENCY_KEYS:
            run.take(own, LATENCY_KEYS[own], value)
    if not {"Avg latency", "99% percentile latency"} <= printed.keys():
        run.flag("truncated")
    return run.build()
