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

    @property
    def writer(self) -> str | None:
        """The tool that printed it; None where vLLM and TensorRT-LLM print the same."""
        for tool, pattern in ((SGLANG, _SGLANG_KEYS), (TRTLLM, _TRTLLM_KEYS), (SECONDS, _SECONDS_KEYS)):
            if any(pattern.fullmatch(key) for key in self.values):
                return tool
        own = ("Peak output token throughput (tok/s)", "Maximum request concurrency", "Request rate configured (RPS)")
        return VLLM if any(key in self.values for key in own) else None

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


def blocks_of(lines: Iterable[str], titled: bool) -> Iterator[Block]:
    """Yield the printed results; without titles, each begins where its first line stands."""
    block: Block | None = None
    settings: dict[str, Label] = {}
    for line in lines:
        if "Namespace(" in line:
            settings = serving_labels(find_arguments(line)) or settings
        elif len(line) > LONGEST_LINE:
            continue
        elif titled and TITLE in line and _TITLE.search(line):
            if block is not None and block.values:
                yield block
            block, settings = Block(settings=settings), {}
        elif block is not None and not block.closed and _RULE.search(line):
            block.closed = True
        elif found := _PAIR.search(line) or _BARE.fullmatch(line):
            key, value = found["key"], found.groupdict().get("value")
            if block is not None and not block.closed and (titled or key not in _STARTS or key not in block.values):
                block.read(key, value)
            elif key in _LABELS and key not in _STARTS:
                settings = {name: was for name, was in settings.items() if name != _LABELS[key]}
                settings.update(printed_label(_LABELS[key], value))
            elif not titled and value is not None and (key in _STARTS or (block is None and key in KEYS)):
                if block is not None:
                    yield block
                block, settings = Block(settings=settings, titled=False), {}
                block.read(key, value)
    if block is not None:
        yield block


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
    blocks = list(blocks_of(lines, titled))
    if not blocks:
        return _without_block(tool, text)
    if len(unended) >= 3 and not unended.strip("="):
        blocks[-1].closed = True
    if all(block.is_placeholder() for block in blocks):
        raise Refused("every result is a placeholder; requests and tokens alone are not a measurement")
    own = list(_each_once(block for block in blocks if block.writer in (tool, None)))
    reasons = [*_ends(own, unended), *_strangers(blocks, tool)]
    if titled and _begins_inside(lines):
        reasons.append("the text begins inside a result")
    read = [run for run in (read_block(block, tool) for block in own) if run.metrics]
    runs = tuple(run for number, run in enumerate(read) if run not in read[:number])
    if not any(is_figure(name) for run in runs for name in run.metrics):
        if runs and all(run.metrics["requests_ok"].value == 0 for run in runs if "requests_ok" in run.metrics):
            raise Failed("no request finished")
        reasons = reasons or ["no figure is printed"]
        runs = ()
    outcome = ParseOutcome.PARTIAL if reasons else ParseOutcome.OK
    return ParseResult(tool=tool, outcome=outcome, reason="; ".join(reasons[:3]), runs=runs)


def _without_block(tool: str, text: str) -> ParseResult:
    errors = _ERROR.findall(text)
    if errors:
        raise Failed(f"the benchmark failed: {errors[-1].strip()[:200]}")
    return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason="the text ends before the result")


def _each_once(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks without those printed again, by another rank, under the settings of the first."""
    seen: list[dict[str, list[str]]] = []
    for block in blocks:
        if block.settings or block.values not in seen:
            yield block
        seen.append(block.values)


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


def _strangers(blocks: Sequence[Block], tool: str) -> Iterator[str]:
    others = sorted({block.writer for block in blocks if block.writer not in (tool, None)} - {None}, key=str)
    if others:
        yield f"results of {' and '.join(map(str, others))} in the same text are not read"


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
    done = number_label(next(iter(block.values.get("Successful requests", ())), "").partition(" ")[0])
    samples = done if isinstance(done, int) and done > 0 else None
    for own, values in block.values.items():
        if done == 0 and own not in ("Successful requests", "Failed requests"):
            continue
        _read_value(run, own, values, tool, samples)
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
