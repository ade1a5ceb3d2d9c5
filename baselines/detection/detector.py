"""From repeats to change points, for a whole family at once. Loaded at the first detection (NumPy, SciPy).

1. Logarithms where all values are positive (else shares of the typical absolute value): `rows`.
2. One centre a release, its noise from repeats, neighbours and siblings: `noise`.
3. Candidate cuts by exact search, outliers counting as far as a cap: `segmentation`.
4. Those that explain the row better than no change and than autocorrelated noise: `evidence`.
5. Drifts, passing disturbances and series that wander have no levels: `drifts`, `shapes`, `wandering`.
6. What stands over the family, older changes first, then at the newest releases: `family`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baselines.detection.changepoints import DetectOptions, SeriesInput
from baselines.detection.drifts import Drift, drop_drifts, judge_drifts
from baselines.detection.evidence import Prior, choose_cuts, count_places, estimate_variance, find_limit
from baselines.detection.family import NEWEST, find_levels, is_news, keep_history, settle_places
from baselines.detection.newest import judge_newest
from baselines.detection.noise import Noise, estimate_noise
from baselines.detection.rows import Bools, Floats, Ints, Rows, pick, read_rows, take_series
from baselines.detection.segmentation import Sums, half_window, make_cut, propose_cuts
from baselines.detection.shapes import drop_small, drop_transients
from baselines.detection.wandering import drop_wandering

MIN_RELEASES = 4
"""With fewer there is no telling a change from the way releases differ anyway; a comparison can still be made."""
CANDIDATE_PRICE = 0.6
"""Candidates are searched at so much of the price that a cut must be worth in the end."""
NEWS_TAIL = 0.05
"""p up to which a change at the newest releases stays a candidate, for the family to decide."""
ODD_TAIL = 0.025
"""Chance that some ordinary release of a row lies beyond the limit from which releases are capped."""
CAPS = (1.4, 1.5, 1.95)
"""The cap of a release with 1, 2, more repeats, in units of that limit squared: above 1, so that the newest release
can be a change; below 2, so that a single odd release inside, which needs two cuts, cannot."""
PASSES = 3
OFTEN = 0.1
"""Where more releases than this share are capped they are no outliers: the noise is larger than it seemed. A new level
at the end is capped at first too, so as many releases as that takes are allowed besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Cuts of a family, and what they were judged by. Sums and prior are in units of each series' `variance`."""

    sums: Sums
    prior: Prior
    cuts: Ints
    variance: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in a family: the series judged (numbers as given), the fit, p and q of its cuts, drifts, walks."""

    chosen: Ints
    rows: Rows
    noise: Noise
    fit: Fit
    p: Floats
    q: Floats
    drifts: list[Drift]
    wandering: Bools
    """Which of the series judged have no levels to change between."""


def find_family(family: Sequence[SeriesInput], options: DetectOptions) -> Found | None:
    """Return what was found in the family, None where no series has enough releases; ValueError if malformed."""
    rows = read_rows(family)
    chosen = np.argsort(rows.lengths, kind="stable")
    chosen = chosen[rows.lengths[chosen] >= MIN_RELEASES]
    if not len(chosen):
        return None
    rows = take_series(rows, chosen)
    given = [family[one] for one in chosen.tolist()]
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(one.group, len(numbers)) if one.group else -1 for one in given])
    noise = estimate_noise(rows, [np.flatnonzero(groups == number) for number in range(len(numbers))])
    fit = fit_rows(rows, noise, options)
    smallest = rows.scale(options.min_effect_ratio) / np.sqrt(fit.variance)
    price = cut_price(fit, options)
    cuts, drifts = drop_drifts(fit.sums, fit.cuts, price)
    cuts, drifts = judge_drifts(fit.sums, cuts, drifts, fit.prior, options.false_discovery_ratio)
    cuts = drop_transients(fit.sums, cuts, price, smallest, rows.repeats)
    cuts = settle_places(fit.sums, drop_small(fit.sums, cuts, smallest))
    cuts, drifts, wandering = drop_wandering(fit.sums, cuts, drifts)
    cuts, p, q = judge_family(fit, cuts, smallest, groups, given, rows, options)
    fit = Fit(sums=fit.sums, prior=fit.prior, cuts=cuts, variance=fit.variance)
    return Found(chosen=chosen, rows=rows, noise=noise, fit=fit, p=p, q=q, drifts=drifts, wandering=wandering)


def fit_rows(rows: Rows, noise: Noise, options: DetectOptions) -> Fit:
    """Return the cuts of each series taken alone; the noise is raised where odd releases are common."""
    variance = noise.variance.copy()
    cut_here = np.zeros(len(rows.owner), dtype=bool)
    active = np.arange(len(variance))
    for _ in range(PASSES):
        fit = fit_part(rows, noise, variance, active, options)
        places, starts = pick(rows.starts, active)
        cut_here[places] = False
        cut_here[places[fit.cuts]] = True
        clipped = np.add.reduceat(fit.sums.clipped, starts[:-1], dtype=np.float64)
        cut = make_cut(fit.cuts, fit.sums.owner, np.arange(len(active)), starts)
        left, _, _ = estimate_variance(fit.sums, cut, fit.prior)
        again = (clipped > OFTEN * np.diff(starts) + half_window(np.diff(starts))) & (left > 1)
        if not np.any(again):
            break
        active, raised = active[again], left[again]
        variance[active] *= raised
    if len(active) < len(variance):
        fit = build_fit(rows, noise, variance, np.arange(len(variance)))
    return Fit(sums=fit.sums, prior=fit.prior, cuts=np.flatnonzero(cut_here), variance=variance)


def build_fit(rows: Rows, noise: Noise, variance: Floats, active: Ints) -> Fit:
    """Return sums and prior of the active series at their present variance, without cuts."""
    places, starts = pick(rows.starts, active)
    lengths, repeats = np.diff(starts), rows.repeats[places]
    owner = np.repeat(np.arange(len(active)), lengths)
    limit = find_limit(ODD_TAIL / (lengths - 1.0) ** 1.1, noise.df[active] + 2)
    cap = limit[owner] * np.array([0.0, *CAPS])[np.minimum(repeats, 3)]
    raw = noise.centres[places] / np.sqrt(variance[active])[owner]
    sums = Sums(raw, noise.weights[places], cap, starts, owner, repeats)
    known = noise.prior_variance[active] / variance[active]
    prior = Prior(variance=known, df=noise.prior_df[active], lengths=lengths)
    return Fit(sums=sums, prior=prior, cuts=np.zeros(0, np.int64), variance=variance[active])


def fit_part(rows: Rows, noise: Noise, variance: Floats, active: Ints, options: DetectOptions) -> Fit:
    """Return the fit of the active series at their present variance."""
    fit = build_fit(rows, noise, variance, active)
    sums, lengths = fit.sums, fit.prior.lengths
    history = options.false_alarm_ratio / count_places(lengths)
    news = np.maximum(history, NEWS_TAIL)
    recent = recent_places(sums)
    df = noise.df[active] + 2
    price = np.where(recent, find_limit(news, df)[sums.owner], find_limit(history, df)[sums.owner])
    cuts = propose_cuts(sums, CANDIDATE_PRICE * price)
    tail = np.where(recent, news[sums.owner], history[sums.owner])
    return Fit(sums=sums, prior=fit.prior, cuts=choose_cuts(sums, cuts, tail[cuts], fit.prior), variance=fit.variance)


def recent_places(sums: Sums) -> Bools:
    """Return which releases are the newest two of their series."""
    return np.arange(len(sums.owner)) >= (sums.starts[1:] - NEWEST)[sums.owner]


def cut_price(fit: Fit, options: DetectOptions) -> Floats:
    """Return the squared step that a cut must be worth in each series, in units of its variance."""
    cut = make_cut(fit.cuts, fit.sums.owner, np.arange(len(fit.variance)), fit.sums.starts)
    left, df, _ = estimate_variance(fit.sums, cut, fit.prior)
    return find_limit(options.false_alarm_ratio / count_places(fit.prior.lengths), df) * left


def judge_family(
    fit: Fit,
    cuts: Ints,
    smallest: Floats,
    groups: Ints,
    given: Sequence[SeriesInput],
    rows: Rows,
    options: DetectOptions,
) -> tuple[Ints, Floats, Floats]:
    """Return the cuts that stand over the family, with p and q: history first, then the newest release but one."""
    sums = fit.sums
    newest = cuts[cuts == sums.starts[1:][sums.owner[cuts]] - 1]
    cuts, p, q = keep_history(sums, cuts, is_news(sums, cuts), fit.prior, options.false_discovery_ratio)
    for back in range(NEWEST, 0, -1):
        place = np.maximum(sums.starts[1:] - back, sums.starts[:-1])
        labels = [
            str(one.labels[index]) if one.labels is not None else str(index)
            for one, index in zip(given, rows.given[place].tolist(), strict=True)
        ]
        others = np.sort(np.concatenate([cuts, newest])) if back > 1 else cuts
        news = judge_newest(sums, others, fit.prior, back, groups, labels)
        hit = news.place[np.round(news.q, 9) <= options.false_discovery_ratio]
        joined = np.sort(np.concatenate([cuts, hit]))
        cut = make_cut(joined, sums.owner, np.unique(sums.owner[joined]), sums.starts)
        level = find_levels(sums, cut)
        height = np.abs(level[cut.inner] - level[cut.inner - 1]) / smallest[sums.owner[joined]]
        kept = ~np.isin(joined, hit) | (np.round(height, 7) >= 1)
        values = {int(a): (b, c) for a, b, c in zip(cuts, p, q, strict=True)}
        values |= {int(a): (b, c) for a, b, c in zip(news.place, news.p, news.q, strict=True)}
        cuts = joined[kept]
        p, q = (np.array([values[int(one)][side] for one in cuts]) for side in (0, 1))
    return cuts, p, q
