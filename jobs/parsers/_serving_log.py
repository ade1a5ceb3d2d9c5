"""The printed block that the serving benchmarks of vLLM, TensorRT-LLM, SGLang and InferenceX share.

The line `Serving Benchmark Result` does not say who wrote it: SGLang names its backend and traffic inside the block,
TensorRT-LLM prints user throughput, InferenceX's token-position script prints seconds; what is left is vLLM's.
Sources: vllm/benchmarks/serve.py (benchmark_serving.py before), tensorrt_llm/serve/scripts/benchmark_serving.py,
sglang/bench_serving.py (sglang/benchmark/serving.py since 0.5.23).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._arguments import find_arguments, printed_label, serving_labels
from jobs.parsers._lines import without_thousands
from jobs.run_builder import NOT_MEASURED, RunBuilder, number_label

VLLM, TRTLLM = "vllm_bench_serve", "trtllm_benchmark_serving"
SGLANG, SECONDS = "sglang_bench_serving", "inferencex_token_position"
TITLE = "Serving Benchmark Result"
LANDMARKS = (TITLE, "Successful requests:", "Starting initial single prompt test run", "Starting warmup with ")
_STATISTICS = {"mean": "Mean", "p50": "Median", "p90": "P90", "p95": "P95", "p99": "P99"}
_P50 = {"p50": "P50"}
_FAMILIES = {"TTFT": "ttft", "TPOT": "tpot", "ITL": "itl", "E2EL": "e2e", "E2E Latency": "e2e"}
KEYS: Mapping[str, Key] = {
    "Successful requests": Key("requests_ok", "count"),
    "Failed requests": Key("requests_failed", "count"),
    "Request throughput (req/s)": Key("req_s", "req/s"),
    "Output token throughput (tok/s)": Key("output_tok_s", "tok/s"),
    "Total token throughput (tok/s)": Key("total_tok_s", "tok/s"),
    "Total Token throughput (tok/s)": Key("total_tok_s", "tok/s"),
    "User throughput (tok/s)": Key("tok_s_user", "tok/s/user"),
    "Total Energy (J)": Key("energy_j", "J"),
    **{
        own: key
        for word, family in _FAMILIES.items()
        for unit in ("ms", "s")
        for names in (_STATISTICS, _P50)
        for own, key in statistic_keys("{} " + f"{word} ({unit})", family, unit, names).items()
    },
}
FIRST_KEYS: Mapping[str, Key] = {
    "Request throughput": Key("req_s", "req/s"),
    "Output token throughput": Key("output_tok_s", "tok/s"),
    **statistic_keys("{} TTFT", "ttft", "ms", _STATISTICS),
    **statistic_keys("{} TPOT", "tpot", "ms", _STATISTICS),
}
"""vLLM's keys of early 2024, before the block had a title: the unit stands behind the value."""
_LABELS = {
    "Maximum request concurrency": "concurrency",
    "Max request concurrency": "concurrency",
    "Max reqeuest concurrency": "concurrency",
    "Request rate configured (RPS)": "request_rate",
    "Traffic request rate": "request_rate",
    "Backend": "backend",
    "Total requests": "requests",
}
_OTHERS = re.compile(
    r"Benchmark duration.*|Total (?:input|generated|prompt|cached|failed) .*|Input t.*|Peak .*|Request goodput.*"
    r"|(?:Std Dev|Std|Min|Max|P[\d.]+|Mean|Median) .+|Output Tokens per .*|Total GPU Power.*|Good .*|Concurrency|RTFx.*"
    r"|Draft.*|Accept.*|Position \d+|Probe .*|Committed .*|Denoising .*|Canvas .*|Cache hit rate|Device|Host"
    r"|Storage.*|Burstiness factor|Last .*"
)
"""Keys that the writers print and no metric means."""
_SGLANG_KEYS = re.compile(
    r"Backend|Traffic request rate|Max req\w+ concurrency|Concurrency|Accept length|.* E2E Latency \(ms\)"
    r"|Total generated tokens \(retokenized\)|Total input (?:text|vision) tokens"
)
_TRTLLM_KEYS = re.compile(
    r"User throughput.*|Total requests|Total failed requests|.*Avg Decoded Tokens.*|Total Energy.*"
)
_SECONDS_KEYS = re.compile(r"(?:Mean|Median|P[\d.]+) (?:TTFT|TPOT|E2EL) \(s\)")
_TITLE = re.compile(rf"={{3,}} {TITLE} ={{3,}}")
_RULE = re.compile(r"(?:^|[\s\]>:|#])={10,}\s*$")
_PAIR = re.compile(
    r"(?<![A-Za-z0-9.])(?P<key>[A-Z][A-Za-z0-9.]*(?: [A-Za-z0-9.]+)*(?: \([^()]*\))?)\s*:(?:\s+(?P<value>\S.*?))?\s*$"
)
_BARE = re.compile(r"\s*(?P<key>(?:Mean|Median|P[\d.]+) [\w ]+\(m?s\))\s*")
_AMBIGUOUS = re.compile(r"[-=]*>|[→|/]|[-+]?[\d.]+(?:\s|$)")
_STARTS = ("Successful requests", "Total requests", "Backend")
_BEFORE_A_BLOCK = ("Traffic request rate", "Burstiness factor")
"""What is printed before a block (by SGLang at its head): after its first figures, they end one that was cut."""
_FRAGMENT = re.compile(
    r"(?:throughput \((?:req|tok)/s\)|(?:TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\)|Request throughput|TTFT|TPOT)"
    r":[ \t]+[\d\[]"
)
_ERROR = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)
LONGEST_LINE = 400
"""Characters; a longer line is no part of a result."""
_FRAGMENT_BYTES = 65536


@dataclass(slots=True)
class Block:
    """The lines of one printed result, as far as they go, and the settings printed before it."""

    settings: Mapping[str, Label] = field(default_factory=dict)
    titled: bool = True
    values: dict[str, list[str]] = field(default_factory=dict)
    last: str = "its title"
    closed: bool = False
    follows: bool = False
    """Whether nothing stands between it and the one before, as where ranks print the same."""

    @property
    def writer(self) -> str | None:
        """The tool that printed it; None where vLLM and TensorRT-LLM print the same."""
        for tool, pattern in ((SGLANG, _SGLANG_KEYS), (TRTLLM, _TRTLLM_KEYS), (SECONDS, _SECONDS_KEYS)):
            if any(pattern.fullmatch(key) for key in self.values):
                return tool
        own = ("Peak output token throughput (tok/s)", "Maximum request concurrency", "Request rate configured (RPS)")
        return VLLM if any(key in self.values for key in own) else None

    @property
    def done(self) -> int | None:
        """The number of requests that finished; None where it is not printed."""
        count = number_label(next(iter(self.values.get("Successful requests", ())), "").partition(" ")[0])
        return count if isinstance(count, int) else None

    def read(self, key: str, value: str | None) -> None:
        """Take in one line."""
        self.last = key
        self.values.setdefault(key, [])
        if value is not None and value not in self.values[key]:
            self.values[key].append(value)

    def is_placeholder(self) -> bool:
        """Return whether figures are printed, and none of them is a number (`[result]`)."""
        figures = [key for key in self.values if key in KEYS and key.endswith("s)")]
        words = [value.split()[0] for key in figures for value in self.values[key]]
        return bool(words) and not any(
            number_label(word) is not None or word.lower() in NOT_MEASURED | {"nan", "inf"} for word in words
        )


class _Reader:
    """Reads lines into blocks; without titles, a block begins where its first line stands."""

    def __init__(self, titled: bool) -> None:
        self._titled = titled
        self._settings: dict[str, Label] = {}
        self._open = False
        self._between = False
        self.blocks: list[Block] = []

    def read(self, line: str) -> None:
        """Take in one line."""
        if "Namespace(" in line:
            self._settings = serving_labels(find_arguments(line)) or self._settings
            self._open = False
        elif "Traceback (most recent call last)" in line:
            self._settings, self._open = {}, False
        elif len(line) > LONGEST_LINE:
            return
        elif self._titled and TITLE in line and _TITLE.search(line):
            self._begin()
        elif self._open and _RULE.search(line):
            self.blocks[-1].closed, self._open, self._between = True, False, False
        elif found := _PAIR.search(line) or _BARE.fullmatch(line):
            self._pair(found["key"], found.groupdict().get("value"))
        elif line.strip():
            self._between = True

    def _begin(self) -> None:
        if self._open and not self.blocks[-1].values:
            self.blocks.pop()
        repeats = bool(self.blocks) and self.blocks[-1].closed and not self._between
        self.blocks.append(Block(settings=self._settings, titled=self._titled, follows=repeats))
        self._settings, self._open = {}, True

    def _pair(self, key: str, value: str | None) -> None:
        block = self.blocks[-1] if self._open else None
        if block is not None and "Successful requests" in block.values and key in _BEFORE_A_BLOCK:
            block, self._open = None, False
        if block is not None and (self._titled or key not in _STARTS or key not in block.values):
            block.read(key, value)
        elif key in _LABELS and key not in _STARTS:
            self._between = True
            self._settings = {name: was for name, was in self._settings.items() if name != _LABELS[key]}
            self._settings.update(printed_label(_LABELS[key], value))
        elif not self._titled and value is not None and (key in _STARTS or (not self.blocks and key in KEYS)):
            self._begin()
            self.blocks[-1].read(key, value)
        else:
            self._between = True


def blocks_of(lines: Iterable[str], titled: bool) -> list[Block]:
    """Return the printed results; what stands between them is no part of any, but for the settings of the next."""
    reader = _Reader(titled)
    for line in lines:
        reader.read(line)
    return reader.blocks


def writer_of(content: Content) -> str | None:
    """Return the tool that printed a text; None where it is none of the four.

    Cheap enough for every file: the head and the tail of a long one are looked at.
    """
    text = content.sample
    titled = TITLE in text and _TITLE.search(text) is not None
    if not titled and "Benchmark Result" in text:
        return None
    if titled or len(_FRAGMENT.findall(text[-_FRAGMENT_BYTES:])) >= 3:
        writers = (block.writer for block in blocks_of(text.split("\n"), titled))
        found = next((writer for writer in writers if writer), None)
        return found or (TRTLLM if "tensorrt_llm/serve/scripts" in text.replace(".", "/") else VLLM)
    return _starter_of(text)


def _starter_of(text: str) -> str | None:
    """Return which serving benchmark started to print and got no further than before its result."""
    crashed = "Traceback (most recent call last)" in text
    if "sequences..." in text and "Starting warmup with" in text:
        return SGLANG
    if crashed and re.search(r"sglang/(?:bench_serving|benchmark/serving)\.py", text):
        return SGLANG
    started = "Starting initial single prompt test run" in text
    if (started or crashed) and "tensorrt_llm/serve/scripts/benchmark_serving" in text.replace(".", "/"):
        return TRTLLM
    if started or (crashed and re.search(r"benchmarks/serve\.py|benchmark_serving\.py", text)):
        return VLLM
    return None


def read_log(content: Content, tool: str) -> ParseResult:
    """Return one run a block of `tool`'s; Refused for placeholders, Failed for a log that ends in an error."""
    text = content.text(LANDMARKS)
    lines = text.split("\n")
    unended = lines.pop().strip()
    titled = _TITLE.search(text) is not None
    blocks = blocks_of(lines, titled)
    if not blocks:
        return _without_block(tool, text)
    if len(unended) >= 3 and not unended.strip("="):
        blocks[-1].closed = True
    if all(block.is_placeholder() for block in blocks):
        raise Refused("every result is a placeholder; requests and tokens alone are not a measurement")
    own = [block for block in blocks if block.writer == tool or (block.writer is None and tool != SGLANG)]
    own = list(_each_once(block for block in own if not block.is_placeholder()))
    reasons = [*_ends(own, unended), *_left_out(blocks, tool)]
    if titled and _begins_inside(lines):
        reasons.append("the text begins inside a result")
    return _result(tool, own, reasons)


def _result(tool: str, blocks: Sequence[Block], reasons: list[str]) -> ParseResult:
    """Return the runs of the blocks that are read; Failed where no request finished in any."""
    failed = [block for block in blocks if block.done == 0]
    if failed and len(failed) == len(blocks):
        raise Failed("no request finished")
    reasons += ["no request finished in one of the results"] if failed else []
    read = [run for run in (read_block(block, tool) for block in blocks if block not in failed) if run.metrics]
    runs = tuple(run for number, run in enumerate(read) if run not in read[:number])
    if not any(is_figure(name) for run in runs for name in run.metrics):
        reasons, runs = reasons or ["no figure is printed"], ()
    outcome = ParseOutcome.PARTIAL if reasons else ParseOutcome.OK
    return ParseResult(tool=tool, outcome=outcome, reason="; ".join(reasons[:3]), runs=runs)


def _without_block(tool: str, text: str) -> ParseResult:
    errors = _ERROR.findall(text)
    if errors:
        raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}")
    return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason="the text ends before the result")


def _each_once(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks without those printed again, whole or up to a cut, under the settings of the first."""
    seen: list[Block] = []
    for block in blocks:
        again = any(block.values == earlier.values for earlier in seen)
        if seen and block.follows and not block.closed:
            again = again or list(block.values.items()) == list(seen[-1].values.items())[: len(block.values)]
        if block.settings or not again:
            yield block
        seen.append(block)


def _begins_inside(lines: Sequence[str]) -> bool:
    """Return whether lines of a result stand before the first title."""
    before = takewhile(lambda line: TITLE not in line, lines)
    found = (_PAIR.search(line) for line in before if "s):" in line and len(line) < LONGEST_LINE)
    return sum(pair is not None and pair["key"] in KEYS for pair in found) >= 3


def _ends(blocks: Sequence[Block], unended: str) -> Iterator[str]:
    """Yield, for each block without its end or beginning, where it ends."""
    for number, block in enumerate(blocks, start=1):
        where = f"result {number} ends" if len(blocks) > 1 else "the text ends"
        if _is_cut(block):
            cut_in = _PAIR.search(unended) or _BARE.fullmatch(unended) if block is blocks[-1] else None
            yield f"{where} at {cut_in['key'] if cut_in else block.last}"
        elif not block.titled and not _is_first_form(block):
            yield f"the line {TITLE!r} is missing before result {number}"


def _left_out(blocks: Sequence[Block], tool: str) -> Iterator[str]:
    """Yield why blocks of the text are not read."""
    others = sorted({block.writer or "an unnamed tool" for block in blocks} - {tool})
    if any(block.writer not in (tool, None) or (block.writer is None and tool == SGLANG) for block in blocks):
        yield f"results of {' and '.join(others)} in the same text are not read"
    if any(block.is_placeholder() for block in blocks):
        yield "a result is a placeholder"


def _is_first_form(block: Block) -> bool:
    """Return whether it is the block of early 2024, which has neither title nor closing rule."""
    return not block.titled and "Request throughput" in block.values


def _is_cut(block: Block) -> bool:
    return "P99 TPOT" not in block.values if _is_first_form(block) else not block.closed


def is_figure(metric: str) -> bool:
    """Return whether a metric is more than a count."""
    return not metric.startswith("requests_")


def read_block(block: Block, tool: str) -> ParsedRun:
    """Return the run of one block."""
    run = RunBuilder()
    labels = dict(block.settings)
    for own, name in _LABELS.items():
        labels.update(printed_label(name, next(iter(block.values.get(own, ())), None)))
    for name, value in labels.items():
        run.label(name, value)
    for own, values in block.values.items():
        _read_value(run, own, values, tool, block.done)
    if _is_cut(block) or (not block.titled and not _is_first_form(block)):
        run.flag("truncated")
    return run.build()


def _read_value(run: RunBuilder, own: str, values: Sequence[str], tool: str, samples: int | None) -> None:
    key = KEYS.get(own) or FIRST_KEYS.get(own)
    words = [value.split(maxsplit=1) for value in values]
    if key is None:
        if values and own not in _LABELS and not _OTHERS.fullmatch(own) and number_label(words[0][0]) is not None:
            run.unknown(own, values[0], tool)
    elif len({word[0] for word in words}) > 1:
        run.reject(own, " / ".join(values), "printed more than once in one result, with different values", key.unit)
    elif words:
        raw, rest = without_thousands(words[0][0].rstrip(";")), words[0][1] if len(words[0]) > 1 else ""
        of_requests = samples if not own.endswith("requests") and "ITL" not in own else None
        if own in FIRST_KEYS:
            run.take_as(own, key.metric, rest.split()[0] if rest else "", raw, samples=of_requests)
        elif _AMBIGUOUS.match(rest):
            run.reject(own, values[0], "more than one figure stands on the line", key.unit)
        else:
            run.take(own, key, raw, samples=of_requests)
