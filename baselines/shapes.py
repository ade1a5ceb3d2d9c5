"""What looks like a change of level and is none: a slow drift, a passing disturbance, a step too small to matter.

Loaded at the first detection (NumPy).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.rows import Bools, Floats, Ints
from baselines.segmentation import Cut, Sums, half_window, make_cut

SHORT_HISTORY = 8
"""Up to so many releases, one or two odd ones inside whose repeats agree are a change there and back, not bad days."""
AGREEING = 3
"""Fewest repeats of which one may say that they agree."""
DRIFT_RELEASES = 6
"""Shorter runs cannot tell a drift from a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A run of releases that one straight line explains better than levels do."""

    series: int
    first: int
    end: int
    place: int
    """Where the strongest of the steps it replaces was: the release named."""


def drop_drifts(sums: Sums, cuts: Ints, price: Floats) -> tuple[Ints, list[Drift]]:
    """Return the cuts without those of runs in one direction that a line explains better, and these runs.

    `price` is what a cut costs, per series. A line costs one price however many steps it replaces.
    """
    if not len(cuts):
        return cuts, []
    cut = split(sums, cuts)
    levels = sums.levels(cut.first, cut.end, cut.owner)
    misfit = np.concatenate([sums.misfit(cut.first, cut.end, cut.owner), [0.0]])
    inner = cut.inner
    way = np.sign(levels[inner] - levels[inner - 1])
    goes_on = np.concatenate([[False], (cut.owner[inner[1:]] == cut.owner[inner[:-1]]) & (way[1:] == way[:-1])])
    run = np.flatnonzero(~goes_on)
    last = np.concatenate([run[1:], [len(inner)]]) - 1
    gone = np.zeros(len(cuts), dtype=bool)
    drifts: list[Drift] = []
    for begin, finish in ((run, last), (np.arange(len(inner)), np.arange(len(inner)))):
        begin, finish = begin[~gone[begin]], finish[~gone[begin]]
        left, right = inner[begin] - 1, inner[finish]
        if not len(left):
            break
        owner = cut.owner[left]
        line = sums.line_misfit(cut.first[left], cut.end[right], owner)
        steps = np.add.reduceat(misfit, np.column_stack([left, right + 1]).ravel())[::2]
        steps += price[owner] * (finish - begin)
        better = (line < steps) & (cut.end[right] - cut.first[left] >= DRIFT_RELEASES)
        for one in np.flatnonzero(better):
            gone[begin[one] : finish[one] + 1] = True
            height = np.abs(levels[inner] - levels[inner - 1])[begin[one] : finish[one] + 1]
            place = int(cuts[begin[one] + int(np.argmax(np.round(height, 7)))])
            first, end = int(cut.first[left[one]]), int(cut.end[right[one]])
            drifts.append(Drift(series=int(owner[one]), first=first, end=end, place=place))
    return cuts[~gone], drifts


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
        weight = sums.over(cut.first, cut.end, cut.owner)[0]
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
