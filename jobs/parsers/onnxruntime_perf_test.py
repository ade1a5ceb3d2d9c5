"""Reads what onnxruntime_perf_test prints: one block a run, with ms and s side by side.

Without `-s` (or with a result file) there are no percentiles. Peak working set is memory of the host.
Source: https://github.com/microsoft/onnxruntime onnxruntime/test/perftest/performance_runner.cc and .h, 2019 to 1.2x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Cut, Failed, NoResult, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import without_rank
from jobs.parsers._repeats import without_repeats
from jobs.run_builder import RunBuilder, number_label, without_thousands

TOOL = "onnxruntime_perf_test"
KEYS: Mapping[str, Key] = {
    "Number of inferences per second": Key("req_s", "req/s"),
    "Average inference time cost": Key("latency_mean_ms", "ms"),
    "Average inference time cost total": Key("latency_mean_ms", "ms"),
    "Average inference time cost (excluding warm-up)": Key("latency_mean_ms", "ms"),
    "Average time cost": Key("latency_mean_ms", "ms"),
    **statistic_keys("{} Latency", "latency", "s", {f"p{n}": f"P{n}" for n in (50, 90, 95, 99)}),
}
FIRST = ("Total inference requests", "Total iterations")
LAST, WITHOUT_PERCENTILES = "P999 Latency", ("Peak working set size", "Runs", "Average time cost")
CUT = f"the text of a block ends before {LAST}"
_UNITS = {"sec": "s", "s": "s", "ms": "ms", "us": "us"}
_LINE = re.compile(
    r"\s*(?P<key>[A-Z]\w*(?: \w+)*(?: \(excluding warm-up\))?)(?::| is)\s*"
    r"(?P<value>\S+?)"
    r"(?:\s*(?P<unit>ms|us|sec|s|%|bytes)\b)?\s*%?\s*(?:\([^()]*\))?\s*"
)
_MARKS = ("inference time cost", "Total inference run time:", "Session creation time cost:")
_COMMAND = re.compile(r"(?m)^[^\n#|`]{0,200}\bonnxruntime_perf_test(?:\.exe)?[\"']? ")
_PLACEHOLDER = re.compile(r"[<\[{(].*|[xX.]+")
_ERROR = re.compile(r"(?i)\b(?:exception|error|fail(?:ed|ure)?|terminate|aborted|segmentation|not a valid|no test)\b")


class OnnxruntimePerfTest:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "printed blocks of every version, with and without percentiles"
    landmarks: tuple[str, ...] = (*FIRST, f"{LAST}:")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where its own lines stand, or its command line."""
        text = content.sample
        oldest = "Total iterations:" in text and "Average time cost:" in text
        started = TOOL in text and _COMMAND.search(text) is not None
        return TOOL if oldest or started or any(mark in text for mark in _MARKS) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a block; Failed where the tool ended before it printed one."""
        lines = [without_rank(line) for line in content.text(self.landmarks).split("\n")]
        tail = lines.pop()
        blocks = list(_blocks(lines))
        if not blocks:
            raise _no_result(lines, tail)
        ended = _LINE.fullmatch(tail)
        if ended and ended["key"] == LAST and ended["unit"]:
            blocks[-1].append(ended)
        cut = bool(tail.strip()) and not _is_whole(blocks[-1], cut=True)
        runs = [_read(block, cut=cut and block is blocks[-1]) for block in blocks]
        whole = not any("truncated" in run.flags for run in runs)
        values = [reading for run in runs for reading in run.metrics.values()]
        if not values and any(_PLACEHOLDER.fullmatch(it.raw) for run in runs for it in run.rejected):
            raise Refused("expected numbers, found placeholders: this is a description of the output")
        if not values:
            raise Failed("no block has a usable value: no inference finished") if whole else Cut(CUT)
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
            reason="" if whole else CUT,
            runs=without_repeats(runs),
        )


def _blocks(lines: Sequence[str]) -> Iterator[list[re.Match[str]]]:
    """Yield the matched lines of each block, which starts at the number of requests, or at a key said before."""
    block: list[re.Match[str]] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        again = any(it["key"] == match["key"] and it["value"] != match["value"] for it in block if it["key"] in KEYS)
        if match["key"] in FIRST or again:
            if block:
                yield block
            block = [match]
        elif block or match["key"] in KEYS:
            block.append(match)
    if block:
        yield block


def _is_whole(block: Sequence[re.Match[str]], *, cut: bool) -> bool:
    """Return whether a block has its last line; without percentiles that is the memory, unless the text is cut."""
    keys = [line["key"] for line in block]
    if LAST in keys:
        return True
    ended = any(key in WITHOUT_PERCENTILES for key in keys)
    return ended and not cut and not any(key.endswith(" Latency") for key in keys)


def _read(block: Sequence[re.Match[str]], *, cut: bool) -> ParsedRun:
    run = RunBuilder()
    for line in block:
        key, unit = line["key"], line["unit"]
        if key in FIRST:
            run.fact("requests", number_label(line["value"]))
        elif key in KEYS:
            own_unit = _UNITS.get(unit, unit) if unit else KEYS[key].unit
            run.take_as(key, KEYS[key].metric, own_unit, without_thousands(line["value"]))
    if not _is_whole(block, cut=cut):
        run.flag("truncated")
    return run.build()


def _no_result(lines: Sequence[str], tail: str) -> NoResult:
    said = [line.strip() for line in [*lines, tail] if line.strip()]
    error = next((line for line in reversed(said) if _ERROR.search(line)), None)
    if error:
        return Failed(f"no block of results: {error[:80]}")
    if any(mark in line for line in said for mark in _MARKS):
        return Cut("the text ends before the results")
    return Refused(f"expected a block of results, found only its command; the last line is {said[-1][:80]!r}")


def create() -> OnnxruntimePerfTest:
    """Return the parser."""
    return OnnxruntimePerfTest()
