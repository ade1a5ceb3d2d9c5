"""What a family of series says about the older changes of each: which cuts stand when all are looked at, and where.

Loaded at the first detection (NumPy, SciPy). One call of the detector is one family: the share of false calls is
held over all its series (Benjamini and Hochberg), so a family in which nothing happened stays quiet, and one in which
much happened is searched more eagerly.
"""

from __future__ import annotations

import numpy as np

from baselines.detection.evidence import Prior, test_cuts
from baselines.detection.rows import Bools, Floats, Ints, sort_within, sum_up
from baselines.detection.segmentation import Cut, Sums, make_cut
from baselines.detection.shapes import first_of_each
from baselines.multiplicity import adjust_p_values

NEWEST = 2
"""So many newest releases are judged as news, over the family, instead of as history."""
NEWS_RELEASES = 5
"""In shorter rows only the newest release is news."""
QUIET_HISTORY = 2
"""The same for older changes, which are commoner: each is one of many places."""
TIE_BREAK = 1e-3
"""Share of a distance that counts beyond the cap, so that a release far from two levels goes to the nearer."""


def keep_history(
    sums: Sums, cuts: Ints, news: Bools, prior: Prior, false_discovery_ratio: float
) -> tuple[Ints, Floats, Floats]:
    """Return those of the cuts that are no `news` and stand in the family, with p and q of each.

    Older changes are tested with the news in place, so that what happened last does not count as noise.
    """
    while True:
        p = test_cuts(sums, cuts, prior)[~news] if len(cuts) else np.zeros(0)
        # Each cut found makes one more row to search, so it counts as one more test.
        q = np.array(adjust_p_values(p.tolist(), quiet=len(prior.lengths) + QUIET_HISTORY))
        older = np.flatnonzero(~news)
        if not np.any(np.round(q, 9) > false_discovery_ratio):
            return cuts[older], p, q
        owner = sums.owner[cuts[older]]
        order = np.lexsort((-p, owner))
        worst = order[first_of_each(owner[order])]
        gone = older[worst[np.round(q[worst], 9) > false_discovery_ratio]]
        cuts, news = np.delete(cuts, gone), np.delete(news, gone)


def is_news(sums: Sums, cuts: Ints) -> Bools:
    """Return which cuts are at the newest releases, which are judged over the family."""
    lengths = np.diff(sums.starts)
    first = sums.starts[1:] - np.where(lengths >= NEWS_RELEASES, NEWEST, 1)
    return np.asarray(cuts >= first[sums.owner[cuts]])


def find_levels(sums: Sums, cut: Cut) -> Floats:
    """Return the level of each segment from unclipped values: mean of those within the cap around their median."""
    sizes = cut.end - cut.first
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    segment = np.repeat(np.arange(len(sizes)), sizes)
    place = np.repeat(cut.first - begin, sizes) + np.arange(len(segment))
    raw, weight = sums.raw[place], sums.weights[place]
    ordered = sort_within(raw, sizes)
    level = (ordered[begin + (sizes - 1) // 2] + ordered[begin + sizes // 2]) / 2
    for _ in range(2):
        near = weight * (np.abs(raw - level[segment]) <= sums.limit[place])
        total = np.bincount(segment, near, minlength=len(sizes))
        mean = np.bincount(segment, near * raw, minlength=len(sizes)) / np.maximum(total, 1e-300)
        level = np.where(total > 0, mean, level).astype(np.float64)
    return np.asarray(level)


def settle_places(sums: Sums, cuts: Ints) -> Ints:
    """Return each cut moved to where its two levels part the releases around it best, unclipped values counting.

    A release costs what it lies off its level, hardly more beyond the cap; of equally good places the earliest counts.
    """
    cut = make_cut(cuts, sums.owner, np.unique(sums.owner[cuts]), sums.starts)
    inner = cut.inner
    if not len(inner):
        return cuts
    level = find_levels(sums, cut)
    first, sizes = cut.first[inner - 1], cut.end[inner] - cut.first[inner - 1]
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    which = np.repeat(np.arange(len(inner)), sizes)
    place = np.repeat(first - begin, sizes) + np.arange(len(which))
    off = (np.abs(sums.raw[place] - side[which]) for side in (level[inner - 1], level[inner]))
    limit = sums.limit[place]
    left, right = (sums.weights[place] * np.minimum(distance, limit + TIE_BREAK * distance) ** 2 for distance in off)
    passed = sum_up((left - right)[None, :], np.append(begin, len(which)))[0]
    # Entry c of a row of sums is the cost of a cut before its c-th release; the first would leave no level before it.
    cost = np.round(np.delete(passed, begin + np.arange(len(begin))), 7)
    cost[begin + sizes - 1] = np.inf
    least = np.flatnonzero(cost == np.minimum.reduceat(cost, begin)[which])
    moved = first + 1 + least[first_of_each(which[least])] - begin
    apart = np.concatenate([[True], (np.diff(moved) > 0)])
    return np.unique(np.where(apart & np.append(apart[1:], True), moved, cuts))
