"""Two fronts side by side: where the later one is faster or slower, by how much, and how sure that is.

A sweep is measured in repeats, and the noise of a point is what its repeats show: their scatter, of all points of both
sweeps together and widened for their small number, is drawn again and again (a bootstrap of the residuals, with a fixed
seed, so the answer never changes). Between two days a release moves a little even where repeats agree; that is added.
A stretch is called faster or slower only where a band that holds over the whole common coverage at once (the largest
deviation of each draw, in standard errors) leaves zero out. Outside the common coverage nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from random import Random
from statistics import median, quantiles, stdev
from typing import Literal

from baselines.frontier.front import Front, SweepPoint, make_front

Word = Literal["faster", "slower", "same"]

DAY_RATIO = 0.003
"""Standard deviation between two days, as a comparison takes it."""
LEAST_EFFECT_RATIO = 0.01
"""A smaller difference is never called one."""
UNJUDGED_EFFECT_RATIO = 0.03
"""The same where nothing was repeated, so that noise is not known."""
DRAWS = 400
SEED = 20_260_101
GRID = 64
_T_EXCESS = (1.96**2 + 1) / 4
"""The 97.5 % quantile of Student's t over that of the normal is about 1 + this / degrees of freedom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepConfig:
    """One config of a sweep: tok/s/user and tok/s/GPU of each repeat."""

    name: str
    repeats: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.repeats:
            raise ValueError(f"sweep config {self.name!r}: expected a repeat or more, found none")

    @property
    def point(self) -> SweepPoint:
        """Return the medians of the repeats."""
        return SweepPoint(x=median(x for x, _ in self.repeats), y=median(y for _, y in self.repeats), name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its 95 % interval, which is None where nothing was repeated."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the common coverage, in tok/s/user, where one thing is said."""

    low: float
    high: float
    word: Word

    @property
    def span(self) -> str:
        """Return `from 30 to 80`, `at 144` for a single place."""
        return f"from {self.low:.4g} to {self.high:.4g}" if self.low < self.high else f"at {self.low:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontChange:
    """What became of a front. Shares are of the area under the earlier front over the common coverage."""

    before: Front
    after: Front
    judged: bool
    """Whether anything was repeated, so that noise is known."""
    low: float | None
    high: float | None
    """Common coverage; None where there is none."""
    gain: Estimate | None
    """Share that the later front lies above the earlier one where it does."""
    loss: Estimate | None
    net: Estimate | None
    stretches: tuple[Stretch, ...]
    curve: tuple[tuple[float, float, float], ...]
    """Interactivity, earlier and later throughput over the common coverage."""

    @property
    def sentence(self) -> str:
        """Return where it is faster and where slower, in words."""
        if self.low is None or self.high is None:
            spans = f"{self.before.low:.4g} to {self.before.high:.4g} and {self.after.low:.4g} to {self.after.high:.4g}"
            return f"the two cover no common interactivity ({spans} tok/s/user), so nothing is compared"
        doubt = "" if self.judged else "; nothing was repeated, so this may be noise"
        told = [one for one in self.stretches if one.word != "same"]
        where = f"{self.low:.4g} to {self.high:.4g} tok/s/user"
        if not told:
            beyond = "the noise" if self.judged else f"{UNJUDGED_EFFECT_RATIO * 100:g} %"
            return f"no difference beyond {beyond} from {where}{doubt}"
        if len(self.stretches) == 1:
            return f"{told[0].word} everywhere from {where}{doubt}"
        groups = [(word, list(group)) for word, group in groupby(told, key=lambda one: one.word)]
        parts = " and ".join(f"{word} {' and '.join(one.span for one in group)} tok/s/user" for word, group in groups)
        rest = ", elsewhere no difference beyond the noise" if any(one.word == "same" for one in self.stretches) else ""
        ends = ""
        if len(groups) == 2:
            ends = f"{groups[0][0]} at the throughput end and {groups[1][0]} at the interactive end: "
        return f"{ends}{parts}{rest}{doubt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontValue:
    """The throughput at one interactivity; without one, `reason` says why."""

    at: float
    before: Estimate | None
    after: Estimate | None
    reason: str = ""


def compare_fronts(before: Sequence[SweepConfig], after: Sequence[SweepConfig]) -> FrontChange:
    """Return how the front of the later sweep differs from that of the earlier; ValueError where one is empty."""
    first, second = _front(before), _front(after)
    low, high = max(first.low, second.low), min(first.high, second.high)
    residuals = pool_residuals([*before, *after])
    if not low < high:
        return FrontChange(
            before=first, after=second, judged=bool(residuals), low=None, high=None, gain=None, loss=None, net=None,
            stretches=(), curve=(),
        )  # fmt: skip
    grid = _grid(first, second, low, high)
    curves = ([_clamped(first, x) for x in grid], [_clamped(second, x) for x in grid])
    draws = _draw_curves(before, after, grid, residuals) if residuals else []
    shares = [_shares(grid, *one) for one in draws]
    gain, loss, net = (
        _estimate(value, [one[place] for one in shares]) for place, value in enumerate(_shares(grid, *curves))
    )
    words = _classify(curves, draws)
    return FrontChange(
        before=first,
        after=second,
        judged=bool(residuals),
        low=low,
        high=high,
        gain=gain,
        loss=loss,
        net=net,
        stretches=tuple(_stretches(grid, words)),
        curve=tuple(zip(grid, *curves, strict=True)),
    )


def values_at(before: Sequence[SweepConfig], after: Sequence[SweepConfig], at: Sequence[float]) -> list[FrontValue]:
    """Return both throughputs at each interactivity: none, and why, outside the coverage of a front."""
    fronts = (_front(before), _front(after))
    residuals = pool_residuals([*before, *after])
    draws = _draw_curves(before, after, at, residuals) if residuals and at else []
    found = []
    for place, x in enumerate(at):
        sides = [
            None if (value := front.at(x)) is None else _estimate(value, [one[side][place] for one in draws])
            for side, front in enumerate(fronts)
        ]
        outside = [
            f"the {name} front covers {front.low:.4g} to {front.high:.4g} tok/s/user"
            for name, front, side in zip(("earlier", "later"), fronts, sides, strict=True)
            if side is None
        ]
        found.append(FrontValue(at=x, before=sides[0], after=sides[1], reason="; ".join(outside)))
    return found


def _front(sweep: Sequence[SweepConfig]) -> Front:
    front = make_front(config.point for config in sweep)
    if front is None:
        raise ValueError("sweep: expected a config or more, found none")
    return front


def pool_residuals(configs: Sequence[SweepConfig]) -> list[tuple[float, float]]:
    """Return the scatter of the repeats around their configs, as logarithms, widened for their small number.

    Twice: a mean of n lies too near to its n repeats, and noise learnt from few is itself not sure (Student's t).
    """
    repeated = [config for config in configs if len(config.repeats) > 1]
    freedom = sum(len(config.repeats) - 1 for config in repeated)
    found = []
    for config in repeated:
        n = len(config.repeats)
        logs = [(math.log(x), math.log(y)) for x, y in config.repeats]
        middle = sum(x for x, _ in logs) / n, sum(y for _, y in logs) / n
        wider = math.sqrt(n / (n - 1)) * (1 + _T_EXCESS / freedom)
        found += [((x - middle[0]) * wider, (y - middle[1]) * wider) for x, y in logs]
    return found


def _grid(first: Front, second: Front, low: float, high: float) -> list[float]:
    even = [low + (high - low) * place / GRID for place in range(GRID)] + [high]
    knots = [point.x for front in (first, second) for point in front.points if low < point.x < high]
    return sorted({*even, *knots})


def _clamped(front: Front, x: float) -> float:
    value = front.at(min(max(x, front.low), front.high))
    assert value is not None
    return value


Curves = tuple[list[float], list[float]]


def _draw_curves(
    before: Sequence[SweepConfig],
    after: Sequence[SweepConfig],
    grid: Sequence[float],
    residuals: list[tuple[float, float]],
) -> list[Curves]:
    random = Random(SEED)
    return [(_draw(before, grid, residuals, random), _draw(after, grid, residuals, random)) for _ in range(DRAWS)]


def _draw(
    sweep: Sequence[SweepConfig], grid: Sequence[float], residuals: list[tuple[float, float]], random: Random
) -> list[float]:
    """Return one more front as it might have been measured, at the grid; beyond its ends as at them."""
    day = random.gauss(0.0, DAY_RATIO)
    points = []
    for config in sweep:
        drawn = random.choices(residuals, k=len(config.repeats))
        point = config.point
        x = point.x * math.exp(median(one for one, _ in drawn))
        points.append(SweepPoint(x=x, y=point.y * math.exp(median(one for _, one in drawn) + day), name=config.name))
    front = make_front(points)
    assert front is not None
    return [_clamped(front, x) for x in grid]


def _shares(grid: Sequence[float], before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """Return gain, loss and their difference as shares of the area under the earlier curve."""
    gain = loss = area = 0.0
    differences = [b - a for a, b in zip(before, after, strict=True)]
    for place, (left, right) in enumerate(pairwise(grid)):
        width = right - left
        area += (before[place] + before[place + 1]) / 2 * width
        first, second = differences[place], differences[place + 1]
        if first * second >= 0:
            part = (first + second) / 2 * width
            gain, loss = gain + max(part, 0.0), loss + max(-part, 0.0)
            continue
        cross = first / (first - second)
        parts = (first * cross / 2 * width, second * (1 - cross) / 2 * width)
        gain, loss = gain + max(parts), loss - min(parts)
    return gain / area, loss / area, (gain - loss) / area


def _estimate(value: float, draws: Sequence[float]) -> Estimate:
    if not draws:
        return Estimate(value=value)
    cuts = quantiles(draws, n=40, method="inclusive")
    return Estimate(value=value, low=min(cuts[0], value), high=max(cuts[-1], value))


def _classify(curves: Curves, draws: Sequence[Curves]) -> list[Word]:
    """Return what is said at each place of the grid."""
    ratios = _log_ratios(curves)
    if not draws:
        return [_word(ratio, math.log1p(UNJUDGED_EFFECT_RATIO)) for ratio in ratios]
    drawn = [_log_ratios(one) for one in draws]
    errors = [max(stdev(column), 1e-12) for column in zip(*drawn, strict=True)]
    largest = [
        max(abs(one - ratio) / error for one, ratio, error in zip(row, ratios, errors, strict=True)) for row in drawn
    ]
    wide = quantiles(largest, n=20, method="inclusive")[-1]
    least = math.log1p(LEAST_EFFECT_RATIO)
    return [_word(ratio, max(wide * error, least)) for ratio, error in zip(ratios, errors, strict=True)]


def _log_ratios(curves: Curves) -> list[float]:
    return [math.log(b / a) for a, b in zip(*curves, strict=True)]


def _word(ratio: float, beyond: float) -> Word:
    return "same" if abs(ratio) <= beyond else "faster" if ratio > 0 else "slower"


def _stretches(grid: Sequence[float], words: Sequence[Word]) -> list[Stretch]:
    found = []
    for word, group in groupby(range(len(grid)), key=lambda place: words[place]):
        places = list(group)
        end = min(places[-1] + 1, len(grid) - 1) if word == "same" else places[-1]
        start = max(places[0] - 1, 0) if word == "same" else places[0]
        found.append(Stretch(low=grid[start], high=grid[end], word=word))
    return found


def repeats_at(sweep: Sequence[SweepConfig], at: float) -> tuple[float, ...]:
    """Return the throughput at one interactivity, one a repeat: the front of the first repeats, of the second ...

    Empty where the sweep's front does not cover it; a repeat whose own front does not is left out.
    """
    if not sweep or _front(sweep).at(at) is None:
        return ()
    found = []
    for place in range(min(len(config.repeats) for config in sweep)):
        front = make_front(SweepPoint(x=one.repeats[place][0], y=one.repeats[place][1], name=one.name) for one in sweep)
        value = front.at(at) if front else None
        found += [] if value is None else [value]
    return tuple(found)
