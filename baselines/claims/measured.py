"""The cumulative change of one series between two releases, in its parts, with the releases that brought it.

One series is one config on one hardware class, so workload and hardware are held by what a series is. What is left is
software (throughput), price and power; their product is the whole change. Parts are told as times better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from baselines.comparison.compare import ComparisonInput, Word, compare_many
from baselines.cost.books import Rate
from baselines.cost.derived import DERIVED, Tokens
from baselines.cost.releases import ReleaseCost

Source = Literal["software", "price", "power", "workload", "hardware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One release of the series."""

    release: str
    rates: tuple[float, ...]
    """Tokens a second of one GPU, one a repeat."""
    cost: ReleaseCost
    differs: str | None = None
    """What else than the release differs from the step before."""

    def __post_init__(self) -> None:
        if not self.rates or not all(0 < rate < math.inf for rate in self.rates):
            raise ValueError(
                f"{self.release}: expected tokens a second above 0, one repeat or more, found {self.rates}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How many times better one thing made it; the interval is 95 %, None where it is exact or not known."""

    source: Source
    ratio: float
    low: float | None = None
    high: float | None = None
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What one release did to throughput, against the one before it."""

    release: str
    before: str
    ratio: float
    low: float | None
    high: float | None
    verdict: Word
    share: float | None
    """Its share of the whole change of the software, of the logarithms; None where there is no change."""
    differs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredClaim:
    """The change from the first step to the last; without a value on both sides, `reason` says why."""

    metric: str
    before: float | None
    after: float | None
    ratio: float | None
    """How many times better as priced."""
    low: float | None
    high: float | None
    held_before: float | None
    held_after: float | None
    """The same metric with price and power held: what the software did."""
    parts: tuple[Part, ...]
    links: tuple[Link, ...]
    confounded_by: str | None
    reason: str = ""

    @property
    def is_software_only(self) -> bool:
        """Return whether nothing but the software moved it."""
        others = [part for part in self.parts if part.source != "software"]
        return self.confounded_by is None and self.ratio is not None and all(part.ratio == 1 for part in others)

    @property
    def contributing(self) -> tuple[Link, ...]:
        """Return the releases that changed throughput beyond the noise."""
        return tuple(link for link in self.links if link.verdict in ("improved", "regressed"))


def measure_claim(
    steps: Sequence[Step], metric: str, confounded_by: str | None = None, kind: Tokens = "output"
) -> MeasuredClaim:
    """Return what became of a derived metric from the first step to the last; ValueError for fewer than two steps."""
    if len(steps) < 2:
        raise ValueError(f"steps: expected two releases or more, found {len(steps)}")
    if metric not in DERIVED or kind not in metric:
        raise ValueError(f"metric: expected a derived metric of {kind} tokens, found {metric!r}")
    first, last = steps[0], steps[-1]
    whole, *between = _compare([(first, last), *pairwise(steps)])
    software = Part(
        source="software",
        ratio=_ratio(first, last),
        low=_times(whole[0]),
        high=_times(whole[1]),
        how=f"{kind} tok/s/GPU {_show(median(first.rates))} -> {_show(median(last.rates))}",
    )
    links = tuple(
        _link(before, after, one, software.ratio) for (before, after), one in zip(pairwise(steps), between, strict=True)
    )
    start, end = (step.cost.as_priced.figures[metric] for step in (first, last))
    held = [step.cost.software_only.figures[metric].value for step in (first, last)]
    ratio = None
    parts = [software]
    if start.value is not None and end.value is not None:
        ratio = start.value / end.value if DERIVED[metric].direction == "lower" else end.value / start.value
        parts.append(_book_part(first, last, metric, ratio / software.ratio))
    parts.append(Part(source="workload", ratio=1.0, how="held: a series is one config on one hardware class"))
    others = ratio / software.ratio if ratio is not None else None
    return MeasuredClaim(
        metric=metric,
        before=start.value,
        after=end.value,
        ratio=ratio,
        low=None if others is None or software.low is None else software.low * others,
        high=None if others is None or software.high is None else software.high * others,
        held_before=held[0],
        held_after=held[1],
        parts=tuple(parts),
        links=links,
        confounded_by=confounded_by,
        reason=start.reason or end.reason,
    )


def _compare(pairs: Sequence[tuple[Step, Step]]) -> list[tuple[float | None, float | None, Word]]:
    """Return interval and verdict of each pair; the first stands alone, the rest are one family."""
    inputs = [ComparisonInput(reference=a.rates, candidate=b.rates, direction="higher") for a, b in pairs]
    found = [*compare_many(inputs[:1]), *compare_many(inputs[1:])]
    return [(one.low, one.high, one.verdict) for one in found]


def _ratio(before: Step, after: Step) -> float:
    return median(after.rates) / median(before.rates)


def _show(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


def _times(effect: float | None) -> float | None:
    return None if effect is None else 1 + effect


def _link(before: Step, after: Step, compared: tuple[float | None, float | None, Word], whole: float) -> Link:
    ratio = _ratio(before, after)
    low, high, verdict = compared
    total = math.log(whole)
    return Link(
        release=after.release,
        before=before.release,
        ratio=ratio,
        low=_times(low),
        high=_times(high),
        verdict=verdict,
        share=None if abs(total) < 1e-9 else math.log(ratio) / total,
        differs=after.differs,
    )


def _book_part(first: Step, last: Step, metric: str, ratio: float) -> Part:
    """Return what price or power did: the whole change without what the software did."""
    money = metric.startswith("usd_")
    source: Source = "price" if money else "power"
    rates = [
        step.cost.as_priced.price
        if money
        else step.cost.as_priced.power
        if step.cost.as_priced.figures[metric].editions
        else None
        for step in (first, last)
    ]
    told = [rate.words if isinstance(rate, Rate) else "as measured" for rate in rates]
    if isinstance(rates[0], Rate) and isinstance(rates[1], Rate):
        ratio = float(rates[0].value / rates[1].value)
    return Part(source=source, ratio=ratio, how=told[0] if told[0] == told[1] else f"{told[0]} -> {told[1]}")
