"""The frontier of a sweep: the best throughput per GPU at each interactivity, and how two frontiers differ.

Between its points a front is Steffen's monotone interpolation (Astron. Astrophys. 239, 443, 1990): it never leaves the
values of the two neighbours. Outside its coverage there is no value.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One config of a sweep: `x` tok/s/user, `y` tok/s/GPU; more of either is better."""

    x: float
    y: float
    name: str = ""

    def __post_init__(self) -> None:
        for axis, value in (("x", self.x), ("y", self.y)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"sweep point {self.name!r}: {axis}: expected a number above 0, found {value!r}")

    def dominates(self, other: SweepPoint) -> bool:
        """Return whether this point is at least as good on both axes and better on one."""
        return self.x >= other.x and self.y >= other.y and (self.x > other.x or self.y > other.y)


def pareto(points: Iterable[SweepPoint]) -> tuple[SweepPoint, ...]:
    """Return the points that no other dominates, from the least interactive on; of equal ones the first by name."""
    front: list[SweepPoint] = []
    for point in sorted(points, key=lambda one: (-one.x, -one.y, one.name)):
        if not front or point.y > front[-1].y:
            front.append(point)
    return tuple(reversed(front))


@dataclass(frozen=True)
class Front:
    """A Pareto front that can be read between its points."""

    points: tuple[SweepPoint, ...]
    """x rises strictly, y falls strictly; never empty."""

    @property
    def low(self) -> float:
        """The least interactivity covered."""
        return self.points[0].x

    @property
    def high(self) -> float:
        """The greatest interactivity covered."""
        return self.points[-1].x

    @cached_property
    def _knots(self) -> list[float]:
        return [point.x for point in self.points]

    @cached_property
    def _slopes(self) -> list[float]:
        return steffen_slopes(self.points)

    def at(self, x: float) -> float | None:
        """Return the throughput per GPU at an interactivity; None outside the coverage."""
        if not self.low <= x <= self.high:
            return None
        place = min(bisect_right(self._knots, x) - 1, len(self.points) - 2)
        if place < 0:
            return self.points[0].y
        left, right = self.points[place], self.points[place + 1]
        width, step = right.x - left.x, x - left.x
        secant = (right.y - left.y) / width
        first, second = self._slopes[place], self._slopes[place + 1]
        share = step / width
        bent = (3 * secant - 2 * first - second) + (first + second - 2 * secant) * share
        value = left.y + step * (first + bent * share)
        return min(max(value, right.y), left.y)


def steffen_slopes(points: Sequence[SweepPoint]) -> list[float]:
    """Return the slope of the curve at each point."""
    if len(points) < 2:
        return [0.0] * len(points)
    secants = [(b.y - a.y) / (b.x - a.x) for a, b in pairwise(points)]
    widths = [b.x - a.x for a, b in pairwise(points)]
    inner = []
    for place in range(1, len(points) - 1):
        before, after = secants[place - 1], secants[place]
        parabola = (before * widths[place] + after * widths[place - 1]) / (widths[place - 1] + widths[place])
        sign = math.copysign(1.0, before) + math.copysign(1.0, after)
        inner.append(sign * min(abs(before), abs(after), 0.5 * abs(parabola)))
    return [secants[0], *inner, secants[-1]]


def make_front(points: Iterable[SweepPoint]) -> Front | None:
    """Return the front of a sweep, None without a point."""
    found = pareto(points)
    return Front(found) if found else None
