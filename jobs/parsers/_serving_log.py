"""Reads the logs of the serving benchmarks of vLLM, TensorRT-LLM, SGLang and InferenceX: who wrote one, and its runs.

See `_serving_block` for the block that all of them print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import ParsedRun, ParseOutcome, ParseResult
from jobs.parsers._arguments import printed_label
from jobs.parsers._serving_block import (
    BARE,
    FIRST_KEYS,
    KEYS,
    LABELS,
    LONGEST_LINE,
    PAIR,
    SGLANG,
    TITLE,
    TITLE_LINE,
    TRTLLM,
    VLLM,
    Block,
    blocks_of,
)
from jobs.run_builder import RunBuilder, number_label, without_thousands

LANDMARKS = (TITLE, "Successful requests:", "Starting initial single prompt test run", "Starting warmup with ")
_OTHERS = re.compile(
    r"Benchmark duration.*|Total (?:input|generated|prompt|cached|failed) .*|Input t.*|Peak .*|Request goodput.*"
    r"|(?:Std Dev|Std|Min|Max|P[\d.]+|Mean|Median) .+|Output Tokens per .*|Total GPU Power.*|Good .*|Concurrency|RTFx.*"
    r"|Draft.*|Accept.*|Position \d+|Probe .*|Committed .*|Denoising .*|Canvas .*|Cache hit rate|Device|Host"
    r"|Storage.*|Burstiness factor|Last .*"
)
"""Keys that the writers print and no metric means."""
_FRAGMENT = re.compile(
    r"(?:throughput \((?:req|tok)/s\)|(?:TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\)|Request throughput|TTFT|TPOT)"
    r":[ \t]+[\d\[]"
)
_ERROR = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)
_AMBIGUOUS = re.compile(r"[-=]*>|[→|/]|[-+]?[\d.]+(?:\s|$)")
_FRAGMENT_BYTES = 65536


_JSON_FIRST = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')
"""A text that starts like JSON is no log: a block behind a JSON document is two files in one."""


def writer_of(content: Content) -> str | None:
    """Return the tool that printed a text; None where it is none of the four.

    Cheap enough for every file: the head and the tail of a long one are looked at.
    """
    text = content.sample
    if _JSON_FIRST.match(text):
        return None
    titled = TITLE in text and TITLE_LINE.search(text) is not None
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
    titled = TITLE_LINE.search(text) is not None
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
    found = (PAIR.search(line) for line in before if "s):" in line and len(line) < LONGEST_LINE)
    return sum(pair is not None and pair["key"] in KEYS for pair in found) >= 3


def _ends(blocks: Sequence[Block], unended: str) -> Iterator[str]:
    """Yield, for each block without its end or beginning, where it ends."""
    for number, block in enumerate(blocks, start=1):
        where = f"result {number} ends" if len(blocks) > 1 else "the text ends"
        if _is_cut(block):
            cut_in = PAIR.search(unended) or BARE.fullmatch(unended) if block is blocks[-1] else None
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
    for own, name in LABELS.items():
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
        if values and own not in LABELS and not _OTHERS.fullmatch(own) and number_label(words[0][0]) is not None:
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
