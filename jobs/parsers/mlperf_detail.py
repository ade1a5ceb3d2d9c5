"""Reads MLPerf LoadGen's `mlperf_log_detail.txt`: one `:::MLLOG {json}` a line, results in nanoseconds.

Source: https://github.com/mlcommons/inference loadgen/results.cc, loadgen.cc and logging.cc, 1.0 to 6.x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, NoResult, Refused
from jobs.measurements import Label, ParsedRun, ParseResult
from jobs.metrics import Key
from jobs.parsers._lines import whole_lines
from jobs.parsers._mlperf import SCENARIOS, latency_keys, of_inference, result_of
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, decode, is_text

TOOL = "mlperf_loadgen_detail"
MARK = ":::MLLOG "
RATES: Mapping[str, Key] = {
    "result_completed_samples_per_sec": Key("req_s", "req/s"),
    "result_samples_per_second": Key("req_s", "req/s"),
    "result_qps_with_loadgen_overhead": Key("req_s", "req/s"),
    "result_completed_tokens_per_second": Key("output_tok_s", "tok/s"),
    "result_tokens_per_second": Key("output_tok_s", "tok/s"),
}
_SAMPLE = latency_keys("result_{}_percentile_latency_ns", "result_mean_latency_ns", "e2e")
_QUERY = latency_keys("result_{}_percentile_per_query_latency_ns", "result_mean_query_latency_ns", "e2e")
_TOKEN: Mapping[str, Key] = {
    **latency_keys("result_first_token_{}_percentile_latency_ns", "result_first_token_mean_latency_ns", "ttft"),
    **latency_keys("result_time_per_output_token_{}_percentile_ns", "result_time_to_output_token_mean", "tpot"),
    "result_time_per_output_token_mean": Key("tpot_mean_ms", "ns"),
}
KEYS: Mapping[str, Key] = {**RATES, **_SAMPLE, **_QUERY, **_TOKEN}
FALLBACK = "result_token_throughput_with_loadgen_overhead"
"""What LoadGen 4.0 has of a single stream instead of the completed tokens."""
_WANTED = re.compile(
    r'"key":\s*"(?:result_|effective_scenario|effective_test_mode|early_stopping_|loadgen_version|test_datetime|'
    r'num_errors)|"is_(?:error|warning)":\s*true'
)
_COUNTS_ERRORS_SINCE = (5, 1)


class MlperfDetail:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "mlperf_log_detail.txt of LoadGen 1.0 to 6.x"
    landmarks: tuple[str, ...] = ('"result_validity"', '"loadgen_version"', '"effective_scenario"', '"num_errors"')
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where lines of LoadGen stand (training logs have the same mark)."""
        text = content.sample
        ours = MARK in text and ("mlperf::logging" in text or '"loadgen_version"' in text)
        return TOOL if ours else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a test; refused in accuracy mode, failed where errors stand and no figures."""
        lines, cut = whole_lines(content, self.landmarks)
        blocks, damaged = _blocks(lines)
        tests = [block for block in blocks if block.gives("result_")]
        if not tests:
            raise _no_result(blocks, cut)
        unfinished = next((test.missing for test in tests if test.missing), "")
        if not unfinished and cut:
            unfinished = "the last line is cut"
        if not unfinished and damaged:
            unfinished = f"{damaged} lines cannot be read"
        return result_of(TOOL, [test.read() for test in tests], unfinished)


class _Block:
    """The entries of one test, the first of each key."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.errors = self.warnings = False

    def add(self, entry: Mapping[str, Any]) -> None:
        metadata = entry.get("metadata")
        if isinstance(metadata, dict):
            self.errors |= metadata.get("is_error") is True
            self.warnings |= metadata.get("is_warning") is True
        self.values.setdefault(entry["key"], entry.get("value"))

    def gives(self, start: str) -> bool:
        return any(key.startswith(start) for key in self.values)

    @property
    def missing(self) -> str:
        """Why the test is not whole; empty where it is."""
        if "result_validity" not in self.values:
            return "the text ends before LoadGen says whether the result is valid"
        version = re.match(r"(\d+)\.(\d+)", str(self.values.get("loadgen_version")))
        counts_errors = version is not None and (int(version[1]), int(version[2])) >= _COUNTS_ERRORS_SINCE
        if counts_errors and "num_errors" not in self.values:
            return "the text ends before the number of errors"
        return "" if self.gives("result_99.90_percentile_") else "the text ends before the last latency"

    def read(self) -> ParsedRun:
        run = RunBuilder()
        scenario, validity = self.values.get("effective_scenario"), self.values.get("result_validity")
        run.label("scenario", scenario if scenario in SCENARIOS else None)
        for fact, key in (("loadgen_version", "loadgen_version"), ("date", "test_datetime")):
            run.fact(fact, self.values.get(key) if is_text(self.values.get(key)) else None)
        counted = self.values.get("num_errors")
        if self.errors or (isinstance(counted, Number) and counted.strip("0") != ""):
            run.flag("tool_errors")
        if self.warnings:
            run.flag("tool_warnings")
        if self.missing:
            run.flag("truncated")
        if validity == "INVALID":
            run.flag("invalid_result")
        elif validity == "VALID" and scenario in SCENARIOS:
            self._take(run, str(scenario))
        elif validity is not None:
            run.reject("result_validity", validity, "expected VALID or INVALID, and a scenario that is known")
        return run.build()

    def _take(self, run: RunBuilder, scenario: str) -> None:
        tokens = self.gives("early_stopping_ttft_") or self.gives("result_first_token_")
        known = tokens or not self.missing or "early_stopping_result" in self.values
        latencies = {**(_QUERY if scenario.startswith("MultiStream") else _SAMPLE), **_TOKEN}
        if not tokens:
            latencies = {name: of_inference(key) for name, key in latencies.items()}
        wanted = {**RATES, **(latencies if known and scenario != "Offline" else {})}
        for name, value in self.values.items():
            if name in wanted:
                run.take(name, wanted[name], value)
            elif name.startswith("result_inferred_"):
                run.reject(name, value, "inferred from the number of samples, not counted", "tok/s")
        if scenario == "SingleStream" and "result_completed_tokens_per_second" not in self.values and not self.missing:
            run.take(FALLBACK, Key("output_tok_s", "tok/s"), self.values.get(FALLBACK))


def _entries(lines: Sequence[str]) -> Iterator[Mapping[str, Any] | None]:
    """Yield the entries that matter, None for one that cannot be read."""
    for line in lines:
        at = line.find(MARK)
        if at < 0 or not _WANTED.search(line):
            continue
        try:
            entry = decode(line[at + len(MARK) :])
        except NoResult:
            yield None
            continue
        yield entry if isinstance(entry, dict) and is_text(entry.get("key")) else None


def _blocks(lines: Sequence[str]) -> tuple[list[_Block], int]:
    """Return the tests in order, and how many lines could not be read."""
    blocks, damaged = [_Block()], 0
    for entry in _entries(lines):
        if entry is None:
            damaged += 1
            continue
        if entry["key"] in ("loadgen_version", "result_validity") and entry["key"] in blocks[-1].values:
            blocks.append(_Block())
        blocks[-1].add(entry)
    return blocks, damaged


def _no_result(blocks: Sequence[_Block], cut: bool) -> NoResult:
    if any(block.errors for block in blocks):
        return Failed("LoadGen logged errors and no result")
    if any(block.values.get("effective_test_mode") == "AccuracyOnly" for block in blocks) and not cut:
        return Refused("expected LoadGen's results, found none: it ran in accuracy mode")
    return Cut("the text ends before the results")


def create() -> MlperfDetail:
    """Return the parser."""
    return MlperfDetail()
