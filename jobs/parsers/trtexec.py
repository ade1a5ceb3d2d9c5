"""Reads trtexec: its log (TensorRT 7 to 11) and the JSON of `--exportTimes`.

A query is a whole batch with explicit shapes; with the old `--batch` the printed throughput counts its samples.
Latency is the line of that name, not GPU Compute Time and not End-to-End Host Latency.
Source: NVIDIA/TensorRT samples/common/sampleReporting.cpp, logging.h, sampleOptions.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._repeats import without_repeats
from jobs.parsers._trtexec_exports import TIMES, export_kind, read_times
from jobs.run_builder import RunBuilder, number_label

TOOL = "trtexec"
_WORDS = {"mean": "mean", "p50": "median", "p90": "percentile(90%)", "p95": "percentile(95%)", "p99": "percentile(99%)"}
KEYS: Mapping[str, Key] = {
    "Throughput": Key("req_s", "req/s"),
    **statistic_keys("Latency {}", "latency", "ms", _WORDS),
    **statistic_keys("Host Latency {}", "latency", "ms", _WORDS),
}
_SUMMARY = "=== Performance summary ==="
_SEVERITY = re.compile(r"\[(?P<severity>[VIWEF])\] ?")
_BANNER = re.compile(
    r"&&&& (?P<what>RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec\w*(?: \[TensorRT v(?P<number>\d+)\])?(?P<call>.*)"
)
_PAIR = re.compile(r"(?P<name>[a-z]+(?:\([\d.]+%\))?) = (?P<value>\S+) (?P<unit>\S+)")
_THROUGHPUT = re.compile(r"[Tt]hroughput: (?P<value>\S+) qps")
_OF_SUMMARY = (
    "Latency: min = ",
    *("End-to-End Host Latency: min", "Enqueue Time: min", "H2D Latency: min", "GPU Compute Time: min"),
    *("D2H Latency: min", "Total Host Walltime: ", "Total GPU Compute Time: "),
)
_OLD = re.compile(
    r"(?P<name>mean|median|percentile): (?P<value>\S+) (?P<unit>\S+)(?: at (?P<percent>[\d.]+)%)?(?: \(.*)?"
)
_OLD_START = ("Host Latency", "Host latency")
_OLD_OTHER = ("Enqueue Time", "GPU Compute")
_SHAPE = re.compile(r"Input inference shape *(?:\([^)]*\))?: *(?P<shape>\S+=\S+)")
_OPTIONS = ("Batch", "Model", "Precision", "Load engine", "Selected Device", "Selected Device UUID", "TensorRT version")
_OPTION = re.compile(rf"(?P<name>{'|'.join(_OPTIONS)}): *(?P<value>\S.*)")
_QUERIES = re.compile(r"Timing trace has (?P<queries>\d+) queries over")
_FLAGS = {
    "GPU compute time is unstable": "unstable",
    "Throughput may be bound by Enqueue Time": "enqueue_bound",
    "Multiple inference streams are used": "several_streams",
}
_CRASHES = (
    "Segmentation fault",
    "core dumped",
    "terminate called",
    "Cuda failure",
    "Cannot find any available devices",
)
_NOT_STARTED = ("trtexec: error while loading", "trtexec: command not found")
_MARKS = (
    *("TensorRT.trtexec", _SUMMARY, "Timing trace has ", " runs - GPU latency: ", "GPU Compute Time: min"),
    *("[I] Throughput: ", "[I] Latency: min = ", *_NOT_STARTED),
)


@dataclass(slots=True)
class _Summary:
    """One performance summary, as far as the text goes."""

    figures: list[tuple[str, str, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    begun: bool = False
    ended: bool = False
    old_section: str = ""


@dataclass(slots=True)
class _Call:
    """What one call of trtexec printed."""

    started: bool = False
    verdict: str = ""
    command: str = ""
    version: str | None = None
    tunes: bool = False
    queries: int | None = None
    options: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, None] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    summaries: list[_Summary] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """Why nothing of it counts; empty if it may."""
        if self.verdict == "FAILED":
            return self.errors[0] if self.errors else "trtexec says FAILED and no reason"
        if self.queries == 0:
            return "the timed trace has 0 queries"
        return self.errors[0] if self.errors and not self.summaries and self.verdict != "PASSED" else ""


class Trtexec:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "log of TensorRT 7.x to 11, --exportTimes JSON"
    landmarks: tuple[str, ...] = ("&&&& ", _SUMMARY, "Timing trace has", "GPU Compute Time: min", "throughput: ")
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **TIMES}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for its log, a part of it, or one of its exports."""
        if content.outline is not None:
            return TOOL if export_kind(content.outline) else None
        return TOOL if any(mark in content.sample for mark in _MARKS) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run for each summary in a log, or one for a list of inferences."""
        if content.outline is not None:
            return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(read_times(content.document),))
        lines = content.text(self.landmarks).split("\n")
        unended = lines.pop()
        calls = list(_calls(lines))
        _take_unended(calls[-1], unended)
        return _read_log(calls, asked, cut=bool(unended.strip()))


def create() -> Trtexec:
    """Return the parser."""
    return Trtexec()


def _calls(lines: Sequence[str]) -> Iterator[_Call]:
    call = _Call()
    for line in lines:
        found = _SEVERITY.search(line, 0, 160)
        severity, text = (found["severity"], line[found.end() :]) if found else ("", line)
        text = text.strip().lstrip(">| ")
        banner = _BANNER.search(line) if "&&&& " in line else None
        again = text == "=== Model Options ===" and bool(call.summaries or call.verdict)
        if (banner and banner["what"] == "RUNNING") or again or (call.verdict and (banner or _is_summary(text))):
            yield call
            call = _Call()
        if banner:
            _take_banner(call, banner)
        elif "&&&& TASK_BEGIN" in line:
            call.tunes = True
        elif severity in ("E", "F") or any(words in line for words in (*_CRASHES, *_NOT_STARTED)):
            call.errors.append(text[:200])
        elif severity != "V":
            _take_line(call, text)
    yield call


def _take_unended(call: _Call, line: str) -> None:
    """Take the words of a last line without an end, and no number that may be cut."""
    if call.summaries:
        call.summaries[-1].flags += [flag for words, flag in _FLAGS.items() if words in line]
    banner = _BANNER.search(line)
    if banner and banner["what"] != "RUNNING" and not call.verdict:
        call.verdict = banner["what"]
        call.version = call.version or _version(banner["number"])


def _is_summary(text: str) -> bool:
    return text == _SUMMARY or text in _OLD_START or text.startswith(_OF_SUMMARY) or bool(_THROUGHPUT.fullmatch(text))


def _take_banner(call: _Call, banner: re.Match[str]) -> None:
    call.command = banner["call"]
    call.version = _version(banner["number"]) or call.version
    if banner["what"] == "RUNNING":
        call.started = True
    else:
        call.verdict = banner["what"]


def _version(number: str | None) -> str | None:
    """Return 8.5.2 for v8502 and 10.2.0 for v100200: one digit, one and two up to 9, two digits a part from 10 on."""
    if number is None or not 4 <= len(number) <= 6:
        return None
    first, second = (1, 1) if len(number) == 4 else (len(number) - 4, 2)
    return f"{int(number[:first])}.{int(number[first : first + second])}.{int(number[first + second :])}"


def _take_line(call: _Call, text: str) -> None:
    if found := _SHAPE.fullmatch(text):
        call.shapes[found["shape"]] = None
    elif found := _OPTION.fullmatch(text):
        call.options.setdefault(found["name"], found["value"])
    elif found := _QUERIES.match(text):
        call.queries = int(found["queries"][:15])
    elif _is_summary(text) or (call.summaries and (call.summaries[-1].old_section or "* " in text)):
        _take_summary(call, text)


def _take_summary(call: _Call, text: str) -> None:
    """Add one line to the summary that is being read; a line that it already has begins the next."""
    current = call.summaries[-1] if call.summaries else None
    names = {name for name, _, _ in current.figures} if current else set()
    throughput = _THROUGHPUT.fullmatch(text)
    begins = text == _SUMMARY or text in _OLD_START or (text.startswith("Latency: ") and "Latency mean" in names)
    if current is None or begins or (throughput and "Throughput" in names):
        current = _Summary(begun=begins)
        call.summaries.append(current)
    if text.startswith("Latency: "):
        current.figures += [(f"Latency {m['name']}", m["value"], m["unit"].rstrip(",")) for m in _PAIR.finditer(text)]
    elif throughput and current.old_section in ("", "Host Latency"):
        current.figures.append(("Throughput", throughput["value"], "req/s"))
    elif text in _OLD_START or text in _OLD_OTHER:
        current.old_section = "Host Latency" if text in _OLD_START else text
    elif current.old_section == "Host Latency" and (found := _OLD.fullmatch(text)):
        name = f"percentile({found['percent']}%)" if found["percent"] else found["name"]
        current.figures.append((f"Host Latency {name}", found["value"], found["unit"]))
    current.ended |= text.startswith(("Total GPU Compute Time: ", "total compute time: "))
    current.flags += [flag for words, flag in _FLAGS.items() if words in text]


def _read_log(calls: Sequence[_Call], asked: Mapping[str, Label], *, cut: bool) -> ParseResult:
    good = [call for call in calls if call.summaries and not call.failure]
    failures = [call.failure for call in calls if call.failure]
    versions = {call.version or call.options.get("TensorRT version", "").split(" ")[0] for call in good or calls} - {""}
    version = next(iter(versions)) if len(versions) == 1 else None
    if not good:
        return _without_result(calls, failures, version)
    runs, problems = [], [f"another call in the text failed: {failure}" for failure in failures]
    for call in good:
        for summary in call.summaries:
            missing = _missing(call, summary)
            runs.append(_read_summary(call, summary, asked, truncated=bool(missing)))
            problems += missing
    if len(versions) > 1:
        problems.append(f"calls of several versions stand in one text ({', '.join(sorted(versions))}): split it")
    if any(call.started and not (call.summaries or call.verdict or call.failure or call.tunes) for call in calls):
        problems.append("of another call in the text there is only the beginning")
    if cut and not problems and not good[-1].verdict:
        problems.append("the last line is cut")
    return ParseResult(
        tool=TOOL,
        outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
        reason="; ".join(dict.fromkeys(problems)),
        version=version,
        runs=without_repeats(runs),
    )


def _without_result(calls: Sequence[_Call], failures: Sequence[str], version: str | None) -> ParseResult:
    if failures:
        return ParseResult(tool=TOOL, outcome=ParseOutcome.FAILED, reason=failures[0], version=version)
    if any(call.verdict for call in calls):
        raise Refused("trtexec ended well without a performance summary: it built or profiled, nothing was timed")
    if not any(call.started for call in calls) and not any(call.options or call.queries for call in calls):
        reason = "a part of a log of trtexec without its performance summary"
    else:
        reason = "only the head of the log: no performance summary and no PASSED or FAILED line"
    return ParseResult(tool=TOOL, outcome=ParseOutcome.PARTIAL, reason=reason, version=version)


def _missing(call: _Call, summary: _Summary) -> list[str]:
    names = {name for name, _, _ in summary.figures}
    parts = [] if call.started or call.verdict else ["no banner"]
    parts += [] if "Throughput" in names else ["no Throughput line"]
    parts += [] if any("Latency" in name for name in names) else ["no Latency line"]
    parts += [] if summary.ended else ["the text ends inside the performance summary"]
    return parts + (["no PASSED or FAILED line"] if call.started and not call.verdict else [])


def _read_summary(call: _Call, summary: _Summary, asked: Mapping[str, Label], *, truncated: bool) -> ParsedRun:
    run = RunBuilder()
    if call.queries is not None or call.verdict:
        _take_head(run, call, asked)
    for name, value, unit in summary.figures:
        if name in KEYS:
            run.take_as(name, KEYS[name].metric, unit, value)
    for flag in (["truncated"] if truncated else []) + summary.flags:
        run.flag(flag)
    return run.build()


def _take_head(run: RunBuilder, call: _Call, asked: Mapping[str, Label]) -> None:
    """Label a run with what its call printed first; a summary that follows no trace may be another call's.

    Of model and precision trtexec knows the file and what the builder may use: who asked for it knows better.
    """
    run.label("input_shape", ",".join(call.shapes))
    if "--loadEngine" not in call.command and "Load engine" not in call.options:
        for label, option in (("model", "Model"), ("precision", "Precision")):
            if label not in asked:
                run.label(label, call.options.get(option))
    run.label("gpu", call.options.get("Selected Device"))
    run.label("gpu_uuid", call.options.get("Selected Device UUID"))
    batch = re.search(r"--batch=(\d+)", call.command)
    batch_text = batch[1] if batch else call.options.get("Batch", "")
    if batch_text.isdigit():
        run.label("batch", number_label(batch_text))
