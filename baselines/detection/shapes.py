"""What looks like a change of level and is none: a passing disturbance, a step too small to matter.

Loaded at the first detection (NumPy).
"""

from __future__ import annotations

import numpy as np

from baselines.detection.rows import Bools, Floats, Ints
from baselines.detection.segmentation import Cut, Sums, half_window, make_cut

SHORT_HISTORY = 8
"""Up to so many releases, one or two odd ones inside whose repeats agree are a change there and back, not bad days."""
AGREEING = 3
"""Fewest repeats of which one may say that they agree."""


def split(sums: Sums, cuts: Ints) -> Cut:
    """Return the segments of the series that have cuts."""
    return make_cut(cuts, sums.owner, np.unique(sums.owner[cuts]), sums.starts)


def drop_transients(sums: Sums, cuts: Ints, price: Floats, smallest: Floats, repeats: Ints) -> Ints:
    """Return the cuts without those around short segments whose neighbours are level with each other.

    `smallest` is the least step that matters, per series. In a short history whose repeats agree they stay.
    """
    lengths = np.diff(sums.starts)
    longest = half_window(lengths)
    least = np.minimum.reduceat(repeats, sums.starts[:-1]) if len(repeats) else repeats
    trusted = (lengths <= SHORT_HISTORY) & (least >= AGREEING)
    while len(cuts):
        cut = split(sums, cuts)
        middle = np.flatnonzero(cut.owner[2:] == cut.owner[:-2]) + 1
        owner = cut.owner[middle]
        levels = sums.levels(cut.first, cut.end, cut.owner)
        weight = sums.weigh(cut.first, cut.end, cut.owner)
        apart = np.abs(levels[middle + 1] - levels[middle - 1])
        square = apart**2 * weight[middle - 1] * weight[middle + 1] / (weight[middle - 1] + weight[middle + 1])
        short = (cut.end[middle] - cut.first[middle] <= longest[owner]) & ~trusted[owner]
        middle = middle[short & ((square < price[owner]) | (apart < smallest[owner]))]
        if not len(middle):
            break
        middle = middle[first_of_each(cut.owner[middle])]
        cuts = np.setdiff1d(cuts, np.concatenate([cut.first[middle], cut.end[middle]]))
    return cuts


def drop_small(sums: Sums, cuts: Ints, smallest: Floats) -> Ints:
    """Return the cuts without steps below the least that matters, the smallest of a series first."""
    while len(cuts):
        cut = split(sums, cuts)
        levels = sums.levels(cut.first, cut.end, cut.owner)
        owner = sums.owner[cuts]
        height = np.round(np.abs(levels[cut.inner] - levels[cut.inner - 1]) / np.maximum(smallest[owner], 1e-300), 7)
        order = np.lexsort((height, owner))
        worst = order[first_of_each(owner[order])]
        worst = worst[height[worst] < 1]
        if not len(worst):
            break
        cuts = np.delete(cuts, worst)
    return cuts


def first_of_each(owner: Ints) -> Bools:
    """Return a mask of the first entry of each owner; entries of one owner stand together."""
    return np.concatenate([[True], owner[1:] != owner[:-1]]) if len(owner) else np.zeros(0, dtype=bool)
