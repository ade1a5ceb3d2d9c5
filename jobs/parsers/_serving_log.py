"""The printed block that the serving benchmarks of vLLM, TensorRT-LLM and SGLang share, and the keys of their JSON.

The line `Serving Benchmark Result` alone does not say who wrote it: SGLang names its backend and traffic, TensorRT-LLM
prints user throughput. Sources: vllm/benchmarks/serve.py, tensorrt_llm/serve/scripts/benchmark_serving.py,
sglang/bench_serving.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import whole_lines
from jobs.run_builder import RunBuilder, number_label

TITLE = "Serving Benchmark Result ="
_STATISTICS = {"mean": "Mean", "p50": "Median", "p90": "P90", "p95": "P95", "p99": "P99"}
KEYS: Mapping[str, Key] = {
    "Successful requests": Key("requests_ok", "count"),
    "Failed requests": Key("requests_failed", "count"),
    "Request throughput (req/s)": Key("req_s", "req/s"),
    "Output token throughput (tok/s)": Key("output_tok_s", "tok/s"),
    "Total token throughput (tok/s)": Key("total_tok_s", "tok/s"),
    "Total Token throughput (tok/s)": Key("total_tok_s", "tok/s"),
    "User throughput (tok/s)": Key("tok_s_user", "tok/s/user"),
    **statistic_keys("{} TTFT (ms)", "ttft", "ms", _STATISTICS),
    **statistic_keys("{} TPOT (ms)", "tpot", "ms", _STATISTICS),
    **statistic_keys("{} ITL (ms)", "itl", "ms", _STATISTICS),
    **statistic_keys("{} E2EL (ms)", "e2e", "ms", _STATISTICS),
    **statistic_keys("{} E2E Latency (ms)", "e2e", "ms", _STATISTICS),
}
_LABELS = {
    "Maximum request concurrency": "concurrency",
    "Max request concurrency": "concurrency",
    "Max reqeuest concurrency": "concurrency",
    "Request rate configured (RPS)": "request_rate",
    "Traffic request rate": "request_rate",
    "Backend": "backend",
}
_JSON_STATISTICS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
OTHER_STATISTIC = re.compile(r"(?:std|min|max|median|mean|p[\d.]+)_\w+|\w+_(?:std|min|max|list)")
"""Statistics without a canonical name, under any tool's own key."""
_TITLE = re.compile(r"\s*=+ ?.*Serving Benchmark Result ?=+.*")
_PAIR = re.compile(r"\s*(?P<key>[A-Z][^:]*?)\s*:(?:\s+(?P<value>\S+(?: set)?)(?:\s.*)?)?\s*")
_BARE = re.compile(r"\s*(?P<key>(?:Mean|Median|P[\d.]+) [\w ]+\(ms\))\s*")
_RULE = re.compile(r"\s*={5,}\s*")
_ERROR = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)


def json_keys(e2e: str) -> dict[str, Key]:
    """Return the keys of the result JSON; `e2e` is the tool's word for end to end (`e2el`, `e2e_latency`)."""
    return {
        "request_throughput": Key("req_s", "req/s"),
        "output_throughput": Key("output_tok_s", "tok/s"),
        "completed": Key("requests_ok", "count"),
        **{
            own: key
            for family, word in (("ttft", "ttft"), ("tpot", "tpot"), ("itl", "itl"), ("e2e", e2e))
            for own, key in statistic_keys("{}_" + word + "_ms", family, "ms", _JSON_STATISTICS).items()
        },
    }


@dataclass(slots=True)
class Block:
    """The lines of one printed result, as far as they go."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def values(self) -> dict[str, str]:
        """The first value of each key."""
        found: dict[str, str] = {}
        for key, value in self.pairs:
            found.setdefault(key, value)
        return found


def writer_of(text: str) -> str | None:
    """Return which tool printed the first block of a text: vllm, trtllm or sglang; None where there is no block."""
    if TITLE not in text:
        return None
    block = text[text.index(TITLE) :]
    if re.search(r"^\s*(?:Traffic request rate|Backend):", block, re.MULTILINE):
        return "sglang"
    if re.search(r"^\s*(?:User throughput \(tok/s\)|Avg Decoded Tokens per Iter)", block, re.MULTILINE):
        return "trtllm"
    return "vllm"


def blocks_of(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the printed results; what stands between them is no part of any."""
    block: Block | None = None
    for line in lines:
        if _TITLE.fullmatch(line):
            if block is not None:
                yield block
            block = Block()
        elif block is None or block.closed:
            continue
        elif _RULE.fullmatch(line):
            block.closed = True
        elif pair := _PAIR.fullmatch(line):
            key = " ".join(pair["key"].split())
            if pair["value"] is None:
                block.empty.append(key)
            else:
                block.pairs.append((key, pair["value"]))
        elif bare := _BARE.fullmatch(line):
            block.empty.append(bare["key"])
    if block is not None:
        yield block


def read_log(content: Content, tool: str) -> ParseResult:
    """Return one run a block; Refused for placeholders, Failed for a log that ends in an error without a block."""
    lines, cut = whole_lines(content, (TITLE,))
    blocks = list(blocks_of(lines))
    if not blocks:
        errors = _ERROR.findall("\n".join(lines))
        if errors:
            raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}")
        return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason="the text ends before the result")
    if all(_is_placeholder(block) for block in blocks):
        raise Refused("every result is a placeholder; requests and tokens alone are not a measurement")
    runs: list[ParsedRun] = []
    for block in blocks:
        run = read_block(block)
        if run not in runs:
            runs.append(run)
    if not any(is_figure(name) for run in runs for name in run.metrics) and not any(b.closed for b in blocks):
        reason = "the text ends before the first figure; requests alone are not a measurement"
        return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason=reason)
    return _outcome(tool, blocks, runs, cut)


def is_figure(metric: str) -> bool:
    """Return whether a metric is more than a count."""
    return not metric.startswith("requests_")


def _outcome(tool: str, blocks: Sequence[Block], runs: Sequence[ParsedRun], cut: bool) -> ParseResult:
    done = [run.metrics["requests_ok"].value for run in runs if "requests_ok" in run.metrics]
    if done and not any(done):
        raise Failed("no request finished")
    reasons = []
    for number, block in enumerate(blocks, start=1):
        if not block.closed:
            last = (block.empty or [key for key, _ in block.pairs] or ["its title"])[-1]
            where = f"result {number} ends" if len(blocks) > 1 else "the text ends"
            reasons.append(f"{where} at {last}")
    if cut and not reasons and not blocks[-1].closed:
        reasons.append("the text ends inside a line")
    outcome = ParseOutcome.PARTIAL if reasons else ParseOutcome.OK
    return ParseResult(tool=tool, outcome=outcome, reason="; ".join(reasons), runs=tuple(runs))


def _is_placeholder(block: Block) -> bool:
    figures = [value for key, value in block.pairs if key in KEYS and KEYS[key].unit != "count"]
    return bool(figures) and all(number_label(value) is None for value in figures) and "nan" not in figures


def read_block(block: Block) -> ParsedRun:
    """Return the run of one block."""
    run = RunBuilder()
    values = block.values
    for own, name in _LABELS.items():
        take_label(run, name, values.get(own))
    for own, value in values.items():
        if own in KEYS:
            run.take(own, KEYS[own], value)
    if values.get("Failed requests", "0") != "0":
        run.flag("requests_failed")
    if not block.closed:
        run.flag("truncated")
    return run.build()


def take_label(run: RunBuilder, name: str, value: Label | None) -> None:
    """Set a label as these tools print it: numbers as numbers, `not set` as absent, an infinite rate as `inf`."""
    if value is None or str(value) in ("not set", "None", ""):
        return
    text = str(value)
    if text.lower() in ("inf", "infinity"):
        run.label(name, "inf")
        return
    number = number_label(text)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    run.label(name, text if number is None else number)
