"""The metric catalogue: one name, one unit, one direction each, and what a believable value looks like.

A parser gives these and invents nothing: what a file does not state is missing, never 0. To add a metric, add one
entry to `CATALOGUE`. A tool's own keys for the metrics stand in that tool's parser (`keys`), since the same word means
different things in different tools; `caution` says where.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from jobs.errors import UserError
from jobs.units import find_unit


class Direction(StrEnum):
    """Which way is better. Neutral: counts, shown and never judged."""

    HIGHER = "higher"
    LOWER = "lower"
    NEUTRAL = "neutral"


class Kind(StrEnum):
    """What sort of thing a metric measures. Power and memory are judged beside throughput, never alone."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    POWER = "power"
    MEMORY = "memory"
    QUALITY = "quality"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One canonical metric. A value outside `low`..`high` (both allowed) is not believed."""

    name: str
    unit: str
    direction: Direction
    kind: Kind
    low: float
    high: float
    meaning: str
    caution: str = ""
    """Which word of which tool looks like this metric and is not, or is it under another name."""

    def __post_init__(self) -> None:
        find_unit(self.unit)
        if not self.low < self.high:
            raise ValueError(f"metric {self.name}: low {self.low} must be below high {self.high}")

    def doubt(self, value: float) -> str | None:
        """Return why `value`, in this metric's unit, may not enter a series; None if it may."""
        if not math.isfinite(value):
            return f"expected a finite number, found {value}"
        if self.kind is Kind.COUNT and value % 1:
            return f"expected a whole number, found {value:g}"
        if self.low <= value <= self.high:
            return None
        return f"{value:g} {self.unit} is outside the plausible range {self.low:g} to {self.high:g} {self.unit}"


STATISTICS = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
}
_LATENCIES = {
    "ttft": "time from sending a request to its first token",
    "tpot": "time per output token of one request, (end-to-end time - TTFT) / (output tokens - 1)",
    "itl": "gap between two neighbouring tokens or chunks, over all gaps",
    "e2e": "time from sending a request to its last token",
    "latency": "time of one inference or query, for tools without tokens",
}
_CAUTIONS = {
    "tpot": "AIPerf's inter_token_latency and GenAI-Perf's Inter Token Latency are one value a request: this metric",
    "itl": "AIPerf's inter_chunk_latency is the nearest; its inter_token_latency and GenAI-Perf's are tpot",
    "e2e": "the Total Latency of trtllm-bench and gptManagerBenchmark is the length of the run, not this",
    "latency": "of a batch for trtexec and perf_analyzer; for MLPerf Offline it counts from one giant query: not taken",
}
_ONE_NS_IN_MS, _ONE_DAY_IN_MS = 1e-6, 86_400_000.0


def _latency(family: str, statistic: str) -> Metric:
    return Metric(
        name=f"{family}_{statistic}_ms",
        unit="ms",
        direction=Direction.LOWER,
        kind=Kind.LATENCY,
        low=_ONE_NS_IN_MS,
        high=_ONE_DAY_IN_MS,
        meaning=f"{STATISTICS[statistic]}: {_LATENCIES[family]}",
        caution=_CAUTIONS.get(family, ""),
    )


def _rate(name: str, unit: str, meaning: str, caution: str = "") -> Metric:
    return Metric(
        name=name,
        unit=unit,
        direction=Direction.HIGHER,
        kind=Kind.THROUGHPUT,
        low=1e-6,
        high=1e9,
        meaning=meaning,
        caution=caution,
    )


def _resource(kind: Kind, name: str, unit: str, high: float, meaning: str, caution: str) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        direction=Direction.LOWER,
        kind=kind,
        low=1e-6,
        high=high,
        meaning=meaning,
        caution=caution,
    )


def _count(name: str, direction: Direction, meaning: str) -> Metric:
    return Metric(name=name, unit="count", direction=direction, kind=Kind.COUNT, low=0, high=1e12, meaning=meaning)


_ENTRIES = (
    _rate("output_tok_s", "tok/s", "generated tokens a second, whole system", "Token Throughput of trtllm-bench 0.17"),
    _rate(
        "total_tok_s",
        "tok/s",
        "input plus output tokens a second, whole system",
        "vLLM's input throughput and peak throughput are not it",
    ),
    _rate("prompt_tok_s", "tok/s", "prompt tokens a second while prefilling"),
    _rate(
        "output_tok_s_per_gpu",
        "tok/s/GPU",
        "generated tokens a second over the GPUs",
        "trtllm-bench divides by the world size, InferenceX by the decode GPUs when prefill and decode are apart",
    ),
    _rate(
        "total_tok_s_per_gpu",
        "tok/s/GPU",
        "input plus output tokens a second over all GPUs",
        "InferenceX calls it tput_per_gpu",
    ),
    _rate(
        "req_s",
        "req/s",
        "finished requests (samples, queries, inferences) a second",
        "a query of trtexec is a whole batch with explicit shapes, one sample of it with the old --batch",
    ),
    _rate(
        "tok_s_user",
        "tok/s/user",
        "tokens a second as one user sees them (interactivity)",
        "InferenceX: 1 / median TPOT; trtllm-bench: tokens over the whole request time",
    ),
    *(_latency(family, statistic) for family in _LATENCIES for statistic in STATISTICS),
    _resource(
        Kind.POWER,
        "power_w",
        "W",
        100_000,
        "mean power of one GPU while it worked",
        "InferenceX's avg_total_gpu_power_w is all GPUs together; nvidia-smi reads one moment",
    ),
    _resource(Kind.POWER, "energy_j", "J", 1e12, "energy of the whole run", "GenAI-Perf's telemetry is in MJ (mega)"),
    _resource(
        Kind.MEMORY,
        "memory_gb",
        "GB",
        100_000,
        "peak memory in use on the GPU, in 10^9 bytes",
        "never the size of the card, never memory of the host",
    ),
    Metric(
        name="accuracy",
        unit="fraction",
        direction=Direction.HIGHER,
        kind=Kind.QUALITY,
        low=0.0,
        high=1.0,
        meaning="share of right answers",
    ),
    _count("requests_ok", Direction.NEUTRAL, "requests that finished"),
    _count("requests_failed", Direction.LOWER, "requests that failed or were cancelled"),
)
CATALOGUE: Mapping[str, Metric] = {metric.name: metric for metric in _ENTRIES}


@dataclass(frozen=True, slots=True)
class Key:
    """What a tool's own key means: a metric of the catalogue, and the unit the tool writes it in."""

    metric: str
    unit: str

    def __post_init__(self) -> None:
        known = find_metric(self.metric)
        if find_unit(self.unit).dimension != find_unit(known.unit).dimension:
            raise ValueError(f"{self.metric} is in {known.unit}, which {self.unit} cannot be turned into")


def statistic_keys(pattern: str, family: str, unit: str, names: Mapping[str, str] = STATISTICS) -> dict[str, Key]:
    """Return a tool's keys of one latency family: `pattern` with `{}` filled by the tool's name of each statistic.

    `names` maps the canonical statistic (mean, p50 ...) to the tool's word for it.
    """
    return {pattern.format(word): Key(f"{family}_{statistic}_ms", unit) for statistic, word in names.items()}


def find_metric(name: str) -> Metric:
    """Return the metric of that canonical name; raise UserError with the near matches."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = get_close_matches(name, CATALOGUE, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(CATALOGUE))}"
    raise UserError(f"unknown metric {name!r}; {hint}")
