"""The metric catalogue: one name, one unit, one direction each, and what a believable value looks like.

A parser gives these and invents nothing: what a file does not state is missing, never 0. To add a metric, add one
entry to `CATALOGUE`; to let a tool's own key stand for one, add it to that entry's `aliases` under the tool's id.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """What sort of thing a metric measures. Resources are judged beside throughput, never alone."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    RESOURCE = "resource"
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
    aggregation: str = "median"
    """How the repeats of a release become one point."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool id -> that tool's own keys for this metric; keys mean different things in different tools."""

    def __post_init__(self) -> None:
        find_unit(self.unit)
        if not self.low < self.high:
            raise ValueError(f"metric {self.name}: low {self.low} must be below high {self.high}")

    def doubt(self, value: float) -> str | None:
        """Return why `value`, in this metric's unit, may not enter a series; None if it may."""
        if not math.isfinite(value):
            return f"expected a finite number, found {value}"
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
_ONE_NS_IN_MS, _ONE_DAY_IN_MS = 1e-6, 86_400_000.0


def _latency(family: str, statistic: str) -> Metric:
    aliases = {"generic": (f"{family}_median_ms",)} if statistic == "p50" else {}
    return Metric(
        name=f"{family}_{statistic}_ms",
        unit="ms",
        direction=Direction.LOWER,
        kind=Kind.LATENCY,
        low=_ONE_NS_IN_MS,
        high=_ONE_DAY_IN_MS,
        meaning=f"{STATISTICS[statistic]}: {_LATENCIES[family]}",
        aliases=aliases,
    )


def _rate(name: str, unit: str, meaning: str) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        direction=Direction.HIGHER,
        kind=Kind.THROUGHPUT,
        low=1e-6,
        high=1e9,
        meaning=meaning,
    )


def _resource(name: str, unit: str, high: float, meaning: str) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        direction=Direction.LOWER,
        kind=Kind.RESOURCE,
        low=1e-6,
        high=high,
        meaning=meaning,
    )


def _count(name: str, direction: Direction, meaning: str) -> Metric:
    return Metric(name=name, unit="count", direction=direction, kind=Kind.COUNT, low=0, high=1e12, meaning=meaning)


_ENTRIES = (
    _rate("output_tok_s", "tok/s", "generated tokens a second, whole system"),
    _rate("total_tok_s", "tok/s", "input plus output tokens a second, whole system"),
    _rate("prompt_tok_s", "tok/s", "prompt tokens a second while prefilling"),
    _rate("output_tok_s_per_gpu", "tok/s/GPU", "generated tokens a second over the GPUs"),
    _rate("total_tok_s_per_gpu", "tok/s/GPU", "input plus output tokens a second over all GPUs"),
    _rate("req_s", "req/s", "finished requests (samples, queries, inferences) a second"),
    _rate("tok_s_user", "tok/s/user", "tokens a second as one user sees them (interactivity)"),
    *(_latency(family, statistic) for family in _LATENCIES for statistic in STATISTICS),
    _resource("power_w", "W", 100_000, "mean power of one GPU while it worked"),
    _resource("energy_j", "J", 1e12, "energy of the whole run"),
    _resource("memory_gb", "GB", 100_000, "peak memory in use on the GPU, in 10^9 bytes"),
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


def _known_names(tool: str) -> dict[str, Metric]:
    aliases = {alias: metric for metric in _ENTRIES for alias in metric.aliases.get(tool, ())}
    return {**aliases, **CATALOGUE}


def find_metric(name: str, tool: str = "generic") -> Metric:
    """Return the metric of that canonical name, or that `tool` calls so; raise UserError with the near matches."""
    known = _known_names(tool)
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(CATALOGUE))}"
    raise UserError(f"unknown metric {name!r}; {hint}")


def direction_of(metric: str) -> Direction:
    """Return which way the metric of that name is better; raise UserError for an unknown one."""
    return find_metric(metric).direction
