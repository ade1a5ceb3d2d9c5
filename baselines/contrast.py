"""The numbers behind a comparison of two releases. Loaded at the first comparison (NumPy, SciPy)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

BETWEEN_PRIOR = 0.5
"""Between-release variance over the variance of one repeat, before the releases have shown theirs."""
PRIOR_DF = 15.0
"""Weight of that prior: it spans 0.1 to 1 times, about as wide as a scaled chi-square with so many degrees."""
FLOOR = 1e-4
"""Smallest standard deviation believed: no benchmark repeats to better than 0.01 %."""
NORMAL_QUARTILE = 0.6744897501960817

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
        typical = 2 * float(np.median(np.abs(np.concatenate(sides)) / 2)) or largest or 1.0
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


def centre_variance(repeats: int) -> float:
    """Return the variance of a release's centre over that of one repeat: a mean up to two repeats, else a median."""
    return 1 / repeats if repeats <= 2 else 1.4 / (repeats + 0.4)


def find_centre(repeats: Floats) -> float:
    """Return the centre of one release: the mean of up to two repeats, else their median."""
    return float(np.mean(repeats) if len(repeats) <= 2 else np.median(repeats))


def estimate_within(releases: Sequence[Floats]) -> tuple[float, float]:
    """Return standard deviation and degrees of freedom of one repeat around its release, (0, 0) without repeats.

    The median distance between two repeats of one release: no repeat of one release is compared with
    another release, and up to a quarter of wild repeats does no harm. A release whose repeats are all equal
    (rounded, or copied) says nothing while others vary.
    """
    distances, shares, df = [], [], 0.0
    for repeats in [one for one in releases if one[0] < one[-1]] or releases:
        if len(repeats) < 2:
            continue
        found = _distances(repeats)
        distances.append(found)
        shares.append(np.full(len(found), (len(repeats) - 1) / len(found)))
        df += len(repeats) - 1
    if not df:
        return 0.0, 0.0
    flat = np.concatenate(distances)
    middle = _weighted_median(flat, np.concatenate(shares)) / NORMAL_QUARTILE
    return (middle if middle > 0 else float(np.sqrt(np.mean(flat**2)))), 0.8 * df


def _distances(repeats: Floats) -> Floats:
    """Return distances as large as one repeat deviates: between all pairs, or of many to their median."""
    if len(repeats) > 12:
        return np.abs(repeats - np.median(repeats))
    first, second = np.triu_indices(len(repeats), 1)
    return np.asarray(np.abs(repeats[first] - repeats[second]) / np.sqrt(2))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(np.round(passed, 9), np.round(passed[-1] / 2, 9))])
