"""What a family of series says about each: which cuts stand when all are looked at, and who changed at the newest.

Loaded at the first detection (NumPy, SciPy). One call of the detector is one family: the share of false calls is
held over all its series (Benjamini and Hochberg), so a family in which nothing happened stays quiet, and one in which
much happened is searched more eagerly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.evidence import (
    Prior,
    explain,
    find_square,
    find_tail,
    lose_cut,
    measure,
    test_cuts,
)
from baselines.multiplicity import adjust_p_values
from baselines.rows import Bools, Floats, Ints, sum_up
from baselines.segmentation import Cut, Sums, make_cut
from baselines.shapes import first_of_each

NEWEST = 2
"""So many newest releases are judged as news, over the family, instead of as history."""
NEWS_RELEASES = 5
"""In shorter rows only the newest release is news."""
QUIET = 19
"""A change at one given release is rare: a family is judged as if it had so many further series that did not change."""
QUIET_HISTORY = 2
"""The same for older changes, which are commoner: each is one of many places."""
TIE_BREAK = 1e-3
"""Share of a distance that counts beyond the cap, so that a release far from two levels goes to the nearer."""
ALIKE = 0.5
"""A release set aside earlier is as odd as the newest one if it was at least half as far off."""
SPLIT = 0.5
"""p values above this are taken to be of series that did not change (Storey 2002)."""
GROUP_WEIGHT = 4
"""A group's own share of changed series counts against the family's like so many more series."""
GROUP = 5
"""Smaller groups say nothing of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Test of one of the newest releases of every series: those tested, their place, p and q."""

    series: Ints
    place: Ints
    p: Floats
    q: Floats


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


def judge_newest(sums: Sums, cuts: Ints, prior: Prior, back: int, groups: Ints, labels: list[str]) -> News:
    """Return the test of a change at the `back`-th newest release of every series long enough; none is in `cuts`.

    `groups` numbers the sibling group of each series, -1 without; `labels` names that release of each series.
    """
    lengths = prior.lengths
    series = np.flatnonzero(lengths >= (NEWS_RELEASES if back > 1 else 2))
    place = sums.starts[series + 1] - back
    mask = np.isin(sums.owner[cuts], series)
    cut = make_cut(np.sort(np.concatenate([cuts[mask], place])), sums.owner, series, sums.starts)
    misfit, echo, levels = measure(sums, cut, len(lengths))
    here = np.searchsorted(cut.first, place)
    raw = find_levels(sums, cut)
    odd = lesser_distance(sums, place, back, raw[here - 1])
    more, tied = rejoin_newest(sums, cut, levels, here, back, odd)
    df = prior.total_df[series] - np.bincount(cut.owner, minlength=len(lengths))[series]
    gain = explain(misfit[series], echo[series], series, prior)
    gain -= explain(misfit[series] + more, echo[series] + tied, series, prior)
    p = find_tail(find_square(gain, series, df, prior), df)
    p = np.maximum(p, recall_odd(sums, cut, raw, series, place, np.abs(odd)) ** back / back)
    q = np.array(adjust_p_values(p.tolist(), QUIET, weigh_groups(p, groups[series], [labels[one] for one in series])))
    return News(series=series, place=place, p=p, q=q)


def lesser_distance(sums: Sums, place: Ints, back: int, level: Floats) -> Floats:
    """Return how far, in its noise, the nearest of the newest releases is off the level before; 0 if on both sides."""
    away = np.array([np.sqrt(sums.weights[place + k]) * (sums.raw[place + k] - level) for k in range(back)])
    together = np.all(away > 0, axis=0) | np.all(away < 0, axis=0)
    return np.where(together, np.sign(away[0]) * np.min(np.abs(away), axis=0), 0)


def rejoin_newest(sums: Sums, cut: Cut, levels: Floats, here: Ints, back: int, odd: Floats) -> tuple[Floats, Floats]:
    """Return by how much misfit and neighbours' products grow when the newest releases join the level before them.

    What all of them show counts in full, not as far as the cap: here it is the question, not a disturbance.
    """
    first, place, owner = cut.first[here - 1], cut.first[here], cut.owner[here]
    weight = sums.over(first, place, owner)[0]
    apart = odd * np.sqrt(weight / (weight + back * sums.weights[place]))
    before = np.sqrt(sums.weights[place - 1]) * (sums.values[place - 1] - levels[here - 1])
    more, tied = back * apart * apart, before * apart + (back - 1) * apart * apart
    if back == 1:
        return more, tied
    chosen = np.searchsorted(cut.inner, here)
    clipped, echo = (part[chosen] for part in lose_cut(sums, cut, levels))
    return np.maximum(more, clipped), np.where(more > clipped, tied, echo)


def find_levels(sums: Sums, cut: Cut) -> Floats:
    """Return the level of each segment from unclipped values: mean of those within the cap around their median."""
    sizes = cut.end - cut.first
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    segment = np.repeat(np.arange(len(sizes)), sizes)
    place = np.repeat(cut.first - begin, sizes) + np.arange(len(segment))
    raw, weight = sums.raw[place], sums.weights[place]
    ordered = raw[np.lexsort((raw, segment))]
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
    order = np.lexsort((np.arange(len(cost)), cost, which))
    moved = first + 1 + order[begin] - begin
    apart = np.concatenate([[True], (np.diff(moved) > 0)])
    return np.unique(np.where(apart & np.append(apart[1:], True), moved, cuts))


def recall_odd(sums: Sums, cut: Cut, levels: Floats, series: Ints, place: Ints, odd: Floats) -> Floats:
    """Return per series the share of earlier releases that were set aside as outliers and about as odd as the newest.

    Where one in fifty releases was that odd without lasting, one in fifty is the least p the newest can have.
    """
    sizes = cut.end - cut.first
    segment = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.repeat(cut.first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(len(segment))
    asked = np.searchsorted(series, cut.owner[segment])
    distance = np.abs(sums.raw[inside] - levels[segment])
    alike = (distance > sums.limit[inside]) & (distance * np.sqrt(sums.weights[inside]) >= ALIKE * odd[asked])
    seen = np.bincount(asked, alike & (inside < place[asked]), minlength=len(series))
    share: Floats = seen / np.maximum(place - sums.starts[series], 1)
    return share


def weigh_groups(p: Floats, groups: Ints, labels: list[str]) -> list[float] | None:
    """Return the weight of each series by how many of its siblings seem to have changed at the same release.

    Groups are compared by odds (Hu, Zhao and Zhou 2010), each drawn to the family's share of unchanged series.
    """
    numbers: dict[tuple[int, str], int] = {}
    key = np.array([numbers.setdefault(one, len(numbers)) for one in zip(groups.tolist(), labels, strict=True)])
    if not len(p):
        return None
    size = np.bincount(key)
    usable = (size >= GROUP) & (np.array([group for group, _ in numbers]) >= 0)
    if not np.any(usable):
        return None
    still = np.bincount(key, p > SPLIT) / (1 - SPLIT)
    overall = min((np.count_nonzero(p > SPLIT) + 1) / (1 - SPLIT) / len(p), 0.98)
    own = np.clip((still + GROUP_WEIGHT * overall) / (size + GROUP_WEIGHT), 0.02, 0.98)
    share = np.where(usable, own, overall)
    weight = ((1 - share) / share)[key]
    weight = np.maximum(weight, 0.1 * float(np.mean(weight)))
    mean = float(np.mean(weight))
    return [one / mean for one in weight.tolist()]
