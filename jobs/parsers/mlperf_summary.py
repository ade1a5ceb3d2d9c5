"""Reads MLPerf LoadGen's `mlperf_log_summary.txt`, which it also prints: nanoseconds, one block a test.

Source: https://github.com/mlcommons/inference loadgen/results.cc and logging.cc, 2019 to 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseResult
from jobs.metrics import Key
from jobs.parsers._lines import without_rank
from jobs.parsers._mlperf import SCENARIOS, latency_keys, of_inference, result_of
from jobs.run_builder import RunBuilder, number_label, without_thousands

TOOL = "mlperf_loadgen_summary"
BANNER = "MLPerf Results Summary"
RATES: Mapping[str, Key] = {
    "Completed samples per second": Key("req_s", "req/s"),
    "Samples per second": Key("req_s", "req/s"),
    "QPS w/ loadgen overhead": Key("req_s", "req/s"),
    "Completed tokens per second": Key("output_tok_s", "tok/s"),
    "Tokens per second": Key("output_tok_s", "tok/s"),
    "TPS w/ loadgen overhead": Key("output_tok_s", "tok/s"),
}
LATENCIES: Mapping[str, Key] = {
    **latency_keys("{} percentile latency (ns)", "Mean latency (ns)", "e2e"),
    **latency_keys("{} percentile first token latency (ns)", "Mean First Token latency (ns)", "ttft"),
    **latency_keys("{} percentile time to output token (ns)", "Mean Time to Output Token (ns)", "tpot"),
    "Mean Time per Output Token (ns)": Key("tpot_mean_ms", "ns"),
}
KEYS: Mapping[str, Key] = {**RATES, **LATENCIES}
INFERRED = ("Tokens per second (inferred)", "Completed tokens per second (inferred)")
"""Samples times a fixed number of tokens: computed, not counted."""
_LINE = re.compile(r"\s*(?P<key>[A-Za-z0-9][\w ./()-]*?)\s*:\s*(?P<value>\S+)\s*")
_TEXT = re.compile(r"\s*(?P<key>Scenario|Mode|Result is)\s*:\s*(?P<value>\S.*?)\s*")
_END = re.compile(
    r"\s*(?:No errors encountered during test\.|(?P<errors>\d+) ERRORS? encountered\. See detailed log\.)\s*"
)
_WARNINGS = re.compile(r"\s*\d+ warnings? encountered\. See detailed log\.\s*")
_TOKENS = ("TTFT Early Stopping", "First Token", "first token", "TPS w/", "ttft_latency", "Output Token")


class MlperfSummary:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "mlperf_log_summary.txt of LoadGen 0.5 to 6.x"
    landmarks: tuple[str, ...] = (BANNER,)
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where its banner, its last sentences or its results stand."""
        text = content.sample
        if ":::MLLOG" in text:
            return None
        fragment = "percentile latency (ns)" in text and ("Result is : " in text or "Additional Stats" in text)
        ended = "encountered during test." in text or "encountered. See detailed log." in text
        return TOOL if BANNER in text or fragment or ended else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a test; refused in accuracy mode, which prints no figures."""
        lines, cut = _lines(content, self.landmarks)
        blocks = list(_blocks(lines))
        if not blocks:
            errors = next((match["errors"] for line in lines if (match := _END.fullmatch(line))), None)
            if errors:
                raise Failed(f"no figures, and LoadGen counts {errors} errors")
            if not any("Result is" in line or "(ns)" in line for line in lines):
                raise Refused("expected LoadGen's results, found no header and no figures: it ran in accuracy mode")
            raise Cut("the text has no scenario: it does not start where a LoadGen summary starts")
        blocks_read = [_Block(block) for block in blocks]
        missing = next((block.missing for block in blocks_read if block.missing), "")
        return result_of(TOOL, [block.run for block in blocks_read], missing or ("the last line is cut" if cut else ""))


def _lines(content: Content, landmarks: Sequence[str]) -> tuple[list[str], bool]:
    """Return the lines that can be trusted, and whether one was left out; the closing sentence needs no line end."""
    lines = [without_rank(line) for line in content.text(landmarks).split("\n")]
    if _END.fullmatch(lines[-1]):
        return lines, False
    last = lines.pop()
    return lines, bool(last.strip())


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines of each test, which starts at its scenario."""
    block: list[str] | None = None
    for line in lines:
        match = _TEXT.fullmatch(line)
        if match and match["key"] == "Scenario":
            if block is not None:
                yield block
            block = []
        elif BANNER in line and block is not None:
            yield block
            block = None
        if block is not None:
            block.append(line)
            if _END.fullmatch(line):
                yield block
                block = None
    if block is not None:
        yield block


class _Block:
    """One test: `run`, and in `missing` why it is not whole."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        texts = {match["key"]: match["value"] for line in reversed(lines) if (match := _TEXT.fullmatch(line))}
        self._scenario, self._validity = texts["Scenario"], texts.get("Result is")
        self._ended = any(_END.fullmatch(line) for line in lines)
        self._parameters = any("Test Parameters Used" in line for line in lines)
        self.missing = "" if self._ended else "the text ends before the number of errors"
        if self._validity is None:
            self.missing = "the text ends before LoadGen says whether the result is valid"
        self.run = self._read()

    def _read(self) -> ParsedRun:
        run = RunBuilder()
        run.label("scenario", self._scenario if self._scenario in SCENARIOS else None)
        if self.missing:
            run.flag("truncated")
        for line in self._lines:
            self._note(run, line)
        if self._validity == "INVALID":
            run.flag("invalid_result")
        elif self._validity == "VALID":
            self._take(run)
        elif self._validity is not None:
            run.reject("Result is", self._validity, "expected VALID or INVALID")
        return run.build()

    def _note(self, run: RunBuilder, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match and match["key"] == "samples_per_query":
            run.fact("samples_per_query", number_label(match["value"]))
        elif (end := _END.fullmatch(line)) and end["errors"] not in (None, "0"):
            run.flag("tool_errors")
        elif _WARNINGS.fullmatch(line):
            run.flag("tool_warnings")

    def _take(self, run: RunBuilder) -> None:
        if self._scenario not in SCENARIOS:
            run.reject("Scenario", self._scenario, f"expected one of {', '.join(sorted(SCENARIOS))}")
            return
        text = "\n".join(self._lines)
        tokens = any(word in text for word in _TOKENS) or re.search(
            r"(?im)^\s*(?:completed )?tokens per second *:", text
        )
        known = bool(tokens) or self._parameters or re.search(r"(?m)^Early Stopping Result", text) is not None
        for line in self._lines:
            if line.strip().startswith(("Test Parameters Used", "Per-sample latency")):
                break
            match = _LINE.fullmatch(line)
            if match is None:
                continue
            key, value = (
                match["key"].replace("time per output token", "time to output token"),
                without_thousands(match["value"]),
            )
            if key in RATES:
                run.take(key, RATES[key], value)
            elif key in LATENCIES and self._scenario != "Offline" and known:
                run.take(key, LATENCIES[key] if tokens else of_inference(LATENCIES[key]), value)
            elif key in INFERRED:
                run.reject(key, value, "inferred from the number of samples, not counted", "tok/s")


def create() -> MlperfSummary:
    """Return the parser."""
    return MlperfSummary()
