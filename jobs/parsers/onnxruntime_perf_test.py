"""Reads what onnxruntime_perf_test prints: one block a run, with ms and s side by side.

Source: onnxruntime/test/perftest/performance_runner.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder, number_label

TOOL = "onnxruntime_perf_test"
FIRST, LAST = "Total inference requests:", "P999 Latency:"
KEYS: Mapping[str, Key] = {
    "Number of inferences per second": Key("req_s", "req/s"),
    "Average inference time cost": Key("latency_mean_ms", "ms"),
    **statistic_keys("{} Latency", "latency", "s", {f"p{n}": f"P{n}" for n in (50, 90, 95, 99)}),
}
_LINE = re.compile(r"\s*(?P<key>[A-Z][\w ]+?):\s*(?P<value>\S+)(?: (?P<unit>\S+))?\s*")


class OnnxruntimePerfTest:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "printed block of 1.x"
    landmarks: tuple[str, ...] = (FIRST, LAST)
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where its own lines stand, or its command line."""
        marks = ("Average inference time cost:", "Total inference run time:", "onnxruntime_perf_test ")
        return TOOL if any(mark in content.sample for mark in marks) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a block; Failed where the tool ended before it printed one."""
        lines, cut = whole_lines(content, self.landmarks)
        blocks = list(_blocks(lines))
        if not blocks:
            raise Failed(f"no block of results; the last line is {lines[-1].strip()[:80] if lines else ''!r}")
        runs = tuple(_read(block) for block in blocks)
        whole = all("truncated" not in run.flags for run in runs) and not cut
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
            reason="" if whole else f"the text ends before {LAST.rstrip(':')}",
            runs=runs,
        )


def _blocks(lines: Sequence[str]) -> Iterator[list[re.Match[str]]]:
    """Yield the matched lines of each block, which starts at the number of requests."""
    block: list[re.Match[str]] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        if line.lstrip().startswith(FIRST):
            if block:
                yield block
            block = [match]
        elif block:
            block.append(match)
    if block:
        yield block


def _read(block: Sequence[re.Match[str]]) -> ParsedRun:
    run = RunBuilder()
    run.label("requests", number_label(block[0]["value"]))
    for line in block:
        key, value, unit = line["key"], line["value"], line["unit"]
        if key in KEYS:
            run.take(key, Key(KEYS[key].metric, unit or KEYS[key].unit), value)
    if block[-1]["key"] != LAST.rstrip(":") and not any(line["key"] == LAST.rstrip(":") for line in block):
        run.flag("truncated")
    return run.build()


def create() -> OnnxruntimePerfTest:
    """Return the parser."""
    return OnnxruntimePerfTest()
