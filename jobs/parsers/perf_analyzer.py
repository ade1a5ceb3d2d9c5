"""Reads perf_analyzer: its CSV (latencies in microseconds with no unit in the header) and what it prints.

A latency is of a batch. Requests are counted by the server's "Successful request count". perf_client is its old name.
Source: triton-inference-server/perf_analyzer src/report_writer.cc, inference_profiler.cc, perf_analyzer.cc.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import PRINTED, whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label

TOOL = "perf_analyzer"
KEYS: Mapping[str, Key] = {
    "Inferences/Second": Key("req_s", "req/s"),
    "Throughput": Key("req_s", "req/s"),
    "Avg latency": Key("latency_mean_ms", "us"),
    "Successful request count": Key("requests_ok", "count"),
    "Avg GPU Power Usage": Key("power_w", "W"),
    "Max GPU Memory Usage": Key("memory_gb", "B"),
    **statistic_keys("{} latency", "latency", "us", {name: name for name in ("p50", "p90", "p95", "p99")}),
}
_PER_GPU = ("Avg GPU Power Usage", "Max GPU Memory Usage")
_OTHER_COLUMNS = re.compile(
    r"Client (?:Send|Recv)|Server .*|Network\+Server Send/Recv|Response Throughput|p\d+ latency|request/response"
    r"|response wait|Avg GPU Utilization|Total GPU Memory"
)
_LOADS = {"Concurrency": "concurrency", "Request Rate": "request_rate", "Request concurrency": "concurrency"}
SETTINGS = "*** Measurement Settings ***"
SUMMARY = "Inferences/Second vs. Client "
_COMMAND = re.compile(r"(?:perf_analyzer|perf_client)\b.*?\s-m[ =]?(?P<model>[^\s`'\"]+)")
_SETTING = re.compile(r"\s*Batch size: (?P<batch>\d+)\s*")
_LOAD = re.compile(
    r"\s*(?P<load>Request concurrency|Request Rate): (?P<value>[\d.]+)(?: inference requests per second)?\s*"
)
_VALUE = re.compile(
    rf"\s*(?P<key>Throughput|Avg latency|p\d+ latency|Successful request count): (?P<value>{PRINTED})"
    r"(?: (?P<unit>infer/sec|usec))?(?: \(standard deviation \d+ usec\))?\s*"
)
_SECTION = re.compile(r"\s*(?P<section>Client|Server|Server Prometheus Metrics|Composing models):\s*")
_SUMMARY_LINE = re.compile(
    rf"\s*(?P<load>Concurrency|Request Rate): (?P<value>[\d.]+), (?:throughput: )?(?P<rate>{PRINTED}) infer/sec, "
    rf"latency (?P<latency>{PRINTED}) usec\s*"
)
_SUMMARY_OF = {"Average": "Avg latency", **{f"p{n}": f"p{n} latency" for n in (50, 90, 95, 99)}}
_UNITS = {"Throughput": "infer/sec", "Successful request count": None}
_FAILURES = ("Failed to obtain stable measurement", "cb::Error", "error:", "Error:", "failed", "Failed to")
_NOT_KEPT_UP = "is not able to keep up with the desired load"


class PerfAnalyzer:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "CSV (-f, --verbose-csv) and printed output of perf_analyzer 2.x, and of perf_client before it"
    landmarks: tuple[str, ...] = ("Request concurrency: ", "Request Rate: ", SUMMARY)
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for its table or what it prints before, while and after it measures."""
        if _is_table(content):
            return TOOL
        marks = (SETTINGS, SUMMARY, " infer/sec. Avg latency: ")
        text = content.sample
        return TOOL if any(mark in text for mark in marks) or ("infer/sec" in text and "Client:" in text) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a level of load, in the order of the file."""
        if _is_table(content):
            return _read_table(content)
        return _read_printed(whole_lines(content, self.landmarks)[0])


def create() -> PerfAnalyzer:
    """Return the parser."""
    return PerfAnalyzer()


def _is_table(content: Content) -> bool:
    header = first_line(content).split(",")
    return header[0] in _LOADS and "Inferences/Second" in header


def _read_table(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    rows = [row for table in tables if "Inferences/Second" in table.header for row in table.rows]
    own = [row for row in rows if number_label(next(iter(row.values()))) is not None]
    foreign = [row for row in rows if row not in own and list(row) != list(row.values())]
    runs = without_repeats(_read_row(row) for row in own)
    problem = "the table is cut, or not all rows are its own" if cut or foreign or any(t.ragged for t in tables) else ""
    if not runs and not problem:
        raise Failed("the table has no rows: nothing was measured")
    outcome = ParseOutcome.PARTIAL if problem else ParseOutcome.OK
    return ParseResult(tool=TOOL, outcome=outcome, reason=problem, runs=runs)


def _read_row(row: Mapping[str, str]) -> ParsedRun:
    run = RunBuilder()
    for column, value in row.items():
        if column in _LOADS:
            run.label(_LOADS[column], number_label(value))
        elif column in _PER_GPU:
            _take_per_gpu(run, column, value)
        elif column in KEYS:
            run.take(column, KEYS[column], value)
        elif not _OTHER_COLUMNS.fullmatch(column) and number_label(value) is not None:
            run.unknown(column, value, TOOL)
    return run.build()


def _take_per_gpu(run: RunBuilder, column: str, cell: str) -> None:
    """Take a cell such as `GPU-<uuid>:55.3;` where it holds one GPU: of several, some may have stood idle."""
    entries = [entry for entry in cell.split(";") if entry.strip()]
    if len(entries) == 1 and ":" in entries[0]:
        run.take(column, KEYS[column], entries[0].rpartition(":")[2])


@dataclass(slots=True, kw_only=True)
class _Level:
    """What was printed of one level of load, with the settings that stood before it."""

    load: str
    at: str
    model: str | None
    batch: str | None
    values: list[tuple[str, str, str | None]] = field(default_factory=list)
    section: str = ""
    is_closed: bool = False
    """Whether a line followed that can only stand after the last value."""
    has_warning: bool = False

    def begins_like(self, earlier: _Level) -> bool:
        """Return whether this is the start of `earlier`, printed again and cut."""
        same = (self.load, self.at, self.model, self.batch) == (earlier.load, earlier.at, earlier.model, earlier.batch)
        return same and not self.is_closed and self.values == earlier.values[: len(self.values)]


def _read_printed(lines: Sequence[str]) -> ParseResult:
    levels, summaries = _levels(lines)
    measured = [level for level in levels if level.values]
    if any(measured[-1].begins_like(earlier) for earlier in measured[:-1]):
        measured.pop()
    runs = without_repeats(map(_read_level, measured)) or without_repeats(summary.build() for summary in summaries)
    if not runs:
        said = [line.strip() for line in lines if any(word in line for word in _FAILURES)]
        if said:
            raise Failed(f"the benchmark failed: {said[-1][:200]}")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason="the text ends before a measurement")
    problem = ""
    if any("truncated" in run.flags for run in runs):
        problem = "the text ends inside a measurement"
    elif not measured:
        problem = "only the summary: the measurements themselves are missing"
    elif levels[-1] is not measured[-1] and not summaries:
        problem = f"the text ends before the result of {levels[-1].load} {levels[-1].at}"
    outcome = ParseOutcome.PARTIAL if problem else ParseOutcome.OK
    return ParseResult(tool=TOOL, outcome=outcome, reason=problem, runs=runs)


def _levels(lines: Sequence[str]) -> tuple[list[_Level], list[RunBuilder]]:
    """Return the levels of load in order, and a run for each line of a summary of which there is no level."""
    levels: list[_Level] = []
    summaries: list[RunBuilder] = []
    model = batch = latency = None
    for line in lines:
        if found := _COMMAND.search(line):
            model, batch = found["model"], None
        elif line.strip() == SETTINGS:
            batch = None
        elif found := _SETTING.fullmatch(line):
            batch = found["batch"]
        elif found := _LOAD.fullmatch(line):
            levels.append(_Level(load=found["load"], at=found["value"], model=model, batch=batch))
        elif SUMMARY in line:
            latency = _SUMMARY_OF.get(line.partition(SUMMARY)[2].split(" ")[0])
            _close(levels)
        elif found := _SUMMARY_LINE.fullmatch(line):
            summaries.append(_read_summary(found, latency, None if levels else model))
        else:
            _take_line(levels, line, model, batch)
    return levels, summaries


def _close(levels: Sequence[_Level]) -> None:
    if levels:
        levels[-1].is_closed = True


def _take_line(levels: list[_Level], line: str, model: str | None, batch: str | None) -> None:
    found = _SECTION.fullmatch(line)
    if found and found["section"] == "Client" and (not levels or levels[-1].values):
        levels.append(_Level(load="", at="", model=model, batch=batch))
    if not levels:
        return
    level = levels[-1]
    if found:
        level.section = found["section"]
        return
    level.has_warning = level.has_warning or _NOT_KEPT_UP in line
    found = _VALUE.fullmatch(line)
    if found is None:
        level.is_closed = level.is_closed or (level.section == "Server" and "Avg request latency:" in line)
        return
    section = "Server" if found["key"] == "Successful request count" else "Client"
    if level.section == section and found["unit"] == _UNITS.get(found["key"], "usec"):
        level.values.append((found["key"], found["value"], found["unit"]))


def _read_level(level: _Level) -> ParsedRun:
    run = RunBuilder()
    run.label("model", level.model)
    run.label("batch", number_label(level.batch or ""))
    if level.load:
        run.label(_LOADS[level.load], number_label(level.at))
    for own, value, _ in level.values:
        if own in KEYS:
            run.take(own, KEYS[own], value)
    printed = {own for own, _, _ in level.values}
    whole = level.is_closed or ({"Throughput", "p99 latency"} <= printed and level.section == "Client")
    if not whole:
        run.flag("truncated")
    if level.has_warning:
        run.flag("tool_warnings")
    return run.build()


def _read_summary(found: re.Match[str], latency: str | None, model: str | None) -> RunBuilder:
    run = RunBuilder()
    run.label("model", model)
    run.label(_LOADS[found["load"]], number_label(found["value"]))
    run.take("throughput", KEYS["Throughput"], found["rate"])
    if latency:
        run.take(latency, KEYS[latency], found["latency"])
    return run
