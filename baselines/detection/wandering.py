"""Series that wander: each release starts from the one before, so there are no levels to change between.

Loaded at the first detection (NumPy). Levels and a random walk (with steps, or with a slope, that change at random)
are compared by the Bayesian information criterion of how well each foretells the next release. Where the walk does
better, only a jump counts that stands out among all the series' own steps.
"""

from __future__ import annotations

import numpy as np

from baselines.detection.drifts import Drift
from baselines.detection.rows import Bools, Floats, Ints
from baselines.detection.segmentation import Sums, make_cut

FEWEST = 2
"""One change does not make a walk: autocorrelated noise is weighed against it elsewhere."""
JUMP = 4.0
"""A jump is so many standard deviations of the other steps (by their median, which jumps do not move)."""
NORMAL_QUARTILE = 0.6744897501960817
LEAST = 1e-12


def drop_wandering(sums: Sums, cuts: Ints, drifts: list[Drift]) -> tuple[Ints, list[Drift], Bools]:
    """Return cuts and drifts without those of series that wander, but for jumps that stand out; which series do."""
    everything = np.unique(np.concatenate([cuts, *(one.replaced for one in drifts)]).astype(np.int64))
    count = np.bincount(sums.owner[everything], minlength=len(sums.starts) - 1)
    asked = np.flatnonzero(count >= FEWEST)
    wandering = np.zeros(len(count), dtype=bool)
    if not len(asked):
        return cuts, drifts, wandering
    wandering[asked] = is_walk(sums, everything, asked)
    whose = sums.owner[cuts]
    kept = ~wandering[whose]
    for series in np.unique(whose[~kept]):
        mine = np.flatnonzero(whose == series)
        kept[mine] = stands_out(
            sums.raw[sums.starts[series] : sums.starts[series + 1]], cuts[mine] - sums.starts[series]
        )
    return cuts[kept], [one for one in drifts if not wandering[one.series]], wandering


def is_walk(sums: Sums, cuts: Ints, asked: Ints) -> Bools:
    """Return which of the series asked about a walk foretells better than the levels between their cuts."""
    mine = cuts[np.isin(sums.owner[cuts], asked)]
    cut = make_cut(mine, sums.owner, asked, sums.starts)
    sizes = cut.end - cut.first
    begin = np.cumsum(sizes) - sizes
    inside = np.repeat(cut.first - begin, sizes) + np.arange(sizes.sum())
    values, owner = sums.values[inside], np.searchsorted(asked, np.repeat(cut.owner, sizes))
    means = np.add.reduceat(values, begin) / sizes
    away = values - np.repeat(means, sizes)
    length = np.bincount(owner).astype(np.float64)
    pieces = np.bincount(np.searchsorted(asked, cut.owner))
    steps = np.diff(values)[owner[1:] == owner[:-1]]
    turns = (values[2:] - 2 * values[1:-1] + values[:-2])[owner[2:] == owner[:-2]]
    walk = np.minimum(
        rate(steps, owner[1:][owner[1:] == owner[:-1]], length), rate(turns, owner[2:][owner[2:] == owner[:-2]], length)
    )
    return np.asarray(rate(away, owner, length) + 2 * (pieces - 1) * np.log(length) > walk)


def rate(errors: Floats, owner: Ints, length: Floats) -> Floats:
    """Return the information criterion of a model with one variance for each series, given its errors."""
    terms = np.bincount(owner, minlength=len(length))
    squares = np.bincount(owner, errors**2, len(length))
    return np.asarray(length * np.log(squares / np.maximum(terms, 1) + LEAST) + np.log(length))


def stands_out(values: Floats, places: Ints) -> Bools:
    """Return at which places a series jumps farther than its other steps explain."""
    steps = np.diff(values)
    away = np.abs(steps - np.median(steps))
    return np.asarray(away[places - 1] > JUMP * np.median(away) / NORMAL_QUARTILE)
