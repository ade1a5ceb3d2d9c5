"""The numbers behind a comparison of two releases. Loaded at the first comparison (NumPy, SciPy)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from baselines.noise import BETWEEN_PRIOR, FLOOR, PRIOR_DF, centre_variance, estimate_within, find_centre

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
    spread: float
    """Standard deviation of one repeat, on that scale."""
    repeats: tuple[int, int]
    logarithmic: bool

    @property
    def error(self) -> float:
        """Standard error of the step."""
        day = DAY_RATIO if self.spread else 0.0
        within = sum(centre_variance(repeats) for repeats in self.repeats) * self.spread**2
        return max(FLOOR, math.sqrt(within + 2 * (BETWEEN_PRIOR * self.spread**2 + day**2)))

    @property
    def df(self) -> float:
        """Degrees of freedom: what the repeats give, limited by how well the prior is known."""
        return 1 / (1 / (0.8 * (sum(self.repeats) - 2)) + 1 / PRIOR_DF)

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
        return replace(self, repeats=(self.repeats[0] + repeats, self.repeats[1] + repeats))


def contrast(reference: Sequence[float], candidate: Sequence[float]) -> Contrast:
    """Return the contrast of two releases with at least two finite repeats each."""
    sides = [np.array(reference), np.array(candidate)]
    logarithmic = min(float(np.min(side)) for side in sides) > 0
    if logarithmic:
        shift = float(np.median(np.log(sides[0])))
        scaled = [np.round(np.log(side) - shift, 10) for side in sides]
    else:
        largest = max(float(np.max(np.abs(side))) for side in sides)
        typical = float(np.median(np.abs(np.concatenate(sides)))) or largest or 1.0
        with np.errstate(over="ignore"):
            scaled = [np.round(np.clip(side / typical, -1e9, 1e9), 10) for side in sides]
    variances = [estimate_within([np.sort(side)]) for side in scaled]
    pooled = sum(spread**2 * df for spread, df in variances) / sum(df for _, df in variances)
    return Contrast(
        step=round(find_centre(scaled[1]) - find_centre(scaled[0]), 10),
        spread=math.sqrt(pooled),
        repeats=(len(reference), len(candidate)),
        logarithmic=logarithmic,
    )
