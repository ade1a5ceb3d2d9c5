"""Reads trtllm-bench: its printed report (0.12 to 1.3, `throughput` and `latency`) and `--report_json`.

The first lines of a log name the version that runs; the one in the report can be short or wrong (1.2 in a 1.3.0rc12).
"Total Latency" is the length of the run; an inter-token latency is a mean over each request's tokens, so time per
output token. Source: NVIDIA/TensorRT-LLM tensorrt_llm/bench/dataclasses/reporting.py, statistics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import NUMBER, whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.parsers._trtllm_report import REPORT, is_report, read_report
from jobs.run_builder import NOT_MEASURED, RunBuilder, number_label

TOOL = "trtllm-bench"
_LOUD = {name: name.upper() for name in ("p50", "p90", "p95", "p99")}
_OLD_LATENCY = "THROUGHPUT OVERVIEW"
"""A section of the `latency` command up to 0.18, whose "Total Token Throughput" counts output tokens only."""
KEYS: Mapping[str, Key] = {
    "Token Throughput (tokens/sec)": Key("output_tok_s", "tok/s"),
    "Total Output Throughput (tokens/sec)": Key("output_tok_s", "tok/s"),
    f"{_OLD_LATENCY}: Total Token Throughput (tokens/sec)": Key("output_tok_s", "tok/s"),
    "Total Token Throughput (tokens/sec)": Key("total_tok_s", "tok/s"),
    "Request Throughput (req/sec)": Key("req_s", "req/s"),
    "Per GPU Output Throughput (tps/gpu)": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "Per GPU Output Throughput (tokens/sec/gpu)": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "Per User Output Throughput (tokens/sec/user)": Key("tok_s_user", "tok/s/user"),
    "Per User Output Throughput (tps/user)": Key("tok_s_user", "tok/s/user"),
    "Per User Output Throughput [w/ ctx] (tps/user)": Key("tok_s_user", "tok/s/user"),
    "Average request latency (ms)": Key("e2e_mean_ms", "ms"),
    "Average time-to-first-token [TTFT] (ms)": Key("ttft_mean_ms", "ms"),
    "Average time-to-first-token (ms)": Key("ttft_mean_ms", "ms"),
    "Average time-per-output-token [TPOT] (ms)": Key("tpot_mean_ms", "ms"),
    "Average time-per-output-token (ms)": Key("tpot_mean_ms", "ms"),
    "Average inter-token latency (ms)": Key("tpot_mean_ms", "ms"),
    "Average GPU Power (W)": Key("power_w", "W"),
    "Total Energy (J)": Key("energy_j", "J"),
    **statistic_keys("[Latency] {}", "e2e", "ms", _LOUD),
    **statistic_keys("[TTFT] {}", "ttft", "ms", _LOUD),
    **statistic_keys("[TPOT] {}", "tpot", "ms", _LOUD),
}
_LENGTHS = ("Average Input Length (tokens)", "Average Output Length (tokens)")
OTHER_KEYS = frozenset(
    {
        *("Total Latency (ms)", "Generation Token Throughput (tokens/sec)", "Acceptance Rate (Speculative)", *_LENGTHS),
        *("Per User Output Speed (tps/user)", "Per User Output Speed [1/TPOT] (tokens/sec/user)"),
        *(f"[{what}] {name}" for what in ("Latency", "TTFT", "TPOT") for name in ("MINIMUM", "MAXIMUM", "AVERAGE")),
        *(f"[GTPS] {name}" for name in ("MINIMUM", "MAXIMUM", "AVERAGE", *_LOUD.values())),
    }
)
_LABELS = {
    "Model": "model",
    "Dtype": "dtype",
    "KV Cache Dtype": "kv_cache_dtype",
    "Quantization": "quantization",
    "TP Size": "tp",
    "PP Size": "pp",
    "EP Size": "ep",
}
_FACTS = {
    "Number of requests": "requests",
    "Number of concurrent requests": "concurrency",
    "Average Input Length (tokens)": "isl_mean",
    "Average Output Length (tokens)": "osl_mean",
}
_OVERVIEW = "PERFORMANCE OVERVIEW"
_FIGURES = (_OVERVIEW, "STREAMING STATISTICS", "GENERAL OVERVIEW", _OLD_LATENCY, "LATENCY OVERVIEW")
"""Sections whose values are results; `GENERATION LATENCY BREAKDOWN` prints the median as its P90."""
_AFTER = ("DECODING STATISTICS", "DATASET DETAILS", "GENERATION LATENCY BREAKDOWN", "ACCEPTANCE BREAKDOWN")
_BACKENDS = ("ENGINE DETAILS", "PYTORCH BACKEND")
_HEAD = (*_BACKENDS, "MACHINE DETAILS", "REQUEST DETAILS", "WORLD + RUNTIME INFORMATION")
_SECTIONS = (*_HEAD, *_FIGURES, *_AFTER)
_PREFIX = re.compile(r"^\s*(?:\d+: |\[\d+,\d+\](?:<std(?:out|err)>)?: ?)?")
_HEADER = re.compile(r"(?:.*\] )?= (?P<name>[A-Za-z][A-Za-z +]+?)(?: \((?P<mode>[^)]*)\))?\s*")
_RULE = re.compile(r"={20,}\s*")
_PAIR = re.compile(r"\s*(?P<key>(?:\[[A-Za-z]+\] )?[A-Za-z][^:]*?)\s*:(?:\s+(?P<value>\S.*?))?\s*")
_RUNNING = re.compile(r"TensorRT[- ]LLM version: (?P<version>\S+)")
_MACHINE = re.compile(r"\s*(?P<gpu>[^,]+), memory .*")
_TROUBLE = re.compile(
    r"Traceback \(most recent call last\)|^\S*(?:Error|Exception)\b|\[TRT-LLM\] \[E\]|\[ERROR\]|Segmentation fault"
    r"|CUDA out of memory|MPI_ABORT|^srun: error|^Killed$"
)
_CALLED = re.compile(r"^[$#+> ]*trtllm-bench ", re.MULTILINE)


@dataclass(slots=True)
class _Report:
    """One printed report, as far as the text goes; figures that stand without a value are in `empty`."""

    stated: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    running: str | None = None
    gpu: str | None = None
    mode: str | None = None
    sections: set[str] = field(default_factory=set)
    cut: bool = False

    @property
    def begun(self) -> bool:
        """Whether a section with figures was reached."""
        return not self.sections.isdisjoint(_FIGURES)

    def ends_before(self, section: str) -> bool:
        """Return whether a section can only belong to the next report."""
        return (
            section in self.sections
            or bool(self.sections and section in _BACKENDS)
            or (self.begun and section in _HEAD)
        )

    @property
    def version(self) -> str | None:
        """The version that runs, else the one that the report states."""
        printed = self.stated.get("TensorRT-LLM Version") or self.stated.get("TensorRT LLM Version") or "None"
        return self.running or (None if printed.lower() in NOT_MEASURED else printed)

    @property
    def is_whole(self) -> bool:
        """Whether the last lines that its version prints are there."""
        details = any(key.startswith("[") for key in self.figures)
        ended = "[Latency] AVERAGE" in self.figures or not details
        return "Total Latency (ms)" in self.figures and ended and not self.empty and not self.cut


class TrtllmBench:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "printed report of 0.12 to 1.3 (throughput and latency), --report_json of 0.18 to 1.3"
    landmarks: tuple[str, ...] = (f"= {_OVERVIEW}", "= ENGINE DETAILS", "= GENERAL OVERVIEW", "LLM version: ")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **REPORT}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for a report, a part of one, or a log of the tool without one."""
        if content.outline is not None:
            return TOOL if is_report(content.outline) else None
        marks = (*(f"= {name}" for name in _SECTIONS if " " in name), "= PyTorch backend")
        calls = ("Preparing to run throughput benchmark", "Preparing to run latency benchmark")
        sample = content.sample
        called = "trtllm-bench " in sample and _CALLED.search(sample)
        return TOOL if called or any(mark in sample for mark in marks + calls) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each report."""
        if content.outline is not None:
            run, version = read_report(content.document)
            runs = (_doubted(run, version),)
            return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, version=version, runs=runs)
        lines, cut = whole_lines(content, self.landmarks)
        reports = list(_reports([line[_end_of_prefix(line) :] for line in lines], cut=cut))
        return _read_log(reports, lines)


def create() -> TrtllmBench:
    """Return the parser."""
    return TrtllmBench()


def is_short(version: str) -> bool:
    """Return whether a version names no release: two components are a line of releases."""
    return re.fullmatch(r"\d+(\.\d+)?", version) is not None


def _doubted(run: ParsedRun, version: str | None) -> ParsedRun:
    """Return the run of a report, flagged where the version that it states names no release."""
    if version is None or not is_short(version):
        return run
    return ParsedRun(
        labels=run.labels,
        metrics=run.metrics,
        facts=run.facts,
        flags=(*run.flags, "version_unreliable"),
        rejected=run.rejected,
    )


def _end_of_prefix(line: str) -> int:
    found = _PREFIX.match(line)
    return found.end() if found else 0


def _reports(lines: Sequence[str], *, cut: bool) -> Iterator[_Report]:
    """Yield the printed reports; one begins anew at a section that stands before the figures."""
    report, section, after_header = _Report(), "", False
    for line in lines:
        header = _HEADER.fullmatch(line)
        name = header["name"].upper() if header else ""
        if header and name in _SECTIONS:
            if report.ends_before(name):
                yield report
                report = _Report(running=report.running)
            section = name
            report.sections.add(name)
            report.mode = header["mode"] or report.mode
        elif _RULE.fullmatch(line):
            section = section if after_header else ""
        elif section == "MACHINE DETAILS" and (machine := _MACHINE.fullmatch(line)):
            report.gpu = machine["gpu"].strip()
        elif section not in ("", *_AFTER) and (pair := _PAIR.fullmatch(line)):
            _take_pair(report, section, pair)
        elif "version: " in line and (running := _RUNNING.search(line)):
            if report.begun:
                yield report
                report, section = _Report(), ""
            report.running = running["version"]
        after_header = header is not None
    report.cut = cut and section in _FIGURES
    yield report


def _take_pair(report: _Report, section: str, pair: re.Match[str]) -> None:
    key = " ".join(pair["key"].split())
    if section not in _FIGURES:
        report.stated.setdefault(key, pair["value"] or "")
        return
    if section == _OLD_LATENCY and f"{section}: {key}" in KEYS:
        key = f"{section}: {key}"
    if key in _FACTS:
        report.stated.setdefault(key, pair["value"] or "")
    elif pair["value"] is not None:
        report.figures.setdefault(key, pair["value"])
    elif key in KEYS:
        report.empty.append(key)


def _read_log(found: Sequence[_Report], lines: Sequence[str]) -> ParseResult:
    reports = [report for report in found if report.figures.keys() & KEYS.keys()]
    versions = {report.version for report in reports or found} - {None}
    version = next(iter(versions)) if len(versions) == 1 else None
    if not reports:
        return _without_report(found, lines, version)
    figures = [report.figures[key] for report in reports for key in report.figures.keys() & KEYS.keys()]
    if all(re.fullmatch(r"[<\[{].*|\.\.\.", figure) for figure in figures):
        raise Refused(f"placeholders stand in place of the figures ({figures[0]}): documentation, not a result")
    problems = [f"the text ends inside {_OVERVIEW}" for report in reports if not report.is_whole]
    problems += [f"{key} has no value" for report in reports for key in report.empty]
    if len(versions) > 1:
        problems.append(f"reports of several versions stand in one text ({', '.join(sorted(map(str, versions)))})")
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
        reason="; ".join(dict.fromkeys(problems)),
        version=version,
        runs=without_repeats(_read_report(report) for report in reports),
    )


def _without_report(found: Sequence[_Report], lines: Sequence[str], version: str | None) -> ParseResult:
    trouble = [line.strip() for line in lines if _TROUBLE.search(line)]
    if trouble:
        raise Failed(f"the benchmark failed: {trouble[-1][:200]}")
    if not any(report.stated or report.begun for report in found) and any(report.gpu for report in found):
        raise Refused("only a MACHINE DETAILS block, no result")
    reason = f"the text ends before the figures of {_OVERVIEW}"
    return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason, version=version)


def _read_report(report: _Report) -> ParsedRun:
    run = RunBuilder()
    for own, name in _LABELS.items():
        value = report.stated.get(own, "")
        if value.lower() not in NOT_MEASURED:
            run.label(name, number_label(value) if name in ("tp", "pp", "ep") else value)
    for own, name in _FACTS.items():
        run.fact(name, number_label(report.stated.get(own, "")))
    run.label("gpu", report.gpu)
    run.label("spec_decoding", report.mode)
    for own, value in report.figures.items():
        if own in KEYS:
            run.take(own, KEYS[own], value)
        elif own not in OTHER_KEYS and re.search(r"[])]", own) and re.fullmatch(NUMBER, value):
            run.unknown(own, value, TOOL)
    if not report.is_whole:
        run.flag("truncated")
    return _doubted(run.build(), None if report.running else report.version)
