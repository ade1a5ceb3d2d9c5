"""How much the level of a release moves without a cause. Loaded at the first detection (NumPy, SciPy).

Two parts add up: repeats of one release differ (seen in the repeats), and two measurements of the same release on
different days differ by more than their repeats tell (seen only across releases). Few releases show either badly, so
the variance of a series is drawn towards that of its siblings as far as these agree with one another: empirical
Bayes, Smyth (2004), "Linear models and empirical Bayes methods", section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp

import numpy as np
from scipy import special

from baselines.detection.rows import DECIMALS, Floats, Ints, Rows, sort_within

FLOOR = 1e-4
"""Smallest standard deviation believed: no benchmark repeats to better than 0.01 %."""
RATIO_PRIOR = 0.3
"""Between-release variance over that of one repeat where neither series nor siblings show it: middle of 0.1 to 1."""
RATIO_RANGE = (0.05, 4.0)
RATIO_DF = 4.0
"""Weight of that prior against what the steps across releases of the series itself show."""
WIDTH = 4.0
"""A repeat so many standard deviations from the others of its release has no say in its centre (Tukey's biweight)."""
TRIM_ACROSS = 0.25
"""Share of the largest steps between neighbours left out of the noise, because changes make steps large too."""
LEAST_ACROSS = 2
"""At least so many of these steps are left out: even four releases may hold a change there and back."""
MANY = 400
"""From so many values on only the share of them left out matters."""
TRIM_WITHIN = 0.1
"""Share of the largest deviations of repeats left out, because of runs that went wrong."""
PRIOR_DF = 2.0
"""Degrees of freedom granted to a series' own first estimate where there are no siblings: as few as have a mean."""
SIBLINGS = 5
"""Fewer series than this say nothing about one another."""
MOST_SIBLING_DF = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Centres of releases and their noise. Per release: `centres`, `weights`; the rest per series."""

    centres: Floats
    weights: Floats
    """Precision of each centre relative to that of one repeat of one release."""
    variance: Floats
    """First estimate of the variance of a centre of weight 1, robust to changes of level, and its degrees."""
    df: Floats
    prior_variance: Floats
    """The same without what the steps across releases of the series itself say, and its degrees."""
    prior_df: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Centres:
    """Centre of each release, the variance of it by its repeats alone (one repeat: 1), and that of one repeat."""

    centres: Floats
    shares: Floats
    within: Floats
    within_df: Floats


def estimate_noise(rows: Rows, groups: list[Ints]) -> Noise:
    """Return the noise of every series; `groups` are the series that are siblings of one another."""
    found = find_centres(rows)
    lengths, owner = rows.lengths, rows.owner
    count = len(lengths)
    inner = owner[1:] == owner[:-1]
    squares, whose = (np.diff(found.centres) ** 2)[inner], owner[1:][inner]
    across = average_smallest(squares / 2, whose, count, TRIM_ACROSS, LEAST_ACROSS)
    share = np.bincount(owner, weights=found.shares, minlength=count) / np.maximum(lengths, 1)
    seen = (found.within_df >= 4) & (lengths > LEAST_ACROSS + 1)
    own = np.where(seen, across / np.where(seen, found.within, 1) - share, np.nan)
    weight = count_across(lengths) / (count_across(lengths) + RATIO_DF)
    usual = np.log(RATIO_PRIOR)
    ratio = np.exp(usual + np.where(seen, weight * (np.log(np.clip(np.where(seen, own, 1), *RATIO_RANGE)) - usual), 0))
    for group in groups:
        if np.count_nonzero(seen[group]) >= SIBLINGS:
            ratio[group] = np.clip(np.median(own[group][seen[group]]), *RATIO_RANGE)
    factors = (ratio[owner] + found.shares) / (ratio[owner] + 1)
    pairs = (factors[1:] + factors[:-1])[inner]
    across = average_smallest(squares / pairs, whose, count, TRIM_ACROSS, LEAST_ACROSS)
    return shrink(rows, found, ratio, factors, across, groups)


def count_across(lengths: Ints) -> Floats:
    """Return the degrees of freedom of the steps between neighbours: those kept, less as they share releases."""
    steps = np.maximum(lengths - 1, 0)
    left = np.maximum(steps - np.maximum(np.ceil(TRIM_ACROSS * steps), LEAST_ACROSS), 0)
    return np.asarray(0.6 * left)


def shrink(rows: Rows, found: Centres, ratio: Floats, factors: Floats, across: Floats, groups: list[Ints]) -> Noise:
    """Return the noise, with what the series' own data say drawn towards its siblings."""
    lengths = rows.lengths
    across_df = count_across(lengths)
    # Repeats do not show the between part: however many, they count like half as many releases, and two more.
    within_df = np.where(found.within_df > 0, np.minimum(found.within_df, 0.5 * lengths + 2), 0)
    within = found.within * (1 + ratio)
    own_df = across_df + within_df
    own = np.where(own_df > 0, (across * across_df + within * within_df) / np.maximum(own_df, 1e-9), FLOOR**2)
    prior_df, prior = np.full(len(lengths), PRIOR_DF), own.copy()
    for group in groups:
        if len(group) >= SIBLINGS:
            usable = group[own_df[group] > 0.3]
            if len(usable) >= SIBLINGS:
                prior_df[group], prior[group] = fit_siblings(own[usable], own_df[usable])
    floor = np.maximum(FLOOR**2, find_resolution(rows, found.centres) ** 2 / 12)
    return Noise(
        centres=found.centres,
        weights=1 / factors,
        variance=np.maximum((prior_df * prior + own_df * own) / (prior_df + own_df), floor),
        df=prior_df + own_df,
        prior_variance=np.maximum((prior_df * prior + within_df * within) / (prior_df + within_df), floor),
        prior_df=prior_df + within_df,
    )


def find_centres(rows: Rows) -> Centres:
    """Return the centre of each release: mean of up to two repeats, else their biweight (Tukey)."""
    count = len(rows.lengths)
    ends = np.concatenate([[0], np.cumsum(rows.repeats)])
    centres, shares = np.empty(len(rows.repeats)), 1.0 / np.maximum(rows.repeats, 1)
    blocks, squares, whose = [], [], []
    for repeats in np.unique(rows.repeats):
        chosen = np.flatnonzero(rows.repeats == repeats)
        block = rows.values[ends[chosen][:, None] + np.arange(repeats)]
        centres[chosen] = (block[:, (repeats - 1) // 2] + block[:, repeats // 2]) / 2
        if repeats > 1:
            blocks.append((chosen, block))
            squares.append(((block - centres[chosen][:, None]) ** 2 * (repeats / (repeats - 1))).ravel())
            whose.append(np.repeat(rows.owner[chosen], repeats))
    within: Floats = np.zeros(count)
    df = np.bincount(rows.owner, weights=rows.repeats - 1.0, minlength=count).astype(np.float64)
    if blocks:
        within = average_smallest(np.concatenate(squares), np.concatenate(whose), count, TRIM_WITHIN)
        within = np.where(df > 0, np.maximum(within, 1e-12), 0)
    for chosen, block in blocks:
        centres[chosen], shares[chosen] = weigh_repeats(block, centres[chosen], within[rows.owner[chosen]])
    return Centres(centres=np.round(centres, DECIMALS), shares=shares, within=within, within_df=df)


def weigh_repeats(block: Floats, middle: Floats, within: Floats) -> tuple[Floats, Floats]:
    """Return centres of releases with so many repeats, given their medians, and their variances (one repeat: 1)."""
    if block.shape[1] == 2:
        # Two repeats three standard deviations apart: one went wrong and nobody knows which.
        apart = (block[:, 1] - block[:, 0]) ** 2 / 4
        return middle, np.where(apart > 4.5 * within, np.maximum(apart / within, 0.5), 0.5)
    far = (block - middle[:, None]) / (WIDTH * np.sqrt(within))[:, None]
    say = np.clip(1 - far**2, 0, None) ** 2
    total = np.sum(say, axis=1)
    centre = np.where(total > 0, np.sum(say * block, axis=1) / np.maximum(total, 1e-300), middle)
    return centre, 1 / np.maximum(np.count_nonzero(np.abs(far) < 0.75, axis=1), 1)


@lru_cache(maxsize=4096)
def normal_square(count: int, kept: int) -> float:
    """Return the mean of the `kept` smallest of `count` squared standard normal values, on average."""
    if count > MANY:
        return normal_square(MANY, max(1, round(kept * MANY / count)))
    grid = (np.arange(64) + 0.5) / 64
    ranks = np.arange(1, kept + 1)[:, None]
    share = special.betaincinv(ranks, count + 1 - ranks, grid[None, :])
    return float(np.mean(special.ndtri((1 + share) / 2) ** 2))


def average_smallest(squares: Floats, owner: Ints, count: int, trim: float, least: int = 1) -> Floats:
    """Return per owner the variance that its squares show without the `trim` largest, at least `least`; 0 if none left.

    The mean of the smaller squares, over what it would be for normal values of variance 1.
    """
    sizes = np.bincount(owner, minlength=count)
    kept = sizes - np.maximum(np.ceil(trim * sizes).astype(np.int64), least)
    some = np.flatnonzero(kept > 0)
    variance = np.zeros(count)
    if not len(some):
        return variance
    if np.any(owner[1:] < owner[:-1]):
        squares = squares[np.argsort(owner, kind="stable")]
    ordered = sort_within(squares, sizes)
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    rank = np.arange(len(ordered)) - np.repeat(first, sizes)
    small = np.append(np.where(rank < np.repeat(kept, sizes), ordered, 0), 0.0)
    total = np.add.reduceat(small, np.column_stack([first[some], (first + sizes)[some]]).ravel())[::2]
    shapes, which = np.unique(np.column_stack([sizes[some], kept[some]]), axis=0, return_inverse=True)
    normal = np.array([normal_square(int(size), int(left)) for size, left in shapes])
    variance[some] = total / kept[some] / normal[which.ravel()]
    return variance


def fit_siblings(variances: Floats, df: Floats) -> tuple[float, float]:
    """Return degrees of freedom and variance of the scaled inverse chi-square that siblings' variances come from.

    By the moments of their logarithms (Smyth 2004): the more they differ beyond chance, the fewer the degrees.
    """
    logs = np.log(variances) - special.digamma(df / 2) + np.log(df / 2)
    middle = float(np.average(logs, weights=df))
    spread = float(np.average((logs - middle) ** 2, weights=df)) * len(logs) / (len(logs) - 1)
    extra = spread - float(np.average(special.polygamma(1, df / 2), weights=df))
    if extra <= 1e-3:
        return MOST_SIBLING_DF, exp(middle)
    prior_df = min(2 * invert_trigamma(extra), MOST_SIBLING_DF)
    return prior_df, exp(middle + float(special.digamma(prior_df / 2)) - float(np.log(prior_df / 2)))


def invert_trigamma(value: float) -> float:
    """Return x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly linear."""
    x = 0.5 + 1 / value
    for _ in range(30):
        now = float(special.polygamma(1, x))
        step = now * (1 - now / value) / float(special.polygamma(2, x))
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def find_resolution(rows: Rows, centres: Floats) -> Floats:
    """Return the smallest step between neighbours of a series that steps at least three times, else 0.

    A series of rounded values that flickers between neighbours would otherwise seem to have no noise at all.
    """
    count = len(rows.lengths)
    steps = np.abs(np.diff(centres))
    inner = (rows.owner[1:] == rows.owner[:-1]) & (steps > 0)
    whose = rows.owner[1:][inner]
    smallest = np.full(count, np.inf)
    np.minimum.at(smallest, whose, steps[inner])
    return np.where(np.bincount(whose, minlength=count) >= 3, smallest, 0)
