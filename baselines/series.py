"""The repeats of releases: checked on entry, and drawn together into one level per release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import median

Values = Sequence[Sequence[float]]
"""values[i]: the repeats of the i-th release, in release order; an empty list is a release that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The level of one release: median of its repeats, with the lowest and the highest repeat."""

    level: float
    low: float
    high: float
    repeats: int


def check_values(values: Values, where: str = "") -> list[tuple[float, ...]]:
    """Return the repeats of each release as finite floats in ascending order; ValueError says what and where."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{where}values: expected a list with the repeats of each release, found {values!r}")
    return [check_repeats(repeats, f"{where}release {index}") for index, repeats in enumerate(values)]


def check_repeats(repeats: Sequence[float], where: str) -> tuple[float, ...]:
    """Return the repeats of one release as finite floats in ascending order; raise ValueError naming `where`."""
    if isinstance(repeats, str | bytes) or not isinstance(repeats, Iterable) or getattr(repeats, "ndim", 1) == 0:
        raise ValueError(f"{where}: expected a list of repeats, found {repeats!r}; write a single value as [value]")
    return tuple(sorted(_finite(value, f"{where}, repeat {place}") for place, value in enumerate(repeats)))


def _finite(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{where}: expected a number, found {value!r}; leave a failed repeat out")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{where}: expected a finite number, found {value!r}; leave a failed repeat out")
    return number


def aggregate(values: Values) -> list[Level | None]:
    """Return one level per release for charts, None where nothing was measured.

    The level is the median of the repeats; low and high are the lowest and the highest repeat, because
    with the usual 3 to 10 repeats a quartile would be an interpolation between two of them.
    """
    return [
        Level(level=_middle(repeats), low=repeats[0], high=repeats[-1], repeats=len(repeats)) if repeats else None
        for repeats in check_values(values)
    ]


def _middle(ordered: Sequence[float]) -> float:
    """Return the median without overflowing where two huge values would be added."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return median([ordered[half - 1] / 2, ordered[half] / 2]) * 2
