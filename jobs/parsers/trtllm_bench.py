"""Reads trtllm-bench: its printed report (0.17 to 1.3) and `--report_json`.

The first lines of a log name the version that runs; the one in the report can be short or wrong (1.2 in a 1.3.0rc12).
"Total Latency" is the length of the run. Source: NVIDIA/TensorRT-LLM tensorrt_llm/bench/dataclasses/reporting.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder, number_label

TOOL = "trtllm-bench"
_P = {name: name for name in ("p50", "p90", "p95", "p99")}
_LOUD = {name: name.upper() for name in _P}
KEYS: Mapping[str, Key] = {
    "Token Throughput (tokens/sec)": Key("output_tok_s", "tok/s"),
    "Total Output Throughput (tokens/sec)": Key("output_tok_s", "tok/s"),
    "Total Token Throughput (tokens/sec)": Key("total_tok_s", "tok/s"),
    "Request Throughput (req/sec)": Key("req_s", "req/s"),
    **{
        f"Per GPU Output Throughput ({unit})": Key("output_tok_s_per_gpu", "tok/s/GPU")
        for unit in ("tps/gpu", "tokens/sec/gpu")
    },
    "Per User Output Throughput (tokens/sec/user)": Key("tok_s_user", "tok/s/user"),
    "Per User Output Throughput (tps/user)": Key("tok_s_user", "tok/s/user"),
    "Per User Output Throughput [w/ ctx] (tps/user)": Key("tok_s_user", "tok/s/user"),
    "Average request latency (ms)": Key("e2e_mean_ms", "ms"),
    "Average time-to-first-token [TTFT] (ms)": Key("ttft_mean_ms", "ms"),
    "Average time-to-first-token (ms)": Key("ttft_mean_ms", "ms"),
    "Average time-per-output-token [TPOT] (ms)": Key("tpot_mean_ms", "ms"),
    "Average time-per-output-token (ms)": Key("tpot_mean_ms", "ms"),
    "Average GPU Power (W)": Key("power_w", "W"),
    "Total Energy (J)": Key("energy_j", "J"),
    **statistic_keys("[Latency] {}", "e2e", "ms", _LOUD),
    **statistic_keys("[TTFT] {}", "ttft", "ms", _LOUD),
    **statistic_keys("[TPOT] {}", "tpot", "ms", _LOUD),
}
REPORT: Mapping[str, Key] = {
    "performance.request_throughput_req_s": Key("req_s", "req/s"),
    "performance.system_output_throughput_tok_s": Key("output_tok_s", "tok/s"),
    "performance.system_total_throughput_tok_s": Key("total_tok_s", "tok/s"),
    "performance.output_throughput_per_user_tok_s": Key("tok_s_user", "tok/s/user"),
    "performance.output_throughput_per_gpu_tok_s": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "performance.avg_request_latency_ms": Key("e2e_mean_ms", "ms"),
    **statistic_keys("performance.request_latency_percentiles_ms.{}", "e2e", "ms", _P),
    "streaming_metrics.avg_ttft_ms": Key("ttft_mean_ms", "ms"),
    "streaming_metrics.avg_tpot_ms": Key("tpot_mean_ms", "ms"),
    **statistic_keys("streaming_metrics.ttft_percentiles.{}", "ttft", "ms", _P),
    **statistic_keys("streaming_metrics.tpot_percentiles.{}", "tpot", "ms", _P),
    "energy.total_energy_j": Key("energy_j", "J"),
    "energy.average_gpu_power": Key("power_w", "W"),
}
_REPORT_LABELS = {
    "engine.model": "model",
    "engine.dtype": "dtype",
    "engine.kv_cache_dtype": "kv_cache_dtype",
    "engine.quantization": "quantization",
    "engine.backend": "backend",
    "machine.name": "gpu",
    "world_info.tp_size": "tp",
    "world_info.pp_size": "pp",
    "world_info.ep_size": "ep",
    "world_info.world_size": "gpu_count",
}
_REPORT_FACTS = {
    "request_info.num_requests": "requests",
    "request_info.avg_num_concurrent_requests": "concurrency",
    "request_info.avg_input_length": "isl_mean",
    "request_info.avg_output_length": "osl_mean",
}
_LOG_LABELS = {
    "Model": "model",
    "Dtype": "dtype",
    "KV Cache Dtype": "kv_cache_dtype",
    "Quantization": "quantization",
    "TP Size": "tp",
    "PP Size": "pp",
    "EP Size": "ep",
}
_LOG_FACTS = {
    "Number of requests": "requests",
    "Number of concurrent requests": "concurrency",
    "Average Input Length (tokens)": "isl_mean",
    "Average Output Length (tokens)": "osl_mean",
}
_OVERVIEW = "PERFORMANCE OVERVIEW"
_HEADER = re.compile(r"(?:\S.*\] )?= (?P<name>[A-Za-z][A-Za-z +]+?)\s*")
_PAIR = re.compile(r"\s*(?P<key>(?:\[(?:Latency|TTFT|TPOT|GTPS)\] )?[A-Za-z][^:]*?)\s*:(?:\s+(?P<value>\S.*?))?\s*")
_RUNNING = re.compile(r"\[TensorRT[- ]LLM\] TensorRT[- ]LLM version: (\S+)")
_MACHINE = re.compile(r"\s*(?P<gpu>[^,]+), memory [\d.]+ GB.*")
_CRASH = re.compile(
    r"Traceback \(most recent call last\)|^\S*(?:Error|Exception): |\[TRT-LLM\] \[E\]|Segmentation fault", re.M
)
_VERSIONS = ("TensorRT-LLM Version", "TensorRT LLM Version")
_NONE = frozenset({"none", "n/a", "null"})


@dataclass(slots=True)
class _Report:
    """The pairs of one printed report; a key of the overview that stands without a value is in `empty`."""

    pairs: dict[str, str] = field(default_factory=dict)
    overview: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    gpu: str | None = None
    begun: bool = False

    @property
    def is_whole(self) -> bool:
        started = any(key.startswith("[Latency] ") for key in self.overview)
        ended = "[Latency] AVERAGE" in self.overview or "[Latency] MAXIMUM" in self.overview
        return "Total Latency (ms)" in self.overview and not self.empty and (ended or not started)


class TrtllmBench:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "printed report of 0.17 to 1.3, --report_json"
    landmarks: tuple[str, ...] = (f"= {_OVERVIEW}", "= ENGINE DETAILS", "LLM version: ")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **REPORT}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for a report, a part of one, or a log of the tool without one."""
        outline = content.outline
        if isinstance(outline, dict):
            parts = {"engine", "world_info", "request_info", "performance"} & outline.keys()
            return TOOL if len(parts) >= 2 and "engine" in parts else None
        marks = (f"= {_OVERVIEW}", "= MACHINE DETAILS", "= WORLD + RUNTIME INFORMATION", "= ENGINE DETAILS")
        calls = ("Preparing to run throughput benchmark", "Preparing to run latency benchmark", "trtllm-bench ")
        return TOOL if any(mark in content.sample for mark in marks + calls) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each report."""
        if content.outline is not None:
            return _read_document(content.document)
        lines, cut = whole_lines(content, self.landmarks)
        return _read_log(lines, cut)


def create() -> TrtllmBench:
    """Return the parser."""
    return TrtllmBench()


def _reports(lines: Sequence[str]) -> Iterator[_Report]:
    """Yield the printed reports; one begins anew at a section that stands before the overview."""
    report, section = _Report(), ""
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is not None:
            section = header["name"].upper()
            if report.begun and section != "DATASET DETAILS":
                yield report
                report = _Report()
            report.begun = section == _OVERVIEW or (report.begun and section == "DATASET DETAILS")
        elif section == "MACHINE DETAILS" and (machine := _MACHINE.fullmatch(line)):
            report.gpu = machine["gpu"]
        elif section and section != "DATASET DETAILS" and (pair := _PAIR.fullmatch(line)):
            _take_pair(report, section, pair)
    yield report


def _take_pair(report: _Report, section: str, pair: re.Match[str]) -> None:
    key = " ".join(pair["key"].split())
    if section == _OVERVIEW and pair["value"] is None and key in KEYS:
        report.empty.append(key)
    elif pair["value"] is not None:
        (report.overview if section == _OVERVIEW else report.pairs).setdefault(key, pair["value"])


def _read_log(lines: Sequence[str], cut: bool) -> ParseResult:
    text = "\n".join(lines)
    found = list(_reports(lines))
    running = _RUNNING.search(text)
    printed = next(
        (v for r in found if (v := r.pairs.get("TensorRT-LLM Version") or r.pairs.get("TensorRT LLM Version"))), None
    )
    version = running[1] if running else printed
    reports = [report for report in found if report.overview.keys() & KEYS.keys()]
    if not reports:
        return _without_report(found, text, version)
    runs = []
    for report in reports:
        run = _read_report(report, doubtful=running is None and version is not None and is_short(version))
        if run not in runs:
            runs.append(run)
    open_ends = [report for report in reports if not report.is_whole]
    reason = ""
    if open_ends:
        empty = [key for report in open_ends for key in report.empty]
        reason = f"the text ends inside {_OVERVIEW}" + "".join(f"; {key} has no value" for key in empty)
    outcome = ParseOutcome.PARTIAL if open_ends else ParseOutcome.OK
    return ParseResult(tool=TOOL, outcome=outcome, reason=reason, version=version, runs=tuple(runs))


def is_short(version: str) -> bool:
    """Return whether a version names no release: two components are a line of releases."""
    return re.fullmatch(r"\d+(\.\d+)?", version) is not None


def _without_report(found: Sequence[_Report], text: str, version: str | None) -> ParseResult:
    if crash := _CRASH.search(text):
        line = next(line for line in text[crash.start() :].splitlines() if line.strip())
        last = [line for line in text.splitlines() if re.match(r"\S*(?:Error|Exception)\b", line)]
        raise Failed(f"the benchmark failed: {(last[-1] if last else line).strip()[:200]}")
    if any(report.pairs for report in found) or any(report.begun for report in found):
        reason = f"the text ends before {_OVERVIEW}"
        return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason, version=version)
    if any(report.gpu for report in found):
        raise Refused("only a MACHINE DETAILS block, no result")
    if "[TRT-LLM]" in text:
        return ParseResult(
            tool=TOOL, outcome=ParseOutcome.PARTIAL, reason="the log ends before the report", version=version
        )
    raise Refused(f"a text about trtllm-bench without a {_OVERVIEW}, no result")


def _read_report(report: _Report, *, doubtful: bool) -> ParsedRun:
    run = RunBuilder()
    stated = {**report.overview, **report.pairs}
    for own, name in _LOG_LABELS.items():
        value = stated.get(own, "")
        if value.lower() not in _NONE and value:
            run.label(name, number_label(value) if name in ("tp", "pp", "ep") else value)
    for own, name in _LOG_FACTS.items():
        run.fact(name, number_label(stated.get(own, "")))
    run.label("gpu", report.gpu)
    for own, value in report.overview.items():
        if own in KEYS:
            run.take(own, KEYS[own], value)
    if not report.is_whole:
        run.flag("truncated")
    if doubtful:
        run.flag("version_unreliable")
    return run.build()


def _read_document(document: Any) -> ParseResult:
    """Return the one result of `--report_json`."""
    if not isinstance(document, dict) or not isinstance(document.get("performance"), dict):
        raise Refused("expected the object `performance` in a report of trtllm-bench")
    stated = dict(_flat(document))
    run = RunBuilder()
    for own, name in _REPORT_LABELS.items():
        value = stated.get(own)
        run.label(name, None if str(value).lower() in _NONE else value)
    for own, name in _REPORT_FACTS.items():
        value = stated.get(own)
        run.fact(name, float(str(value)) if name != "requests" and _is_number(value) else value)
    for own, key in REPORT.items():
        run.take(own, key, stated.get(own))
    version = stated.get("engine.version")
    version = str(version) if version is not None and str(version).lower() not in _NONE else None
    if version is not None and is_short(version):
        run.flag("version_unreliable")
    if not run.metrics:
        raise Failed("the report has no usable value under `performance`")
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, version=version, runs=(run.build(),))


def _is_number(value: object) -> bool:
    return value is not None and isinstance(number_label(str(value)), int | float)


def _flat(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested objects under dotted names."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield f"{before}{name}", value
