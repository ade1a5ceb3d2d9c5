"""What was found, in the unit of the series and in words. Loaded at the first detection (NumPy, SciPy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from baselines.detection.changepoints import ChangePoint, DetectOptions, Kind, SeriesInput
from baselines.detection.detector import Found, find_family
from baselines.detection.drifts import Drift
from baselines.detection.evidence import estimate_variance, find_limit
from baselines.detection.family import find_levels
from baselines.detection.newest import QUIET
from baselines.detection.rows import Floats, Ints
from baselines.detection.segmentation import Cut, Sums, make_cut
from baselines.series import Values

LIKELY = 3.841458820694124
"""Squared z by which one place of a cut may explain less than another and still be believed at 95 %."""

WANDER = 1 / 30
"""Variance of any level, in units of a release's, that longer looking does not remove: steps too small to be found."""

LONE = 4.0
"""Variance of the level of a release that stands alone between two others, in units of a release's."""

POWER_QUANTILE = 0.8416212335729143
"""Normal quantile that makes four of five steps of a size pass the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps at all cuts of a family, on the scale of the rows."""

    series: Ints
    before: Floats
    after: Floats
    error: Floats
    margin: Floats
    """Half-width of the 95 % interval of the step."""
    noise: Floats
    """Standard deviation of one release."""
    low: Ints
    high: Ints
    """First and last place the cut may have."""
    following: Ints
    """Releases of the new level."""


def describe_family(family: Sequence[SeriesInput], found: Found | None) -> list[list[ChangePoint]]:
    """Return the change points of each series of the family, oldest first."""
    described: list[list[ChangePoint]] = [[] for _ in family]
    if found is None:
        return described
    steps = measure_steps(found)
    for point, place in enumerate_points(family, found, steps):
        described[place].append(point)
    for drift in found.drifts:
        place = int(found.chosen[drift.series])
        described[place] = sorted(
            [*described[place], describe_drift(family[place], found, drift)], key=lambda one: one.index
        )
    return described


def measure_steps(found: Found) -> Steps:
    """Return the step at each cut with its error: of unclipped releases, stretched where neighbours are tied."""
    fit, sums, cuts = found.fit, found.fit.sums, found.fit.cuts
    everyone = np.arange(len(fit.variance))
    left, df, stretch = estimate_variance(sums, make_cut(cuts, sums.owner, everyone, sums.starts), fit.prior)
    cut = make_cut(cuts, sums.owner, np.unique(sums.owner[cuts]), sums.starts)
    inner, series = cut.inner, sums.owner[cuts]
    level = find_levels(sums, cut)
    unit = np.sqrt(fit.variance)[series]
    weight = sums.weigh(cut.first, cut.end, cut.owner)
    single = np.sqrt(left)[series]
    # Ties stretch the variance of a mean of many; of two releases at most so many times.
    size = (cut.end - cut.first).astype(np.float64)
    tied = np.minimum(stretch[cut.owner], size)
    # A level that lasted for one release may be an odd one beside a step: nothing else tells them apart.
    tied = np.where((size == 1) & (cut.end != sums.starts[1:][cut.owner]), LONE, tied)
    error = single * np.sqrt(tied[inner - 1] / weight[inner - 1] + tied[inner] / weight[inner] + 2 * WANDER)
    shift = sums.reference[cuts]
    low, high = bound_places(sums, cut, left[series])
    return Steps(
        series=series,
        before=(level[inner - 1] + shift) * unit,
        after=(level[inner] + shift) * unit,
        error=error * unit,
        margin=-special.stdtrit(df[series], 0.025) * error * unit,
        noise=single * unit,
        low=low,
        high=high,
        following=cut.end[inner] - cuts,
    )


def bound_places(sums: Sums, cut: Cut, variance: Floats) -> tuple[Ints, Ints]:
    """Return the first and last place of each cut that explain the row almost as well, without a gap between."""
    inner = cut.inner
    first, place, end, owner = cut.first[inner - 1], cut.first[inner], cut.end[inner], cut.owner[inner]
    sizes = end - first - 1
    which = np.repeat(np.arange(len(inner)), sizes)
    begin = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    tried = np.arange(len(which)) - begin[which] + first[which] + 1
    loss = sums.misfit(first[which], tried, owner[which]) + sums.misfit(tried, end[which], owner[which])
    here = sums.misfit(first, place, owner) + sums.misfit(place, end, owner)
    bad = np.round(loss - here[which], 7) > (LIKELY * variance)[which]
    if not len(which):
        return place, place
    low = np.maximum.reduceat(np.where(bad & (tried < place[which]), tried, first[which]), begin) + 1
    high = np.minimum.reduceat(np.where(bad & (tried > place[which]), tried, end[which]), begin) - 1
    return low, high


def enumerate_points(family: Sequence[SeriesInput], found: Found, steps: Steps) -> list[tuple[ChangePoint, int]]:
    """Return each change point with the index of its series, cut after cut."""
    rows, sums, cuts = found.rows, found.fit.sums, found.fit.cuts
    given, series = rows.given, steps.series
    middle = steps.after - steps.before
    columns = zip(
        found.chosen[series].tolist(),
        given[cuts].tolist(),
        given[cuts - 1].tolist(),
        rows.restore(series, steps.before).tolist(),
        rows.restore(series, steps.after).tolist(),
        rows.ratio(series, middle).tolist(),
        rows.ratio(series, middle - steps.margin).tolist(),
        rows.ratio(series, middle + steps.margin).tolist(),
        rows.ratio(series, steps.noise).tolist(),
        np.minimum(found.p, 1).tolist(),
        np.minimum(np.maximum(found.p, found.q), 1).tolist(),
        (given[steps.low - 1] + 1).tolist(),
        given[steps.high].tolist(),
        (cuts != sums.starts[1:][series] - 1).tolist(),
        (np.abs(middle) / steps.noise).tolist(),
        steps.following.tolist(),
        strict=True,
    )
    points = []
    for at, index, earlier, before, after, effect, low, high, noise, p, q, first, last, sure, times, size in columns:
        confounded = find_confounder(family[at], earlier, index)
        points.append(
            (
                ChangePoint(
                    index=index,
                    before=before,
                    after=after,
                    effect_ratio=effect,
                    effect_low=low,
                    effect_high=high,
                    noise_ratio=noise,
                    p=p,
                    q=q,
                    confidence=1 - q,
                    kind="step",
                    possible=(first, last),
                    confirmed=sure,
                    confounded_by=confounded,
                    reason=explain_step(family[at], index, after > before, effect, times, size, sure, confounded),
                ),
                at,
            )
        )
    return points


def find_confounder(series: SeriesInput, earlier: int, index: int) -> str | None:
    """Return what else changed for good between two neighbouring releases, None where nothing did."""
    found = (
        find_lasting_change("host", series.hosts, series, earlier, index),
        find_lasting_change("environment", series.environments, series, earlier, index),
    )
    return "; ".join(one for one in found if one) or None


def find_lasting_change(
    what: str, given: Sequence[str | None] | None, series: SeriesInput, earlier: int, index: int
) -> str | None:
    """Return the change in words where no release before it shares its value with one from then on."""
    if given is None or given[index] == given[earlier]:
        return None
    measured = [place for place, repeats in enumerate(series.values) if len(repeats)]
    before = {given[place] for place in measured if place <= earlier} - {None}
    after = {given[place] for place in measured if place >= index} - {None}
    if before & after or given[earlier] is None or given[index] is None:
        return None
    return f"the {what} changed here too, from {given[earlier]} to {given[index]}"


def name_release(series: SeriesInput, index: int) -> str:
    """Return what a release is called in a reason."""
    return f"release {series.labels[index]}" if series.labels is not None else f"release number {index + 1}"


def explain_step(
    series: SeriesInput,
    index: int,
    up: bool,
    effect: float,
    times: float,
    size: int,
    confirmed: bool,
    confounded: str | None,
) -> str:
    """Return a step in words."""
    way = "up" if up else "down"
    text = f"{way} by {100 * abs(effect):.1f} % from {name_release(series, index)}, "
    text += f"{times:.1f} times the noise of a release"
    if not confirmed:
        text += "; only the newest release shows it yet"
    elif size > 1:
        text += f"; seen in {size} releases"
    return text + (f"; {confounded}" if confounded else "")


def describe_drift(series: SeriesInput, found: Found, drift: Drift) -> ChangePoint:
    """Return a drift as a change point from the level its line starts at to that where it ends."""
    rows, sums, fit = found.rows, found.fit.sums, found.fit
    one = np.array([drift.series])
    inside = np.arange(drift.first, drift.end)
    weight, value = sums.weights[inside], sums.values[inside]
    place = (inside - drift.first).astype(np.float64)
    centre = float(np.sum(weight * place) / np.sum(weight))
    across = float(np.sum(weight * (place - centre) ** 2))
    slope = float(np.sum(weight * (place - centre) * value)) / across
    middle = float(np.sum(weight * value) / np.sum(weight)) + float(sums.reference[drift.first])
    unit = float(np.sqrt(fit.variance[drift.series]))
    spread = float(np.sqrt(sums.line_misfit(inside[:1], inside[-1:] + 1)[0] / max(len(inside) - 2, 1)))
    before, after = ((middle + slope * (end - centre)) * unit for end in (0.0, float(place[-1])))
    df = float(fit.prior.total_df[drift.series]) - 2
    margin = float(-special.stdtrit(df, 0.025)) * spread * float(place[-1]) / across**0.5 * unit
    effect, low, high = (
        float(rows.ratio(one, np.array([step]))[0])
        for step in (after - before, after - before - margin, after - before + margin)
    )
    index, last = int(rows.given[drift.place]), int(rows.given[drift.end - 1])
    kind: Kind = "drift"
    way = "up" if after > before else "down"
    return ChangePoint(
        index=index,
        before=float(rows.restore(one, np.array([before]))[0]),
        after=float(rows.restore(one, np.array([after]))[0]),
        effect_ratio=effect,
        effect_low=low,
        effect_high=high,
        noise_ratio=float(rows.ratio(one, np.array([spread * unit]))[0]),
        p=drift.p,
        q=drift.q,
        confidence=1 - drift.q,
        kind=kind,
        possible=(int(rows.given[drift.first]), last),
        confirmed=True,
        confounded_by=None,
        reason=f"drifts {way} by {100 * abs(effect):.1f} % from {name_release(series, int(rows.given[drift.first]))} "
        f"to {name_release(series, last)}: a line explains it better than steps",
    )


def summarize(values: Values, options: DetectOptions) -> tuple[list[ChangePoint], float, float, bool] | None:
    """Return change points, noise ratio, the step ratio detectable at the newest release, and whether it wanders.

    None for too few.
    """
    family = [SeriesInput(values=values)]
    found = find_family(family, options)
    if found is None:
        return None
    fit, sums = found.fit, found.fit.sums
    older = fit.cuts[fit.cuts < sums.starts[1] - 1]
    left, df, _ = estimate_variance(sums, make_cut(older, sums.owner, np.array([0]), sums.starts), fit.prior)
    noise = float(np.sqrt(left[0] * fit.variance[0]))
    begin, newest = int(max([0, *older.tolist()])), len(sums.owner) - 1
    weight = float(np.sum(sums.weights[begin:newest]))
    error = noise * float(np.sqrt(1 / weight + 1 / sums.weights[newest]))
    tail = options.false_discovery_ratio / (1 + QUIET)
    step = (float(np.sqrt(find_limit(np.array(tail), df[0]))) + POWER_QUANTILE) * error
    ratios = found.rows.ratio(np.array([0, 0]), np.array([noise, step]))
    return describe_family(family, found)[0], float(ratios[0]), float(ratios[1]), bool(found.wandering[0])
