"""Whether each series changed at one of its newest releases, judged over the family.

Loaded at the first detection (NumPy, SciPy). The question is put to every series, so p values must hold far out in
the tail, where no model of noise is right. They are therefore checked against what older releases, which changed
nothing that lasted, did in the same family: an empirical null (Efron 2004, "Large-scale simultaneous hypothesis
testing").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.detection.evidence import Prior, explain, find_square, find_tail, lose_cut, measure
from baselines.detection.family import NEWS_RELEASES, find_levels
from baselines.detection.rows import Floats, Ints
from baselines.detection.segmentation import Cut, Sums, make_cut
from baselines.detection.siblings import weigh_series
from baselines.multiplicity import adjust_p_values

ALIKE = 0.5
"""A release set aside earlier is as odd as the newest one if it was at least half as far off."""
QUIET = 19
"""A change at one given release is rare: a family is judged as if it had so many further series that did not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Test of one of the newest releases of every series: those tested, their place, p and q."""

    series: Ints
    place: Ints
    p: Floats
    q: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """How far each release of the tested series lies off its level, in standard errors: in full, and up to the cap."""

    far: Floats
    capped: Floats
    segment: Ints
    asked: Ints
    """Number of the tested series a release belongs to."""
    place: Ints


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
    square = find_square(gain, series, df, prior)
    score = normal_score(square, df)
    left = (prior.df * prior.variance)[series] + misfit[series]
    share = compare_past(sums, measure_past(sums, cut, raw, series), score, left, df, place, back, np.abs(odd))
    p = np.maximum(find_tail(square, df), share)
    weights = weigh_series(p, np.sign(odd), groups[series], [labels[one] for one in series])
    q = np.array(adjust_p_values(p.tolist(), QUIET, weights))
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
    weight = sums.weigh(first, place, owner)
    apart = odd * np.sqrt(weight / (weight + back * sums.weights[place]))
    before = np.sqrt(sums.weights[place - 1]) * (sums.values[place - 1] - levels[here - 1])
    more, tied = back * apart * apart, before * apart + (back - 1) * apart * apart
    if back == 1:
        return more, tied
    chosen = np.searchsorted(cut.inner, here)
    clipped, echo = (part[chosen] for part in lose_cut(sums, cut, levels))
    return np.maximum(more, clipped), np.where(more > clipped, tied, echo)


def normal_score(square: Floats, df: Floats) -> Floats:
    """Return the normal deviate about as rare as a squared t (Wallace 1959)."""
    return np.asarray((8 * df + 1) / (8 * df + 3) * np.sqrt(df * np.log1p(square / df)))


def measure_past(sums: Sums, cut: Cut, levels: Floats, series: Ints) -> Past:
    """Return how far each release lies off the level that the others of its segment show."""
    sizes = cut.end - cut.first
    segment = np.repeat(np.arange(len(sizes)), sizes)
    place = np.repeat(cut.first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(len(segment))
    weight, limit = sums.weights[place], sums.limit[place]
    total = sums.weigh(cut.first, cut.end, cut.owner)[segment]
    away = sums.raw[place] - levels[segment]
    # A release within its limit had a part in the level; without it, it would lie farther off.
    share = np.where(np.abs(away) <= limit, 1 - weight / total, 1)
    grown = np.where(share > 1e-9, np.sqrt(weight / np.maximum(share, 1e-9)), 0)
    return Past(
        far=away * grown,
        capped=np.clip(away, -limit, limit) * grown,
        segment=segment,
        asked=np.searchsorted(series, cut.owner[segment]),
        place=place,
    )


def compare_past(
    sums: Sums,
    past: Past,
    newest: Floats,
    left: Floats,
    df: Floats,
    place: Ints,
    back: int,
    distance: Floats,
) -> Floats:
    """Return per series the share of older releases, of series like it, that are at least as odd as its `newest`.

    Alike are series with as many repeats that had, or had not, another odd release before; odd ones themselves count
    in their own series alone: where one release in fifty was that odd, one in fifty is the least p the newest can
    have. Where two newest releases are asked about, pairs of neighbours are the past. `left` is the misfit of each
    series with what was known before, `distance` how far the newest releases lie off.
    """
    begin, finish = slice(0, len(past.far) - back + 1), slice(back - 1, None)
    asked = past.asked[begin]
    comparable = (past.segment[begin] == past.segment[finish]) & (past.place[finish] < place[asked])
    first, last = past.far[begin], past.far[finish]
    lesser = np.where(first * last > 0, np.minimum(np.abs(first), np.abs(last)), 0)
    mean = np.abs(past.capped[begin] + past.capped[finish]) / 2
    own = past.capped[begin] ** 2 + (past.capped[finish] ** 2 if back > 1 else 0)
    spread = np.maximum(left[asked] - own, 1e-12) / df[asked]
    score = normal_score(back * np.maximum(lesser, mean) ** 2 / spread, df[asked])
    odd = ((np.abs(past.far) > np.abs(past.capped) + 1e-9) & (past.place < place[past.asked])).astype(np.int64)
    known = np.bincount(past.asked, odd, minlength=len(place))
    others = known[asked] - odd[begin] - (odd[finish] if back > 1 else 0)
    repeats = np.minimum(sums.repeats[place], 3)
    stratum, mine = repeats[asked] * 2 + (others > 0), repeats * 2 + (known > 0)
    comparable &= (odd[begin] == 0) & (odd[finish] == 0)
    share = np.zeros(len(place))
    for one in np.unique(mine):
        scores = np.sort(score[comparable & (stratum == one)])
        above = len(scores) - np.searchsorted(scores, newest[mine == one] - 1e-9)
        share[mine == one] = above / max(len(scores), 1)
    alike = (odd > 0) & (np.abs(past.far) >= ALIKE * distance[past.asked])
    seen = np.bincount(past.asked, alike, minlength=len(place)) / np.maximum(place - sums.starts[sums.owner[place]], 1)
    return np.asarray(np.maximum(share, seen**back / back))
