"""How much repeats, and measurements of releases, differ without a cause: from all that is known of a series.

Two variances add up: that of one repeat around its release, and that of a release around its level, which repeats
never show. The first is pooled over all releases, the second read from the steps between neighbouring earlier
releases. Both are drawn towards siblings' as far as these agree (empirical Bayes, Smyth 2004). Loaded at the first
comparison (NumPy, SciPy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from baselines.detection.noise import RATIO_DF, SIBLINGS, fit_siblings, normal_square
from baselines.detection.rows import Floats, Ints

RATIO_PRIOR = 0.5
"""Between-release variance over the variance of one repeat, before the releases have shown theirs."""
RATIO_RANGE = (0.05, 400.0)
"""What releases may show of it: those of a machine that is never the same twice differ by far more than repeats."""
PRIOR_DF = 10.0
"""Degrees of freedom granted to that prior: it spans about 0.1 to 1."""
LEFT_OUT = 0.25
"""Share of the largest steps between neighbouring releases left out, at least one: changes make steps large too."""
ENOUGH_DF = 1.7
"""Degrees of freedom (that of three steps that were kept) from which on changes alone hardly explain large steps."""
FEW_MOST = 4.0
"""The most that fewer steps can show: they may be changes."""
FAR = 0.01
"""Releases whose repeats differ more than so rarely happens with the noise of the others are judged by their own."""
REPEAT_DF = 0.8
"""Degrees of freedom of each repeat beyond the first of a release: the median distance wastes a fifth."""
NORMAL_QUARTILE = 0.6744897501960817
SQRT_2 = math.sqrt(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """Variances on the scale where effects add up, with the degrees of freedom behind them."""

    within: float
    """Variance of one repeat around its release; 0 for exact values."""
    within_df: float
    ratio: float
    """Variance of a release around its level over `within`."""
    ratio_df: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one series shows by itself: variance of a repeat, and that of a release over it, each with its degrees."""

    within: float
    within_df: float
    ratio: float
    ratio_df: float


def show(sides: Sequence[Floats], history: Sequence[Floats]) -> Shown:
    """Return what the two releases compared and the earlier ones show; the reference ends the history."""
    here, before = [measure_spread(one) for one in sides], [measure_spread(one) for one in history]
    spread, df = pool_spreads([*here, *before])
    own, own_df = pool_spreads(here)
    if own_df and df > own_df and spread > 0:
        others, others_df = pool_spreads(before)
        if others > 0 and special.fdtrc(own_df, others_df, (own / others) ** 2) < FAR:
            spread, df = own, own_df
    within = spread**2
    ratio, ratio_df = _estimate_ratio([*history, sides[0]], within)
    return Shown(within=within, within_df=df, ratio=ratio, ratio_df=ratio_df)


def _estimate_ratio(releases: Sequence[Floats], within: float) -> tuple[float, float]:
    """Return the variance between releases over that of a repeat by the steps between neighbours, and its degrees."""
    kept = len(releases) - 1 - max(1, math.ceil(LEFT_OUT * (len(releases) - 1)))
    if kept < 1 or within <= 0:
        return RATIO_PRIOR, 0.0
    steps = np.diff([find_centre(one) for one in releases])
    shares = np.array([centre_variance(len(one)) for one in releases])
    expected = shares[1:] + shares[:-1]
    # In units of one repeat a step varies by its shares and twice the ratio; the largest are left out.
    squares = np.sort(steps**2 / within - expected + np.mean(expected))[:kept]
    total = float(np.mean(squares + 0.0)) / normal_square(len(steps), kept)
    df = 0.6 * kept
    most = RATIO_RANGE[1] if df >= ENOUGH_DF else FEW_MOST
    return float(np.clip((total - float(np.mean(expected))) / 2, RATIO_RANGE[0], most)), df


def pool(shown: Sequence[Shown], groups: Sequence[str | None]) -> list[Repeatability]:
    """Return the repeatability of each series, those of one group drawn towards one another."""
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        if group is not None and shown[place].within > 0 and shown[place].within_df > 1:
            members.setdefault(group, []).append(place)
    pooled = [_settle(one, 0.0, one.within, RATIO_PRIOR) for one in shown]
    for places in members.values():
        if len(places) < SIBLINGS:
            continue
        variances = np.array([shown[place].within for place in places])
        prior_df, prior = fit_siblings(variances, np.array([shown[place].within_df for place in places]))
        told = [shown[place] for place in places if shown[place].ratio_df]
        usual = RATIO_PRIOR
        if len(told) >= SIBLINGS:
            usual = float(np.clip(np.median([one.ratio for one in told]), *RATIO_RANGE))
        for place in places:
            pooled[place] = _settle(shown[place], prior_df, prior, usual)
    return pooled


def _settle(one: Shown, prior_df: float, prior: float, usual: float) -> Repeatability:
    """Return what a series shows, drawn towards a prior; one that shows far more than usual, often enough, less."""
    df = one.within_df + prior_df
    within = (one.within * one.within_df + prior * prior_df) / df if one.within and df else one.within
    grant = min(1.0, max(1.0, usual) / one.ratio) if one.ratio_df >= ENOUGH_DF else 1.0
    weight = one.ratio_df / (one.ratio_df + RATIO_DF * grant) if one.ratio_df else 0.0
    ratio = (1 - weight) * usual + weight * one.ratio
    return Repeatability(within=within, within_df=df, ratio=ratio, ratio_df=PRIOR_DF * grant + one.ratio_df)


def centre_variance(repeats: int) -> float:
    """Return the variance of a release's centre over that of one repeat: a mean up to two repeats, else a median."""
    return 1 / repeats if repeats <= 2 else 1.4 / (repeats + 0.4)


def find_centre(repeats: Floats) -> float:
    """Return the centre of one release, its repeats ascending: their median, of two the mean."""
    middle = len(repeats) // 2
    if len(repeats) % 2:
        return float(repeats[middle])
    return float(repeats[middle - 1] + repeats[middle]) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How much the repeats of one release differ."""

    distances: Floats
    """As large as one repeat deviates: between all pairs, or of many to their median."""
    repeats: int
    varied: bool


def measure_spread(repeats: Floats) -> Spread:
    """Return how much the repeats of one release differ; no distances with a single one."""
    count = len(repeats)
    if count > 12:
        distances = np.abs(repeats - np.median(repeats))
    else:
        first, second = pairs_of(count)
        distances = np.abs(repeats[first] - repeats[second]) / SQRT_2
    return Spread(distances=distances, repeats=count, varied=bool(repeats[0] < repeats[-1]))


@lru_cache(maxsize=16)
def pairs_of(count: int) -> tuple[Ints, Ints]:
    """Return first and second member of each pair of so many."""
    return np.triu_indices(count, 1)


def pool_spreads(spreads: Sequence[Spread]) -> tuple[float, float]:
    """Return standard deviation and degrees of freedom of one repeat around its release, (0, 0) without repeats.

    The median distance between two repeats of one release: no repeat of one release is compared with
    another release, and up to a quarter of wild repeats does no harm. A release whose repeats are all equal
    (rounded, or copied) says nothing while others vary.
    """
    several = [one for one in spreads if one.repeats > 1]
    told = [one for one in several if one.varied] or several
    if not told:
        return 0.0, 0.0
    # A median of single distances, as two repeats give, is worth half of one of many that overlap.
    df = sum((one.repeats - 1) * (REPEAT_DF if one.repeats > 2 else REPEAT_DF / 2) for one in told)
    flat = np.concatenate([one.distances for one in told])
    sizes = [len(one.distances) for one in told]
    shares = np.repeat([(one.repeats - 1) / len(one.distances) for one in told], sizes)
    middle = _weighted_median(flat, shares) / NORMAL_QUARTILE
    return (middle if middle > 0 else float(np.sqrt(np.mean(flat**2)))), df


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(np.round(passed, 9), np.round(passed[-1] / 2, 9))])
