"""How much better a row is explained with its cuts than without them. Loaded at the first detection (NumPy, SciPy).

A cut must beat two rivals: that nothing changed, and that nothing changed but neighbouring releases move together
(autocorrelation makes one see levels where there are none). Both are weighed by averaging the likelihood over how
strongly neighbours may be tied. The variance is unknown too: it is averaged over what siblings and repeats say of it,
which gives Student's t where neighbours are not tied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from baselines.detection.rows import Floats, Ints
from baselines.detection.segmentation import Cut, Sums, make_cut

TIES = np.array([0.0, 0.4, 0.6, 0.8])
"""Correlations between neighbouring releases that are weighed."""
TIE_PRIOR = np.array([0.3, 0.25, 0.3, 0.15])
"""How believable each is beforehand: doubtful of independence, because cutting tied rows makes them look untied."""
PLACES_POWER = 0.85
"""(n - 1) ** 0.85 tests at different levels alarm as often as a search over n releases: by simulation, see README."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known of each series' variance before its levels: in units of the noise of `Sums`."""

    variance: Floats
    df: Floats
    lengths: Ints

    @property
    def total_df(self) -> Floats:
        return np.asarray(self.df + self.lengths)


def count_places(lengths: Ints) -> Floats:
    """Return the number of independent tests that a search for a change in so many releases amounts to."""
    return np.asarray(np.maximum(lengths - 1.0, 1.0) ** PLACES_POWER)


def find_limit(tail: Floats, df: Floats) -> Floats:
    """Return the squared t that is exceeded with probability `tail`, both sides together."""
    return np.asarray(special.stdtrit(df, tail / 2) ** 2)


def weigh_ties(misfit: Floats, echo: Floats, series: Ints, prior: Prior) -> Floats:
    """Return the log likelihood of each row, one line per correlation, given misfit and neighbours' products."""
    tie = TIES[:, None]
    length, total = prior.lengths[series], prior.total_df[series]
    spread = 1 - tie * tie
    around = np.maximum(((1 + tie * tie) * misfit - 2 * tie * echo) / spread, 0)
    known = (prior.df * prior.variance)[series]
    return np.asarray(
        np.log(TIE_PRIOR)[:, None] - 0.5 * (length - 1) * np.log(spread) - 0.5 * total * np.log(known + around)
    )


def explain(misfit: Floats, echo: Floats, series: Ints, prior: Prior) -> Floats:
    """Return the log likelihood of each row, averaged over correlations and variances."""
    likelihood: Floats = np.logaddexp.reduce(weigh_ties(misfit, echo, series, prior), axis=0)
    return likelihood


def measure(sums: Sums, cut: Cut, count: int) -> tuple[Floats, Floats, Floats]:
    """Return misfit and neighbours' products of each of `count` series, and the level of each segment."""
    first, end, owner = cut.first, cut.end, cut.owner
    levels = sums.levels(first, end, owner)
    echo = sums.echo(first, end, owner, levels)
    inner = cut.inner
    echo[inner] += cross(sums, first[inner], levels[inner - 1], levels[inner])
    misfit = sums.misfit(first, end, owner)
    whole: list[Floats] = [np.bincount(owner, part, minlength=count).astype(np.float64) for part in (misfit, echo)]
    return whole[0], whole[1], levels


def cross(sums: Sums, place: Ints, before: Floats, after: Floats) -> Floats:
    """Return the product of the deviations of the two releases next to a cut, each from its own level."""
    return np.asarray(sums.link[place] * (sums.values[place] - after) * (sums.values[place - 1] - before))


def test_cuts(sums: Sums, cuts: Ints, prior: Prior) -> Floats:
    """Return the p value of each cut given the others of its series, counted for the places that were searched."""
    owner = sums.owner[cuts]
    cut = make_cut(cuts, sums.owner, np.unique(owner), sums.starts)
    misfit, echo, levels = measure(sums, cut, len(prior.lengths))
    more, tied = lose_cut(sums, cut, levels)
    df = prior.total_df[owner] - np.bincount(owner, minlength=len(prior.lengths))[owner] - 1
    gain = explain(misfit[owner], echo[owner], owner, prior)
    gain -= explain(misfit[owner] + more, echo[owner] + tied, owner, prior)
    square = find_square(gain, owner, df, prior)
    return np.minimum(find_tail(square, df) * count_places(prior.lengths[owner]), 1)


def lose_cut(sums: Sums, cut: Cut, levels: Floats) -> tuple[Floats, Floats]:
    """Return by how much misfit and neighbours' products grow when a cut is taken away, for each."""
    inner = cut.inner
    first, place, end, owner = cut.first[inner - 1], cut.first[inner], cut.end[inner], cut.owner[inner]
    before, after = levels[inner - 1], levels[inner]
    more = sums.misfit(first, end, owner) - sums.misfit(first, place, owner) - sums.misfit(place, end, owner)
    tied = sums.echo(first, end, owner, sums.levels(first, end, owner)) - cross(sums, place, before, after)
    tied -= sums.echo(first, place, owner, before) + sums.echo(place, end, owner, after)
    return np.maximum(more, 0), tied


def find_square(gain: Floats, series: Ints, df: Floats, prior: Prior) -> Floats:
    """Return the squared t that stands for a gain of log likelihood."""
    return np.asarray(np.expm1(2 * np.maximum(gain, 0) / prior.total_df[series]) * df)


def find_tail(square: Floats, df: Floats) -> Floats:
    """Return the two-sided p of a squared t."""
    return np.asarray(2 * special.stdtr(df, -np.sqrt(square)))


def choose_cuts(sums: Sums, cuts: Ints, tail: Floats, prior: Prior) -> Ints:
    """Return those of the cuts that explain the rows best, each worth its price; `tail` is the p asked of each cut.

    The weakest cut of each series is taken away, then the next, until none is left; of all the states on that way
    the one with the greatest likelihood per price is kept.
    """
    owner = sums.owner[cuts]
    count = len(prior.lengths)
    alive, lost_at = np.ones(len(cuts), dtype=bool), np.full(len(cuts), np.iinfo(np.int64).max)
    best, best_step, saved = np.full(count, -np.inf), np.zeros(count, np.int64), np.zeros(count)
    active, step = np.unique(owner), 0
    while len(active):
        now = np.flatnonzero(alive & np.isin(owner, active))
        cut = make_cut(cuts[now], sums.owner, active, sums.starts)
        misfit, echo, levels = measure(sums, cut, count)
        score = explain(misfit[active], echo[active], active, prior) + saved[active]
        better = active[score > best[active] - 1e-9]
        best[better], best_step[better] = score[score > best[active] - 1e-9], step
        if not len(now):
            break
        weakest, price = find_weakest(sums, cut, levels, tail[now], prior)
        alive[now[weakest]], lost_at[now[weakest]] = False, step
        active = owner[now[weakest]]
        saved[active] += price
        step += 1
    return cuts[lost_at >= best_step[owner]]


def find_weakest(sums: Sums, cut: Cut, levels: Floats, tail: Floats, prior: Prior) -> tuple[Ints, Floats]:
    """Return the number of the weakest cut of each series that has one, and what it has to be worth to stay."""
    inner = cut.inner
    owner = cut.owner[inner]
    weights = sums.weigh(cut.first, cut.end, cut.owner)
    left, right = weights[inner - 1], weights[inner]
    square = (levels[inner] - levels[inner - 1]) ** 2 * left * right / (left + right)
    df = prior.total_df[owner] - np.bincount(owner, minlength=len(prior.lengths))[owner] - 1
    limit = find_limit(tail, df)
    order = np.lexsort((np.round(square / limit, 7), owner))
    weakest = np.sort(order[np.concatenate([[True], owner[order][1:] != owner[order][:-1]])])
    return weakest, 0.5 * prior.total_df[owner[weakest]] * np.log1p(limit[weakest] / df[weakest])


def estimate_variance(sums: Sums, cut: Cut, prior: Prior) -> tuple[Floats, Floats, Floats]:
    """Return per series the variance around its levels, its degrees of freedom, and how much ties stretch it.

    The last is (1 + r) / (1 - r), averaged over what the correlation r may be: by so much the variance of a mean of
    tied neighbours exceeds that of independent ones.
    """
    count = len(prior.lengths)
    misfit, echo, _ = measure(sums, cut, count)
    segments = np.bincount(cut.owner, minlength=count)
    df = np.maximum(prior.total_df - segments, 1)
    share = weigh_ties(misfit, echo, np.arange(count), prior)
    share = np.exp(share - np.logaddexp.reduce(share, axis=0))
    stretch = np.sum(share * ((1 + TIES) / (1 - TIES))[:, None], axis=0)
    return (prior.df * prior.variance + misfit) / df, df, stretch
