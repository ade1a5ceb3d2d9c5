"""How much the level of a release moves without a cause. Loaded at the first detection (NumPy, SciPy).

Two parts add up: repeats of one release differ (seen in the repeats), and two measurements of the same
release on different days differ by more than their repeats tell (seen only across releases). Few releases
cannot show the second part, so it starts from a prior, `BETWEEN_PRIOR`, that counts as `PRIOR_DF` degrees
of freedom; treating repeats taken together as independent would be the mistake it prevents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
TRIM = 0.25
"""Share of the largest differences left out, because changes make differences large too."""
NORMAL_QUARTILE = 0.6744897501960817


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Standard deviation `scale` of a release with `weight` 1, known with `df` degrees of freedom."""

    scale: float
    df: float
    weights: Floats
    """Precision of each release's centre relative to that; below 1 for releases with fewer repeats."""


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


@lru_cache(maxsize=4096)
def _kept_square(count: int, kept: int) -> float:
    """Return the mean of the `kept` smallest of `count` squared standard normal values, on average."""
    grid = (np.arange(64) + 0.5) / 64
    ranks = np.arange(1, kept + 1)[:, None]
    share = special.betaincinv(ranks, count + 1 - ranks, grid[None, :])
    return float(np.mean(special.ndtri((1 + share) / 2) ** 2))


def estimate_across(centres: Floats, variances: Floats) -> tuple[float, float]:
    """Return variance of a centre (for `variances` 1) and degrees of freedom, from neighbours; (0, 0) if too few.

    A change makes one difference large, so at least two, and a quarter, of the largest are left out.
    """
    squares = np.sort(np.diff(centres) ** 2 / (variances[1:] + variances[:-1]))
    count = len(squares)
    kept = count - max(2, int(TRIM * count))
    if kept < 2:
        return 0.0, 0.0
    bulk = min(count, 400)
    normal = _kept_square(bulk, max(1, round(kept * bulk / count)))
    return float(np.mean(squares[:kept])) / normal, 0.45 * count


def estimate_noise(releases: Sequence[Floats], centres: Floats) -> Noise:
    """Return the noise of a series from the repeats, the differences of neighbours and the prior."""
    spread, spread_df = estimate_within(releases)
    shares = np.array([centre_variance(len(repeats)) for repeats in releases])
    usual = float(np.median(shares))
    variances = (BETWEEN_PRIOR + shares) / (BETWEEN_PRIOR + usual) if spread_df else np.ones(len(centres))
    across, across_df = estimate_across(centres, variances)
    within_df = 1 / (1 / PRIOR_DF + 1 / spread_df) if spread_df else 0.0
    within = spread**2 * (BETWEEN_PRIOR + usual)
    df = across_df + within_df
    pooled = (across_df * across + within_df * within) / df if df else 0.0
    floor = max(FLOOR, _resolution(releases, centres) / np.sqrt(12))
    return Noise(scale=max(float(np.sqrt(pooled)), floor), df=df + 2, weights=1 / variances)


def _resolution(releases: Sequence[Floats], centres: Floats) -> float:
    """Return the smallest distance between distinct values of a series that moves at least three times, else 0.

    A series of rounded values that flickers between neighbours would otherwise seem to have no noise at all.
    """
    if np.count_nonzero(np.diff(centres)) < 3:
        return 0.0
    return float(np.min(np.diff(np.unique(np.concatenate(list(releases))))))
