"""Reads vLLM's multi-turn benchmark: its log (with colours), the table of a sweep's results, and its status.

The log's table hides columns behind `...`: only those that are printed are read. Of the two rates of requests, the one
in the statistics summary is the result. Source: vllm-project/vllm benchmarks/multi_turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label

TOOL = "vllm_multiturn"
_P = {"mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
CSV_KEYS: Mapping[str, Key] = {
    "throughput_rps": Key("req_s", "req/s"),
    "total_throughput_tps": Key("total_tok_s", "tok/s"),
    "output_throughput_tps": Key("output_tok_s", "tok/s"),
    "total_tps_per_gpu": Key("total_tok_s_per_gpu", "tok/s/GPU"),
    "output_tps_per_gpu": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "interactivity": Key("tok_s_user", "tok/s/user"),
    "num_requests": Key("requests_ok", "count"),
    **statistic_keys("{}_ttft_ms", "ttft", "ms", _P),
    **statistic_keys("{}_tpot_ms", "tpot", "ms", _P),
    **statistic_keys("{}_latency_ms", "e2e", "ms", _P),
}
_ROWS = {"ttft_ms": "ttft", "tpot_ms": "tpot", "latency_ms": "e2e"}
_COLUMNS = {"mean": "mean", "50%": "p50", "90%": "p90", "95%": "p95", "99%": "p99"}
LOG_KEYS: Mapping[str, Key] = {
    "requests_per_sec": Key("req_s", "req/s"),
    **{f"{row} {c}": Key(f"{family}_{s}_ms", "ms") for row, family in _ROWS.items() for c, s in _COLUMNS.items()},
}
_CSV_LABELS = {"exp_name": "name", "tp": "tp", "bs": "concurrency", "offload": "offload"}
_OTHERS = re.compile(r"p999_\w+|input_\w+|\w*prefill_tps|\w+_hit_rate|p\d+_prefill\w*|duration\w*|\w*runtime\w*")
_SUMMARY = "Statistics summary:"
_SETTING = re.compile(r"(?:.*\[INFO\] - )?(?P<name>model|num_clients|request_rate)=(?P<value>\S+)\s*")
_VERSION = re.compile(r'Server version: \{"version":\s*"(?P<version>[^"]+)"')
_RATE = re.compile(rf"\s*requests_per_sec\s*=\s*(?P<value>{NUMBER})\s*")
_STATUS = re.compile(r"\s*(?P<status>SUCCESS|FAILED\b.*|FAILURE\b.*|TIMEOUT\b.*)\s*")
_ERROR = re.compile(r"^\s*[\w.]*(?:Error|Exception)\b.*$", re.MULTILINE)


class VllmMultiturn:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "log of benchmark_serving_multi_turn.py, results CSV of a sweep"
    landmarks: tuple[str, ...] = (_SUMMARY, "Server version: ", "num_clients=")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**CSV_KEYS, **LOG_KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for one of its outputs."""
        header = first_line(content)
        if header.startswith(("exp_name,", "timestamp_sec,relative_time_sec,")):
            return TOOL
        text = content.sample
        if len(text) < 200 and _STATUS.fullmatch(text):
            return TOOL
        return TOOL if ("num_clients=" in text or _SUMMARY in text) and "[INFO] - " in text else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a row of the sweep, or the one of a log."""
        header = first_line(content)
        if header.startswith("timestamp_sec,"):
            raise Refused("a time series of server counters, not a result")
        if header.startswith("exp_name,"):
            return _read_table(content)
        if len(content.sample) < 200 and (status := _STATUS.fullmatch(content.sample)):
            if status["status"] != "SUCCESS":
                raise Failed(f"the benchmark says {status['status']}")
            raise Refused("only the status SUCCESS, no result")
        lines, _ = whole_lines(content, self.landmarks)
        return _read_log(lines)


def create() -> VllmMultiturn:
    """Return the parser."""
    return VllmMultiturn()


def _read_table(content: Content) -> ParseResult:
    tables, cut = read_tables(content)
    runs = []
    for row in tables[0].rows if tables else ():
        run = RunBuilder()
        for own, name in _CSV_LABELS.items():
            value = row.get(own, "")
            run.label(name, value if name in ("name", "offload") else number_label(value))
        for own, value in row.items():
            if own in CSV_KEYS:
                run.take(own, CSV_KEYS[own], value)
            elif own not in _CSV_LABELS and not _OTHERS.fullmatch(own) and number_label(value) is not None:
                run.unknown(own, value, TOOL)
        runs.append(run.build())
    ragged = any(table.ragged for table in tables)
    whole = bool(runs) and not cut and not ragged
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.OK if whole else ParseOutcome.PARTIAL,
        reason="" if whole else "the table is cut",
        runs=tuple(run for number, run in enumerate(runs) if run not in runs[:number]),
    )


def _read_log(lines: Sequence[str]) -> ParseResult:
    text = "\n".join(lines)
    found = _VERSION.search(text)
    version = found["version"] if found else None
    places = [number for number, line in enumerate(lines) if _SUMMARY in line]
    if not places:
        if errors := _ERROR.findall(text):
            raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}")
        reason = "the text ends before the statistics summary"
        return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason, version=version)
    runs = [_read_summary(lines[: end + 1], lines[end:]) for end in places]
    runs = [run for number, run in enumerate(runs) if run.metrics and run not in runs[:number]]
    cut = any("truncated" in run.flags for run in runs) or not runs
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if cut else ParseOutcome.OK,
        reason="the text ends inside the statistics summary" if cut else "",
        version=version,
        runs=tuple(runs),
    )


def _read_summary(before: Sequence[str], after: Sequence[str]) -> ParsedRun:
    run = RunBuilder()
    settings = {m["name"]: m["value"] for line in before if (m := _SETTING.fullmatch(line))}
    run.label("model", settings.get("model"))
    run.label("concurrency", number_label(settings.get("num_clients", "")))
    for line in after:
        if rate := _RATE.fullmatch(line):
            run.take("requests_per_sec", LOG_KEYS["requests_per_sec"], rate["value"])
            break
    seen = set()
    for row, column, value in _cells(after):
        seen.add(row)
        if row == "ttft_ms" and column == "count":
            run.take("count", Key("requests_ok", "count"), value)
        elif row in _ROWS and column in _COLUMNS:
            run.take(f"{row} {column}", LOG_KEYS[f"{row} {column}"], value)
    if "latency_ms" not in seen:
        run.flag("truncated")
    return run.build()


def _cells(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (row, column, value) of the printed table; rows with another number of cells are left out."""
    header: list[str] = []
    for line in lines:
        cells = line.split()
        if cells[:2] == ["count", "mean"]:
            header = cells
        elif header and cells and cells[0] in _ROWS and len(cells) == len(header) + 1:
            yield from ((cells[0], column, value) for column, value in zip(header, cells[1:], strict=True))
        elif header and line.startswith("---"):
            return
