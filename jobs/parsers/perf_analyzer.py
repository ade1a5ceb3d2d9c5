"""Reads perf_analyzer: its CSV (latencies in microseconds with no unit in the header) and what it prints.

A latency is of a batch. Source: triton-inference-server/perf_analyzer src/report_writer.cc, inference_profiler.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label

TOOL = "perf_analyzer"
_P = {name: name for name in ("p50", "p90", "p95", "p99")}
KEYS: Mapping[str, Key] = {
    "Inferences/Second": Key("req_s", "req/s"),
    "Throughput": Key("req_s", "req/s"),
    "Avg latency": Key("latency_mean_ms", "us"),
    "Successful request count": Key("requests_ok", "count"),
    **statistic_keys("{} latency", "latency", "us", _P),
}
_OTHERS = re.compile(
    r"Client .*|Server .*|Network.*|Avg .*|Min .*|Max .*|p\d+ .*|Response .*|request/response|send/recv.*|response wait"
    r"|(?:Composing|GPU|Avg GPU|Max GPU|Total GPU).*|Delayed .*|.*(?:cache|Cache).*|Overhead.*|Std.*|Request Count"
)
_LABELS = {"Concurrency": "concurrency", "Request Rate": "request_rate"}
_LEVEL = re.compile(r"\s*(?P<name>Request concurrency|Request Rate|Request rate): (?P<value>[\d.]+)(?: .*)?\s*")
_PAIR = re.compile(
    rf"\s*(?P<key>Request count|Successful request count|Throughput|Avg latency|p(?:50|90|95|99) latency): (?P<value>{NUMBER})"
    r"(?: (?P<unit>infer/sec|usec))?(?: \(.*\))?\s*"
)
_MODEL = re.compile(r"perf_analyzer\b.*?\s-m[ =]?(?P<model>[^\s`]+)")
_BATCH = re.compile(r"\s*Batch size: (?P<batch>\d+)\s*")
_CLIENT = re.compile(r"\s*Client:\s*")
_SERVER = re.compile(r"\s*Server:\s*")
_UNITS = {"usec": "us", "infer/sec": "req/s", None: "count"}


class PerfAnalyzer:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "CSV (-f) and printed output of 2.x"
    landmarks: tuple[str, ...] = ("Request concurrency:", "Request Rate:", "Throughput: ")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for its table or its printed measurements."""
        header = first_line(content).split(",")
        if header[0] in _LABELS and "Inferences/Second" in header:
            return TOOL
        text = content.sample
        return TOOL if "*** Measurement Settings ***" in text or ("infer/sec" in text and "Client:" in text) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a level of load."""
        if "Inferences/Second" in first_line(content).split(","):
            return _read_table(content)
        lines, cut = whole_lines(content, self.landmarks)
        return _read_printed(lines, cut)


def create() -> PerfAnalyzer:
    """Return the parser."""
    return PerfAnalyzer()


def _read_table(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    runs = []
    for row in tables[0].rows if tables else ():
        run = RunBuilder()
        for column, value in row.items():
            if column in _LABELS:
                run.label(_LABELS[column], number_label(value))
            elif column in KEYS:
                run.take(column, KEYS[column], value)
            elif not _OTHERS.fullmatch(column) and number_label(value) is not None:
                run.unknown(column, value, TOOL)
        runs.append(run.build())
    ragged = any(table.ragged for table in tables)
    if not runs and not (cut or ragged):
        raise Failed("the table has no rows: nothing was measured")
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if cut or ragged else ParseOutcome.OK,
        reason="the table is cut" if cut or ragged else "",
        runs=tuple(run for number, run in enumerate(runs) if run not in runs[:number]),
    )


def _read_printed(lines: Sequence[str], cut: bool) -> ParseResult:
    model = next((m["model"] for line in lines if (m := _MODEL.search(line))), None)
    batch = next((m["batch"] for line in lines if (m := _BATCH.fullmatch(line))), None)
    levels = list(_levels(lines))
    runs: list[ParsedRun] = []
    for level in levels:
        run = _read_level(level, model, batch)
        if run.metrics and run not in runs:
            runs.append(run)
    if not runs:
        if any("Failed to" in line or "error:" in line.lower() for line in lines):
            said = [line.strip() for line in lines if "Failed to" in line or "error:" in line.lower()]
            raise Failed(f"the benchmark failed: {said[-1][:200]}")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason="the text ends before a measurement")
    open_end = any("truncated" in run.flags for run in runs) or (
        cut and "infer/sec, latency" not in "".join(lines[-3:])
    )
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if open_end else ParseOutcome.OK,
        reason="the text ends inside a measurement" if open_end else "",
        runs=tuple(runs),
    )


def _levels(lines: Sequence[str]) -> Iterator[list[tuple[str, str, str | None]]]:
    """Yield what was printed of each level of load: (key, value, unit), the level itself first."""
    level: list[tuple[str, str, str | None]] = []
    where = ""
    for line in lines:
        if found := _LEVEL.fullmatch(line):
            if level:
                yield level
            level, where = [(found["name"], found["value"], None)], ""
        elif _CLIENT.fullmatch(line) or _SERVER.fullmatch(line):
            where = line.strip()
        elif level and (pair := _PAIR.fullmatch(line)):
            own = where == "Client:" or pair["key"] == "Successful request count"
            if own and pair["key"] != "Request count":
                level.append((pair["key"], pair["value"], pair["unit"]))
    if level:
        yield level


def _read_level(level: Sequence[tuple[str, str, str | None]], model: str | None, batch: str | None) -> ParsedRun:
    run = RunBuilder()
    name, value, _ = level[0]
    run.label("model", model)
    run.label("batch", number_label(batch or ""))
    run.label("concurrency" if name == "Request concurrency" else "request_rate", number_label(value))
    for own, printed, unit in level[1:]:
        run.take_as(own, KEYS[own].metric, _UNITS[unit], printed)
    if "Throughput" not in {own for own, _, _ in level} or (
        "Avg latency" not in {own for own, _, _ in level} and "p50 latency" not in {own for own, _, _ in level}
    ):
        run.flag("truncated")
    return run.build()
