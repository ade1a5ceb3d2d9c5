"""The printed block that the serving benchmarks of vLLM, TensorRT-LLM, SGLang and InferenceX share: lines to values.

The line `Serving Benchmark Result` does not say who wrote it: SGLang names its backend and traffic inside the block,
TensorRT-LLM prints user throughput, InferenceX's token-position script prints seconds; what is left is vLLM's.
Sources: vllm/benchmarks/serve.py (benchmark_serving.py before), tensorrt_llm/serve/scripts/benchmark_serving.py,
sglang/bench_serving.py (sglang/benchmark/serving.py since 0.5.23).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.measurements import Label
from jobs.metrics import Key, statistic_keys
from jobs.parsers._arguments import find_arguments, printed_label, serving_labels
from jobs.run_builder import NOT_MEASURED, number_label

VLLM, TRTLLM = "vllm_bench_serve", "trtllm_benchmark_serving"
SGLANG, SECONDS = "sglang_bench_serving", "inferencex_token_position"
TITLE = "Serving Benchmark Result"
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
LABELS = {
    "Maximum request concurrency": "concurrency",
    "Max request concurrency": "concurrency",
    "Max reqeuest concurrency": "concurrency",
    "Request rate configured (RPS)": "request_rate",
    "Traffic request rate": "request_rate",
    "Backend": "backend",
    "Total requests": "requests",
}
_SGLANG_KEYS = re.compile(
    r"Backend|Traffic request rate|Max req\w+ concurrency|Concurrency|Accept length|.* E2E Latency \(ms\)"
    r"|Total generated tokens \(retokenized\)|Total input (?:text|vision) tokens"
)
_TRTLLM_KEYS = re.compile(
    r"User throughput.*|Total requests|Total failed requests|.*Avg Decoded Tokens.*|Total Energy.*"
)
_SECONDS_KEYS = re.compile(r"(?:Mean|Median|P[\d.]+) (?:TTFT|TPOT|ITL|E2EL) \(s\)")
TITLE_LINE = re.compile(rf"={{3,}} {TITLE} ={{3,}}")
_RULE = re.compile(r"(?:^|[\s\]>:|#])={10,}\s*$")
PAIR = re.compile(
    r"(?<![A-Za-z0-9.])(?P<key>[A-Z][A-Za-z0-9.]*(?: [A-Za-z0-9.]+)*(?: \([^()]*\))?)\s*:(?:\s+(?P<value>\S.*?))?\s*$"
)
BARE = re.compile(r"\s*(?P<key>(?:Mean|Median|P[\d.]+) [\w ]+\(m?s\))\s*")
_STARTS = ("Successful requests", "Total requests", "Backend")
_BEFORE_A_BLOCK = ("Traffic request rate", "Burstiness factor")
"""What is printed before a block (by SGLang at its head): after its first figures, they end one that was cut."""
LONGEST_LINE = 400
"""Characters; a longer line is no part of a result."""


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
        elif self._titled and TITLE in line and TITLE_LINE.search(line):
            self._begin()
        elif self._open and _RULE.search(line):
            self.blocks[-1].closed, self._open, self._between = True, False, False
        elif found := PAIR.search(line) or BARE.fullmatch(line):
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
        elif key in LABELS and key not in _STARTS:
            self._between = True
            self._settings = {name: was for name, was in self._settings.items() if name != LABELS[key]}
            self._settings.update(printed_label(LABELS[key], value))
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
