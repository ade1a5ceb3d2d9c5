"""Runs of releases that drift: one straight line explains them better than levels do.

Loaded at the first detection (NumPy).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from baselines.detection.evidence import Prior, count_places, explain, find_square, find_tail, measure
from baselines.detection.rows import Floats, Ints
from baselines.detection.segmentation import Sums, make_cut
from baselines.multiplicity import adjust_p_values

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
    replaced: Ints
    """The cuts it replaces."""
    p: float = 1.0
    """Of the line against no change at all, counted for the places that were searched."""
    q: float = 1.0


def drop_drifts(sums: Sums, cuts: Ints, price: Floats) -> tuple[Ints, list[Drift]]:
    """Return the cuts without those of runs in one direction that a line explains better, and these runs.

    `price` is what a cut costs, per series. A line costs one price however many steps it replaces.
    """
    if not len(cuts):
        return cuts, []
    cut = make_cut(cuts, sums.owner, np.unique(sums.owner[cuts]), sums.starts)
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
        line = sums.line_misfit(cut.first[left], cut.end[right])
        steps = np.add.reduceat(misfit, np.column_stack([left, right + 1]).ravel())[::2]
        steps += price[owner] * (finish - begin)
        better = (line < steps) & (cut.end[right] - cut.first[left] >= DRIFT_RELEASES)
        for one in np.flatnonzero(better):
            gone[begin[one] : finish[one] + 1] = True
            height = np.abs(levels[inner] - levels[inner - 1])[begin[one] : finish[one] + 1]
            place = int(cuts[begin[one] + int(np.argmax(np.round(height, 7)))])
            first, end = int(cut.first[left[one]]), int(cut.end[right[one]])
            replaced = cuts[begin[one] : finish[one] + 1]
            drifts.append(Drift(series=int(owner[one]), first=first, end=end, place=place, replaced=replaced))
    return cuts[~gone], drifts


def judge_drifts(
    sums: Sums, cuts: Ints, drifts: list[Drift], prior: Prior, false_discovery_ratio: float
) -> tuple[Ints, list[Drift]]:
    """Return the cuts, with those of drifts that do not stand over the family given back, and the drifts that do."""
    if not drifts:
        return cuts, []
    p = test_drifts(sums, cuts, drifts, prior)
    q = adjust_p_values(p.tolist(), quiet=len(prior.lengths))
    judged = [replace(one, p=float(a), q=b) for one, a, b in zip(drifts, p, q, strict=True)]
    standing = [one for one in judged if round(one.q, 9) <= false_discovery_ratio]
    returned = [one.replaced for one in judged if round(one.q, 9) > false_discovery_ratio]
    return np.sort(np.concatenate([cuts, *returned])), standing


def test_drifts(sums: Sums, cuts: Ints, drifts: list[Drift], prior: Prior) -> Floats:
    """Return the p value of each drift: its line against one level, with the other cuts of its series in place."""
    series = np.array([one.series for one in drifts])
    cut = make_cut(cuts, sums.owner, np.arange(len(prior.lengths)), sums.starts)
    misfit, echo, _ = measure(sums, cut, len(prior.lengths))
    less, untied = np.array([straighten(sums, one) for one in drifts]).T
    gain = explain(np.maximum(misfit[series] - less, 0), echo[series] - untied, series, prior)
    gain -= explain(misfit[series], echo[series], series, prior)
    df = prior.total_df[series] - np.bincount(cut.owner, minlength=len(prior.lengths))[series] - 1
    square = find_square(gain, series, df, prior)
    return np.asarray(np.minimum(find_tail(square, df) * count_places(prior.lengths[series]), 1))


def straighten(sums: Sums, drift: Drift) -> tuple[float, float]:
    """Return by how much misfit and neighbours' products of a run fall when a line takes the place of its level."""
    inside = slice(drift.first, drift.end)
    weight, value = sums.weights[inside], sums.values[inside]
    place = np.arange(len(value), dtype=np.float64)
    flat = value - np.average(value, weights=weight)
    place -= np.average(place, weights=weight)
    line = flat - place * (np.sum(weight * place * flat) / np.sum(weight * place * place))
    link = sums.link[drift.first + 1 : drift.end]
    misfit = float(np.sum(weight * (flat**2 - line**2)))
    return misfit, float(np.sum(link * (flat[1:] * flat[:-1] - line[1:] * line[:-1])))
