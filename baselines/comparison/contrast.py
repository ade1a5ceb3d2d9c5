"""The numbers behind a comparison of two releases. Loaded at the first comparison (NumPy, SciPy)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
from scipy import special

from baselines.comparison.repeatability import REPEAT_DF, Repeatability, centre_variance, find_centre, pool, show
from baselines.detection.noise import FLOOR
from baselines.detection.rows import Floats

DAY_RATIO = 0.003
"""Standard deviation between two measurements of one release on different days, as far as repeats never show it.

A prior: started afresh, even benchmarks whose repeats agree to 0.1 % move by some tenths of a percent (memory
layout, clocks). Values that do not vary at all (counts, sizes) are taken as exact instead.
"""
POWER_QUANTILE = 0.8416212335729143
"""Normal quantile of 80 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two releases as a step on the scale where effects add up: logarithms, or shares of the typical value."""

    step: float
    noise: Repeatability
    repeats: tuple[int, int]
    logarithmic: bool

    @property
    def error(self) -> float:
        """Standard error of the step."""
        return max(FLOOR, math.sqrt(self._within + self._between))

    @property
    def _within(self) -> float:
        return sum(centre_variance(repeats) for repeats in self.repeats) * self.noise.within

    @property
    def _between(self) -> float:
        day = DAY_RATIO if self.noise.within else 0.0
        return 2 * (self.noise.ratio * self.noise.within + day**2)

    @property
    def df(self) -> float:
        """Degrees of freedom: what the repeats give, limited by how well the part between releases is known."""
        if not self.noise.within:
            return self.noise.within_df
        unsure = 2 * self.noise.ratio * self.noise.within / (self._within + self._between)
        return 1 / (1 / self.noise.within_df + unsure**2 / self.noise.ratio_df)

    @property
    def p(self) -> float:
        """Two-sided p of no difference."""
        return 2 * float(special.stdtr(self.df, -abs(self.step) / self.error))

    def margin(self, tail: float) -> float:
        """Return the half-width of the interval that leaves `tail` outside, both sides together."""
        return float(-special.stdtrit(self.df, tail / 2)) * self.error

    def detectable(self, false_alarm_ratio: float) -> float:
        """Return the step that is called in four of five cases."""
        return self.margin(false_alarm_ratio) + POWER_QUANTILE * self.error

    def ratio(self, step: float) -> float:
        return math.expm1(min(709.0, step)) if self.logarithmic else step

    def size(self, ratio: float) -> float:
        return math.log1p(ratio) if self.logarithmic else ratio

    def with_more(self, repeats: int) -> Contrast:
        """Return the contrast as it would be with so many more repeats on each side, the step unchanged."""
        noise = replace(self.noise, within_df=self.noise.within_df + 2 * REPEAT_DF * repeats)
        return replace(self, noise=noise, repeats=(self.repeats[0] + repeats, self.repeats[1] + repeats))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The repeats of one comparison, scaled: reference, candidate, and the earlier releases, oldest first."""

    reference: Floats
    candidate: Floats
    history: tuple[Floats, ...]
    logarithmic: bool


def contrast_many(sides: Sequence[Sides], groups: Sequence[str | None]) -> list[Contrast]:
    """Return the contrast of each pair, those of one group lending one another what they show of their noise."""
    noises = pool([show((one.reference, one.candidate), one.history) for one in sides], groups)
    return [
        Contrast(
            step=round(find_centre(one.candidate) - find_centre(one.reference), 10),
            noise=noise,
            repeats=(len(one.reference), len(one.candidate)),
            logarithmic=one.logarithmic,
        )
        for one, noise in zip(sides, noises, strict=True)
    ]


def scale(reference: Sequence[float], candidate: Sequence[float], history: Sequence[Sequence[float]]) -> Sides:
    """Return the repeats on the scale where effects add up; each release has one finite repeat or more."""
    given = (reference, candidate, *history)
    ends = np.cumsum([len(one) for one in given]).tolist()
    flat = np.fromiter(chain.from_iterable(given), np.float64, ends[-1])
    sides = flat[: ends[0]], flat[: ends[1]]
    logarithmic = bool(np.min(flat) > 0)
    if logarithmic:
        shift = float(np.median(np.log(sides[0])))
        scaled: Floats = np.asarray(np.round(np.log(flat) - shift, 10), np.float64)
    else:
        # Shares of the reference, as people read a difference; where that is 0, of all that was compared.
        usual = [float(np.median(np.abs(side) / 2)) for side in sides]
        typical = 2 * (usual[0] or usual[1]) or float(np.max(np.abs(sides[1]))) or 1.0
        with np.errstate(over="ignore"):
            scaled = np.asarray(np.round(np.clip(flat / typical, -1e9, 1e9), 10), np.float64)
    ordered = [np.sort(scaled[first:end]) for first, end in pairwise([0, *ends])]
    return Sides(reference=ordered[0], candidate=ordered[1], history=tuple(ordered[2:]), logarithmic=logarithmic)
