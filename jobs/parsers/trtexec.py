"""Reads trtexec: its log (TensorRT 7 to 11) and the JSON of `--exportTimes`.

A query is a whole batch with explicit shapes; with the old `--batch` the printed throughput counts its samples.
Source: NVIDIA/TensorRT samples/common/sampleReporting.cpp.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused, UserError
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number
from jobs.units import convert

TOOL = "trtexec"
_WORDS = {"mean": "mean", "p50": "median", "p90": "percentile(90%)", "p95": "percentile(95%)", "p99": "percentile(99%)"}
KEYS: Mapping[str, Key] = {"Throughput": Key("req_s", "req/s"), **statistic_keys("Latency {}", "latency", "ms", _WORDS)}
TIMES: Mapping[str, Key] = statistic_keys("latencyMs, {}", "latency", "ms")
_SUMMARY = "=== Performance summary ==="
_PREFIX = re.compile(r"^\s*(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]\s*)?(?:\[[VIWEF]\]\s?)?")
_BANNER = re.compile(
    r"&&&& (?P<what>RUNNING|PASSED|FAILED) TensorRT\.trtexec(?: \[TensorRT v(?P<number>\d+)\])?(?P<line>.*)"
)
_BATCH = re.compile(r"--batch=(\d+)\b")
_STATISTIC = re.compile(
    r"(?P<name>mean|median|percentile\(\d+(?:\.\d+)?%\)) = (?P<value>\S+) (?P<unit>ms|us|s)(?=,|\s*$)"
)
_THROUGHPUT = re.compile(r"[Tt]hroughput: (?P<value>\S+) qps\s*$")
_OLD = re.compile(
    r"(?P<name>mean|median|percentile): (?P<value>\S+) ms(?: at (?P<percent>\d+)%)?(?: \(end to end .*\))?\s*$"
)
_OLD_SECTIONS = frozenset({"Host Latency", "Host latency", "Enqueue Time", "GPU Compute", "End-to-End Host Latency"})


@dataclass(slots=True)
class _Block:
    """What one call of trtexec printed, as far as the text goes."""

    version: str | None = None
    has_banner: bool = False
    passed: bool = False
    failed: str = ""
    queries: int | None = None
    batch: int | None = None
    errors: list[str] = field(default_factory=list)
    figures: list[tuple[str, str, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    summary: bool = False
    section: str = ""

    @property
    def has_result(self) -> bool:
        return bool(self.figures) or self.summary


class Trtexec:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "log of TensorRT 7.x to 11, --exportTimes JSON"
    landmarks: tuple[str, ...] = ("&&&& ", _SUMMARY, "Timing trace has", "throughput: ")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **TIMES}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for its log, a part of it, or one of its exports."""
        if isinstance(content.outline, list):
            return TOOL if _export_kind(content.outline) else None
        marks = ("TensorRT.trtexec", _SUMMARY, "Timing trace has ", "GPU Compute Time: min = ")
        return TOOL if any(mark in content.sample for mark in marks) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each summary in a log, or one for a list of inferences."""
        if isinstance(content.outline, list):
            return _read_export(content.document)
        lines, cut = whole_lines(content, self.landmarks)
        return _read_log(list(_blocks(lines)), cut)


def create() -> Trtexec:
    """Return the parser."""
    return Trtexec()


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    block = _Block()
    for raw in lines:
        text = raw[_PREFIX.match(raw).end() :].rstrip()  # type: ignore[union-attr]
        banner = _BANNER.search(text)
        starts = banner is not None and banner["what"] == "RUNNING"
        if starts or (block.has_result and (text == _SUMMARY or (block.passed and _is_latency(text)))):
            yield block
            block = _Block()
        _take_line(block, text, raw, banner)
    yield block


def _is_latency(text: str) -> bool:
    return text.startswith("Latency: min = ")


def _take_line(block: _Block, text: str, raw: str, banner: re.Match[str] | None) -> None:
    if banner is not None:
        _take_banner(block, banner)
    elif text == _SUMMARY:
        block.summary = True
    elif found := _THROUGHPUT.match(text):
        block.figures.append(("Throughput", found["value"], "req/s"))
    elif _is_latency(text):
        block.figures += [(f"Latency {m['name']}", m["value"], m["unit"]) for m in _STATISTIC.finditer(text)]
    elif text in _OLD_SECTIONS:
        block.section = text
    elif block.section in ("Host Latency", "Host latency") and (found := _OLD.match(text)):
        name = f"percentile({found['percent']}%)" if found["percent"] else found["name"]
        block.figures.append((f"Latency {name}", found["value"], "ms"))
    elif text.startswith(("Timing trace has ", "Trace has ")):
        number = number_label(text.split(" has ")[1].split(" ")[0])
        block.queries = number if isinstance(number, int) else None
    elif "GPU compute time is unstable" in text or ("unstable" in text and "coefficient of variance" in text):
        block.flags.append("unstable")
    elif "Throughput may be bound by Enqueue Time" in text:
        block.flags.append("enqueue_bound")
    elif "[E]" in raw[:40]:
        block.errors.append(text)
    elif "GPU Compute Time: min = " in text:
        block.summary = True


def _take_banner(block: _Block, banner: re.Match[str]) -> None:
    block.has_banner = True
    block.version = _version(banner["number"]) or block.version
    if batch := _BATCH.search(banner["line"]):
        block.batch = int(batch[1])
    if banner["what"] == "PASSED":
        block.passed = True
    elif banner["what"] == "FAILED":
        block.failed = block.errors[0] if block.errors else "trtexec says FAILED"


def _version(number: str | None) -> str | None:
    """Return 8.5.2 for v8502 and 10.2.0 for v100200: four digits up to 8, two a part from 10 on."""
    if not number:
        return None
    if len(number) <= 4:
        digits = number.ljust(4, "0")
        return f"{digits[0]}.{digits[1]}.{int(digits[2:])}"
    return f"{int(number[:-4])}.{int(number[-4:-2])}.{int(number[-2:])}"


def _read_log(blocks: Sequence[_Block], cut: bool) -> ParseResult:
    results = [block for block in blocks if block.has_result and not block.failed and block.queries != 0]
    version = next((block.version for block in blocks if block.version), None)
    if not results:
        return _without_result(blocks, version)
    runs = []
    for block in results:
        run = _read_block(block)
        if run not in runs:
            runs.append(run)
    problems = [_missing(block) for block in results if not block.passed]
    if cut and not problems and not results[-1].passed:
        problems.append("the text ends inside a line")
    problems += [f"a further call failed: {block.failed}" for block in blocks if block.failed]
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
        reason="; ".join(dict.fromkeys(problems)),
        version=version,
        runs=tuple(runs),
    )


def _without_result(blocks: Sequence[_Block], version: str | None) -> ParseResult:
    failed = next((block.failed for block in blocks if block.failed), "")
    if any(block.queries == 0 for block in blocks):
        failed = failed or "the timed trace has 0 queries and there is no summary"
    errors = [error for block in blocks for error in block.errors]
    if failed or errors:
        return ParseResult(tool=TOOL, outcome=ParseOutcome.FAILED, reason=failed or errors[0], version=version)
    if any(block.passed for block in blocks):
        raise Refused("trtexec passed without a performance summary: it only built an engine, nothing was timed")
    reason = "no performance summary and no PASSED or FAILED line: the text is the head of a log"
    return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason, version=version)


def _missing(block: _Block) -> str:
    names = {name for name, _, _ in block.figures}
    parts = [] if block.has_banner else ["no banner"]
    parts += [] if "Throughput" in names else ["no Throughput line"]
    parts += [] if any(name.startswith("Latency") for name in names) else ["no Latency line"]
    return ", ".join([*parts, "no PASSED line: the text is cut or a fragment"])


def _read_block(block: _Block) -> ParsedRun:
    run = RunBuilder()
    run.label("batch", block.batch)
    for name, value, unit in block.figures:
        if name in KEYS:
            run.take(name, Key(KEYS[name].metric, unit), value)
    if not block.passed:
        run.flag("truncated")
    for flag in block.flags:
        run.flag(flag)
    return run.build()


def _export_kind(document: Sequence[object]) -> str | None:
    """Return `times` or `profile` for the lists that trtexec exports."""
    first = document[0] if document else None
    if not isinstance(first, dict):
        return None
    if "count" in first and len(first) == 1:
        second = document[1] if len(document) > 1 else {"averageMs": ""}
        return "profile" if isinstance(second, dict) and "averageMs" in second else None
    if {"latencyMs", "computeMs"} <= first.keys() or {"inMs", "computeMs", "outMs"} <= first.keys():
        return "times"
    return None


def _read_export(document: Any) -> ParseResult:
    if _export_kind(document) == "profile":
        raise Refused("--exportProfile holds times per layer, no result of the whole engine")
    latencies = [_latency_ms(entry) for entry in document]
    if not latencies:
        raise Failed("the list holds no inference")
    ordered = sorted(latencies)
    run = RunBuilder()
    values = {"mean": statistics.fmean(ordered), "median": statistics.median(ordered)}
    values |= {f"{percent}th percentile": _percentile(ordered, percent) for percent in (90, 95, 99)}
    for own_key, key in TIMES.items():
        run.take(
            f"{own_key} over {len(ordered)} inferences", key, repr(values[own_key.split(", ")[1]]), samples=len(ordered)
        )
    return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(run.build(),))


def _latency_ms(entry: object) -> float:
    parts = ("latencyMs",) if isinstance(entry, dict) and "latencyMs" in entry else ("inMs", "computeMs", "outMs")
    found = [entry.get(part) for part in parts] if isinstance(entry, dict) else [None]
    if not all(isinstance(value, Number) for value in found):
        raise Refused("expected a list of inferences with latencyMs, or inMs, computeMs and outMs")
    try:
        return sum(convert(str(value), "ms", "ms") for value in found)
    except UserError as error:
        raise Refused(f"an inference has no usable time: {error}") from error


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the percentile as trtexec computes it: the largest value after the slowest share is left out."""
    excluded = int((1 - percent / 100) * len(ordered))
    return ordered[max(len(ordered) - 1 - excluded, 0)]
