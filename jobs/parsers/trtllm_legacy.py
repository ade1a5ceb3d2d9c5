"""Reads TensorRT-LLM's older benchmarks: gptManagerBenchmark, and the lines of benchmark.py and gptSessionBenchmark.

gptManagerBenchmark counts in num_samples what finished; its inter_token_latency is one value a request, so time per
output token. Source: NVIDIA/TensorRT-LLM benchmarks/cpp/gptManagerBenchmark.cpp, benchmarks/python/gpt_benchmark.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers._lines import whole_lines
from jobs.parsers._repeats import without_repeats
from jobs.run_builder import NOT_MEASURED, RunBuilder, number_label

MANAGER, PYTHON = "gptManagerBenchmark", "benchmark.py"
_WORDS = {"mean": "avg", "p50": "p50", "p90": "p90", "p99": "p99"}
SAMPLES, ERRORS = "num_samples", "num_error_samples"
THROUGHPUT, USER = "token_throughput(token/sec)", "user_tokens_per_second(tokens/sec/user)"
MANAGER_KEYS: Mapping[str, Key] = {
    SAMPLES: Key("requests_ok", "count"),
    ERRORS: Key("requests_failed", "count"),
    "seq_throughput(seq/sec)": Key("req_s", "req/s"),
    THROUGHPUT: Key("output_tok_s", "tok/s"),
    f"avg_{USER}": Key("tok_s_user", "tok/s/user"),
    **statistic_keys("{}_sequence_latency(ms)", "e2e", "ms", _WORDS),
    **statistic_keys("{}_time_to_first_token(ms)", "ttft", "ms", _WORDS),
    **statistic_keys("{}_inter_token_latency(ms)", "tpot", "ms", _WORDS),
}
_FAMILIES = ("sequence_latency(ms)", "time_to_first_token(ms)", "inter_token_latency(ms)", USER)
PYTHON_KEYS: Mapping[str, Key] = {
    "tokens_per_sec": Key("output_tok_s", "tok/s"),
    "tokensPerSec": Key("output_tok_s", "tok/s"),
    "latency(ms)": Key("e2e_mean_ms", "ms"),
    "percentile95(ms)": Key("e2e_p95_ms", "ms"),
    "percentile99(ms)": Key("e2e_p99_ms", "ms"),
    "gpu_peak_mem(gb)": Key("memory_gb", "GB"),
}
_LABELS = {
    "model_name": "model",
    "world_size": "gpu_count",
    "precision": "precision",
    "batch_size": "batch",
    "input_length": "isl",
    "output_length": "osl",
}
_MODEL_KEYS = ("engine_dir", "num_heads", "num_kv_heads", "num_layers", "hidden_size", "vocab_size", "num_beams")
_BUILD_KEYS = ("build_time(s)", "compute_cap", "quantization", "gpu_weights_percent")
_TOTALS = ("total_latency(ms)", "avg_acceptance_rate(tokens/decoding steps)", "total_generated_tokens")
_GENERATION = ("generation_time(ms)", "generation_tokens_per_second", "generationTokensPerSec")
_QUEUEING = "request_queueing_latency(ms)"
OTHER_KEYS = frozenset(
    [
        *(*_MODEL_KEYS, *_BUILD_KEYS, *_TOTALS, *_GENERATION),
        *(f"{word}_{family}" for family in (*_FAMILIES, _QUEUEING) for word in ("min", "max")),
        *(f"{word}_{family}" for family in (USER, _QUEUEING) for word in _WORDS.values()),
    ]
)
_MANAGER_LINE = re.compile(r"\[BENCHMARK\] (?P<key>\w+(?:\([^)]*\))?) (?P<value>\S+)\s*$")
_PYTHON_LINE = re.compile(r"\[BENCHMARK\] (?P<pairs>(?:model_name|engine_dir|batch_size) \S.*)")
_PYTHON_PAIR = re.compile(r"(?P<key>[A-Za-z]\w*(?:\([a-z]+\))?) (?P<value>\S+)")
_ASKED = re.compile(r"r: \d+, i: (?P<isl>\d+), o: (?P<osl>\d+)\s*$")
_VERSION = re.compile(r"TensorRT[- ]LLM version: (\S+)", re.IGNORECASE)
_TROUBLE = re.compile(r"\[ERROR\]|\[E\]|^\S*(?:Error|Exception)\b|Segmentation fault|terminate called|out of memory")

Pairs = dict[str, list[str]]
"""What a result says: the tool's key -> the values that were printed under it, each once."""


class TrtllmLegacy:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (MANAGER, PYTHON)
    reads = (
        "gptManagerBenchmark log and --output_csv, lines and --csv of benchmark.py, gptSessionBenchmark (0.5 to 0.21)"
    )
    landmarks: tuple[str, ...] = ("[BENCHMARK] ", "LLM version: ")
    keys: Mapping[str, Mapping[str, Key]] = {MANAGER: MANAGER_KEYS, PYTHON: PYTHON_KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the id of the tool whose result comes first, or whose name a log without one holds."""
        sample = content.sample
        if sample.startswith(f"{SAMPLES},") or _python_header(sample[:4096]):
            return MANAGER if sample.startswith(SAMPLES) else PYTHON
        if "[BENCHMARK] " not in sample:
            if "gptManagerBenchmark" in sample:
                return MANAGER
            return PYTHON if "gptSessionBenchmark" in sample or "benchmarks/python/benchmark.py" in sample else None
        return next((tool for line in sample.split("\n") if (tool := _writer(line))), None)

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a block, line or row; Failed where nothing finished."""
        lines, cut = whole_lines(content, self.landmarks)
        results = list(_manager_results(lines) if tool == MANAGER else _python_results(lines))
        if not results:
            return _without_result(lines, cut, tool)
        runs: list[ParsedRun] = []
        problems = ["the last line is cut"] if cut and _says_result(content) else []
        for pairs, problem in results:
            runs.append((_read_manager if tool == MANAGER else _read_python)(pairs, truncated=bool(problem)))
            problems += [problem] if problem else []
        if all(_nothing_finished(run) for run in runs):
            raise Failed("no request finished: num_samples is 0")
        if tool == MANAGER and any(_writer(line) == PYTHON for line in lines):
            problems.append(f"the text also holds results of {PYTHON}, which were not read")
        return ParseResult(
            tool=tool,
            outcome=ParseOutcome.PARTIAL if problems else ParseOutcome.OK,
            reason="; ".join(dict.fromkeys(problems)),
            version=_version(lines),
            runs=without_repeats(run for run in runs if not _nothing_finished(run)),
        )


def create() -> TrtllmLegacy:
    """Return the parser."""
    return TrtllmLegacy()


def _writer(line: str) -> str | None:
    """Return who wrote a line of a result."""
    if "[BENCHMARK] " not in line:
        return None
    if _PYTHON_LINE.search(line):
        return PYTHON
    manager = ("num_samples", "num_error_samples", "total_latency(ms)", THROUGHPUT, "seq_throughput(", *_FAMILIES)
    return MANAGER if any(key in line for key in manager) else None


def _python_header(text: str) -> list[str] | None:
    """Return the columns of benchmark.py's `--csv`, if a line of the text is its header."""
    for line in text.split("\n"):
        if line.startswith(("model_name,world_size,", "engine_dir,world_size,")) and "latency(ms)" in line:
            return line.strip().rstrip(",").split(",")
    return None


def _says_result(content: Content) -> bool:
    """Return whether the line that is not ended belongs to a result."""
    last = content.text(()).rpartition("\n")[2]
    return "[BENCHMARK]" in last or "," in last


def _version(lines: Sequence[str]) -> str | None:
    found = {match[1] for line in lines if "ersion" in line and (match := _VERSION.search(line))}
    return found.pop() if len(found) == 1 else None


def _without_result(lines: Sequence[str], cut: bool, tool: str) -> ParseResult:
    trouble = [line.strip() for line in lines if _TROUBLE.search(line)]
    if trouble:
        raise Failed(f"no result; the last error is {trouble[-1][:160]}")
    reason = f"the text ends before {tool} printed a result" if cut or lines else "the text is cut"
    return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason=reason, version=_version(lines))


def _manager_results(lines: Sequence[str]) -> Iterator[tuple[Pairs, str]]:
    """Yield what each block or row says, and what is wrong with it."""
    if lines and lines[0].startswith(f"{SAMPLES},"):
        yield from _rows(lines[0].strip().rstrip(",").split(","), lines[1:])
        return
    block, lengths = Pairs(), Pairs()
    for line in lines:
        if asked := _ASKED.match(line.strip()):
            if block:
                yield block | lengths, _missing(block)
            block, lengths = {}, {name: [value] for name, value in asked.groupdict().items()}
        if (found := _MANAGER_LINE.search(line)) is None:
            continue
        key = SAMPLES if found["key"] == f"{SAMPLES}(ms)" else found["key"]
        if key == SAMPLES and block.keys() - {SAMPLES, ERRORS}:
            yield block | lengths, _missing(block)
            block = {}
        values = block.setdefault(key, [])
        if found["value"] not in values:
            values.append(found["value"])
    if block:
        yield block | lengths, _missing(block)


def _rows(header: Sequence[str], lines: Sequence[str]) -> Iterator[tuple[Pairs, str]]:
    """Yield the rows up to the first that is none of the table's: what follows may be of another tool."""
    for line in filter(str.strip, lines):
        cells = line.strip().rstrip(",").split(",")
        row = dict(zip(header, cells, strict=False))
        if len(cells) != len(header) or not all(row[key].isdigit() for key in (SAMPLES, ERRORS) if key in row):
            yield (
                {},
                f"a row of {len(cells)} cells does not fit the header of {len(header)}; it and the rest are not read",
            )
            return
        yield {key: [value] for key, value in row.items()}, ""


def _missing(block: Pairs) -> str:
    """Return what a block of gptManagerBenchmark lacks; the first version ended with the throughput of tokens."""
    if any(len(values) > 1 for values in block.values()):
        return "the lines of two results stand mixed"
    order = list(block)
    if "total_latency(ms)" not in block or SAMPLES not in block:
        return "the beginning of a result is missing"
    if THROUGHPUT not in block or "avg_sequence_latency(ms)" not in block:
        return "the text ends inside a result"
    first_version = order.index(THROUGHPUT) > order.index("avg_sequence_latency(ms)")
    open_family = any(f"avg_{family}" in block and f"p50_{family}" not in block for family in _FAMILIES)
    return "the text ends inside a result" if open_family and not first_version else ""


def _read_manager(pairs: Pairs, *, truncated: bool) -> ParsedRun:
    run = RunBuilder()
    counts = [number_label(pairs[key][0]) for key in (SAMPLES, ERRORS) if len(pairs.get(key, ())) == 1]
    counted = ERRORS in pairs or "total_latency(ms)" in pairs
    if counts and counted and all(isinstance(count, int) for count in counts):
        run.label("requests", sum(count for count in counts if isinstance(count, int)))
    for name in ("isl", "osl"):
        run.label(name, number_label(pairs.get(name, [""])[0]))
    _take(run, pairs, MANAGER_KEYS, MANAGER)
    if (failed := run.metrics.get("requests_failed")) and failed.value > 0:
        run.flag("requests_failed")
    if truncated:
        run.flag("truncated")
    return run.build()


def _nothing_finished(run: ParsedRun) -> bool:
    finished = run.metrics.get("requests_ok")
    return finished is not None and finished.value == 0


def _take(run: RunBuilder, pairs: Pairs, keys: Mapping[str, Key], tool: str) -> None:
    for own, values in pairs.items():
        if len(values) > 1 and own in keys:
            run.reject(own, " and ".join(values), "two results stand mixed: nobody can tell which value is whose")
        elif own in keys:
            run.take(own, keys[own], values[0])
        elif own not in OTHER_KEYS and own not in _LABELS and own not in ("isl", "osl"):
            run.unknown(own, values[0], tool)


def _python_results(lines: Sequence[str]) -> Iterator[tuple[Pairs, str]]:
    """Yield what each line or row says, and what is wrong with it."""
    header: list[str] | None = None
    for line in lines:
        if found := _PYTHON_LINE.search(line):
            pairs = {pair["key"]: [pair["value"]] for pair in _PYTHON_PAIR.finditer(found["pairs"])}
            yield pairs, "" if "latency(ms)" in pairs else "a line has no latency(ms)"
        elif columns := _python_header(line):
            header = columns
        elif header and line.count(",") == len(header) - 1:
            yield from _rows(header, [line])


def _read_python(pairs: Pairs, *, truncated: bool) -> ParsedRun:
    run = RunBuilder()
    stated = {key: values[0] for key, values in pairs.items() if values[0].lower() not in NOT_MEASURED}
    for own, name in _LABELS.items():
        value = stated.get(own, "")
        run.label(name, value if name in ("model", "precision") else number_label(value))
    if (mode := stated.get("quantization", "QuantMode.0")) != "QuantMode.0":
        run.label("quantization", mode)
    if (share := number_label(stated.get("gpu_weights_percent", "1"))) not in (None, 1):
        run.label("offload", f"gpu_weights_percent {share}")
    memory = stated.pop("gpu_peak_mem(gb)", "0")
    _take(run, {key: [value] for key, value in stated.items()}, _keys_of(stated), PYTHON)
    _take_memory(run, memory, by_python="world_size" in pairs)
    if truncated:
        run.flag("truncated")
    return run.build()


def _keys_of(stated: Mapping[str, str]) -> Mapping[str, Key]:
    """Return the keys of one line: a model that generates nothing (BERT) has a latency, no end-to-end time."""
    if "output_length" in stated:
        return PYTHON_KEYS
    return {own: Key(key.metric.replace("e2e_", "latency_"), key.unit) for own, key in PYTHON_KEYS.items()}


def _take_memory(run: RunBuilder, value: str, *, by_python: bool) -> None:
    """Take the peak memory that the C++ program printed; Python's says gb and is computed in GiB, and 0 is no value."""
    if number_label(value) == 0:
        return
    if by_python:
        run.flag("unit_doubtful")
        run.reject("gpu_peak_mem(gb)", value, "the key says gb, the program that wrote it computes GiB", "gb")
    else:
        run.take("gpu_peak_mem(gb)", PYTHON_KEYS["gpu_peak_mem(gb)"], value)
