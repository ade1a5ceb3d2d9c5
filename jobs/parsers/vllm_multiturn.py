"""Reads vLLM's multi-turn benchmark: its log with the statistics table, and the summary CSV of a sweep.

Two figures of requests a second stand in the log: the one of the statistics summary is the result. pandas hides the
middle columns of a wide table behind `...` or prints them in a second table below, so a cell is known by its header.
Source: vllm-project/vllm benchmarks/multi_turn/benchmark_serving_multi_turn.py; the sweep is InferenceX's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key, statistic_keys
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label

TOOL = "vllm_multiturn"
SUMMARY = "Statistics summary"
_COLUMNS = {"mean": "mean", "p50": "50%", "p90": "90%", "p95": "95%", "p99": "99%"}
LOG_KEYS: Mapping[str, Key] = {
    "requests_per_sec": Key("req_s", "req/s"),
    "ttft_ms count": Key("requests_ok", "count"),
    **statistic_keys("ttft_ms {}", "ttft", "ms", _COLUMNS),
    **statistic_keys("tpot_ms {}", "tpot", "ms", _COLUMNS),
    **statistic_keys("latency_ms {}", "e2e", "ms", _COLUMNS),
}
_WORDS = {name: name for name in STATISTICS}
SWEEP_KEYS: Mapping[str, Key] = {
    "num_requests": Key("requests_ok", "count"),
    "throughput_rps": Key("req_s", "req/s"),
    "output_throughput_tps": Key("output_tok_s", "tok/s"),
    "total_throughput_tps": Key("total_tok_s", "tok/s"),
    "output_tps_per_gpu": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "total_tps_per_gpu": Key("total_tok_s_per_gpu", "tok/s/GPU"),
    "interactivity": Key("tok_s_user", "tok/s/user"),
    **statistic_keys("{}_ttft_ms", "ttft", "ms", _WORDS),
    **statistic_keys("{}_tpot_ms", "tpot", "ms", _WORDS),
    **statistic_keys("{}_latency_ms", "e2e", "ms", _WORDS),
}
_SWEEP_LABELS = {"exp_name": "name", "tp": "tp", "pp": "pp", "ep": "ep", "bs": "concurrency", "offload": "offload"}
_SWEEP_OTHERS = re.compile(r"input_\w+|p\d+_\w+|std_\w+|(?:min|max)_\w+|\w+_hit_rate")
_PARAMETER = re.compile(r"(?:^|.* - )(?P<name>model|num_clients)=(?P<value>\S.*?)\s*")
_VERSION = re.compile(r'Server version: \{"version":\s*"(?P<version>[^"]+)"\}')
_RATE = re.compile(rf"\s*(?P<key>requests_per_sec) = (?P<value>{NUMBER})\s*")
_WARM_UP = re.compile(r"assuming (?P<share>[\d.]+%) warmup samples")
_RULE = re.compile(r"\s*-{50,}\s*")
_HEADER = re.compile(r"\s*(?:(?:count|mean|std|min|max|[\d.]+%|\.\.\.)\s+)*(?:count|mean|std|min|max|[\d.]+%|\\)\s*")
_CELL = re.compile(rf"{NUMBER}|nan|-?inf|NaN|\.\.\.")
_ERROR = re.compile(r"^(?:\S+ \S+ \[ERROR\] - .*|[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)
_STATUS = re.compile(r"(?:SUCCESS|FAILED|FAILURE|TIMEOUT)\b[^\n]{0,200}")


class VllmMultiturn:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "benchmark_serving_multi_turn.py of 2025 and 2026: log; summary CSV of a sweep"
    landmarks: tuple[str, ...] = (SUMMARY, "Server version: ", "num_clients=")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**LOG_KEYS, **SWEEP_KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for its log, its tables and its one-word status."""
        header = first_line(content).split(",")
        if "exp_name" in header and {"throughput_rps", "mean_ttft_ms", "num_requests"} & set(header):
            return TOOL
        if header[:2] == ["timestamp_sec", "relative_time_sec"]:
            return TOOL
        text = content.sample
        if len(text) < 256 and _STATUS.fullmatch(text.strip()):
            return TOOL
        summary = SUMMARY in text and "requests_per_sec = " in text
        start = "num_clients=" in text and ("max_active_conversations=" in text or "[INFO] - Input parameters" in text)
        return TOOL if summary or start else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a row of the sweep, or a statistics summary of the log."""
        header = first_line(content).split(",")
        if header[:2] == ["timestamp_sec", "relative_time_sec"]:
            raise Refused("expected results, found a time series of server counters")
        if "exp_name" in header:
            return _read_sweep(content)
        status = content.sample.strip()
        if len(content.sample) < 256 and _STATUS.fullmatch(status):
            if status.startswith("SUCCESS"):
                raise Refused("expected a result, found a status without figures; give the log beside it")
            raise Failed(f"the status of the run is {status[:200]!r}")
        return _read_log(content, self.landmarks)


def create() -> VllmMultiturn:
    """Return the parser."""
    return VllmMultiturn()


def _read_sweep(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    reasons = ["the text ends inside a row"] if cut else []
    runs: list[ParsedRun] = []
    for table in tables:
        if table.ragged:
            reasons.append(f"{table.ragged} rows have not as many cells as the header")
        for row in table.rows:
            run = _read_row(row)
            if run.metrics:
                runs.append(run)
            else:
                reasons.append(f"{row.get('exp_name') or 'a row'} has no value")
    if not runs and not reasons:
        raise Refused("expected rows of results, found a header alone or one with doubled names")
    outcome = ParseOutcome.PARTIAL if reasons else ParseOutcome.OK
    return ParseResult(tool=TOOL, outcome=outcome, reason="; ".join(reasons[:3]), runs=tuple(runs))


def _read_row(row: Mapping[str, str]) -> ParsedRun:
    run = RunBuilder()
    for own, name in _SWEEP_LABELS.items():
        value = row.get(own, "")
        number = number_label(value) if name not in ("name", "offload") else None
        run.label(name, value if number is None else number)
    for own, value in row.items():
        if own in SWEEP_KEYS:
            run.take(own, SWEEP_KEYS[own], value)
        elif own not in _SWEEP_LABELS and not _SWEEP_OTHERS.fullmatch(own) and number_label(value) is not None:
            run.unknown(own, value, TOOL)
    return run.build()


@dataclass(slots=True)
class _Summary:
    """One statistics summary: the parameters before it, its cells by row and column, and whether its end was seen."""

    parameters: dict[str, str]
    warm_up: str | None
    cells: dict[str, str] = field(default_factory=dict)
    rules: int = 0


def _summaries(lines: Sequence[str]) -> Iterator[_Summary]:
    parameters: dict[str, str] = {}
    summary: _Summary | None = None
    columns: list[str] = []
    for line in lines:
        if SUMMARY in line:
            if summary is not None:
                yield summary
            share = _WARM_UP.search(line)
            summary = _Summary(dict(parameters), share["share"] if share else None)
            columns = []
        elif match := _PARAMETER.fullmatch(line):
            parameters[match["name"]] = match["value"]
        elif summary is None or summary.rules == 2:
            continue
        elif _RULE.fullmatch(line):
            summary.rules += 1
        elif rate := _RATE.fullmatch(line):
            summary.cells.setdefault(rate["key"], rate["value"])
        elif line.strip() and _HEADER.fullmatch(line):
            columns = [word for word in line.split() if word != "\\"]
        else:
            name, *cells = line.split() or [""]
            if columns and len(cells) == len(columns) and all(_CELL.fullmatch(cell) for cell in cells):
                pairs = zip(columns, cells, strict=True)
                summary.cells.update({f"{name} {column}": cell for column, cell in pairs if cell != "..."})
    if summary is not None:
        yield summary


def _read_log(content: Content, landmarks: Sequence[str]) -> ParseResult:
    lines, _ = whole_lines(content, landmarks)
    text = "\n".join(lines)
    version = _VERSION.search(text)
    summaries = list(_summaries(lines))
    runs = without_repeats(run for run in map(_read_summary, summaries) if run.metrics)
    if not runs and ("No samples to process" in text or (not summaries and _ERROR.search(text))):
        errors = _ERROR.findall(text)
        raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}" if errors else "no request finished")
    ended = bool(runs) and all(summary.rules == 2 for summary in summaries)
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.OK if ended else ParseOutcome.PARTIAL,
        reason="" if ended else "the text ends before the end of the statistics summary",
        version=version["version"] if version else None,
        runs=runs,
    )


def _read_summary(summary: _Summary) -> ParsedRun:
    run = RunBuilder()
    run.label("model", summary.parameters.get("model"))
    run.label("concurrency", number_label(summary.parameters.get("num_clients", "")))
    if summary.warm_up and summary.warm_up != "0%":
        run.label("scenario", f"first {summary.warm_up} left out as warm-up")
    count = number_label(summary.cells.get("ttft_ms count", ""))
    samples = int(count) if isinstance(count, int | float) else None
    for own, key in LOG_KEYS.items():
        if own in summary.cells:
            run.take(own, key, summary.cells[own], samples=samples if own.endswith(("%", "mean")) else None)
    if summary.rules < 2:
        run.flag("truncated")
    return run.build()
