"""From repeats to change points. Loaded at the first detection (NumPy, SciPy, ruptures).

1. Logarithms where all values are positive (else shares of the typical absolute value); one centre a release.
2. Noise of a centre from repeats, neighbours and a prior for what repeats cannot show (see `baselines.noise`).
3. ruptures' kernel method proposes cuts; each must pass a t test against both levels, the weakest goes first.
4. Noise is raised to what remains around the levels and for what neighbouring releases share; then again from 3.
5. A single odd release inside a long history is a bad day and is set aside; the newest release may speak alone.
6. Over the series of one call, shifts seen only at the newest release must pass Benjamini and Hochberg.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import special

from baselines.changepoints import ChangePoint, DetectOptions, Kind, SeriesInput
from baselines.multiplicity import adjust_p_values
from baselines.noise import Floats, Noise, estimate_noise, find_centre
from baselines.segmentation import Row, build_row, count_places, find_cuts, find_threshold, measure_gains, measure_step
from baselines.series import Values, check_values

MIN_RELEASES = 4
"""With fewer there is no telling a change from the way releases differ anyway; a comparison can still be made."""
SHORT_HISTORY = 8
"""Up to so many releases one odd release inside with repeats that agree is a change there and back, not a bad day."""
PASSES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A series ready for detection: the measured releases only, on the scale the detector works on."""

    series: SeriesInput
    measured: list[int]
    """Index of each measured release among the releases as given."""
    releases: list[Floats]
    centres: Floats
    logarithmic: bool
    unit: float
    """Scaled value 0 (logarithmic) or 1 (otherwise) in the unit of the series; as its logarithm where logarithmic."""

    def restore(self, scaled: float) -> float:
        if self.logarithmic:
            return math.exp(min(709.0, scaled + self.unit))
        return scaled * self.unit

    def ratio(self, step: float) -> float:
        return math.expm1(min(709.0, step)) if self.logarithmic else step


def prepare(series: SeriesInput) -> Prepared | None:
    """Return the series on the detector's scale, None where too few releases were measured; ValueError if malformed."""
    excluded = set(series.excluded or ())
    values = check_values(series.values)
    measured = [index for index, repeats in enumerate(values) if repeats and index not in excluded]
    if len(measured) < MIN_RELEASES:
        return None
    raw = [np.array(values[index]) for index in measured]
    logarithmic = all(repeats[0] > 0 for repeats in raw)
    if logarithmic:
        logs = [np.log(repeats) for repeats in raw]
        unit = float(np.median([find_centre(repeats) for repeats in logs]))
        scaled = [repeats - unit for repeats in logs]
    else:
        sizes = [float(np.median(np.abs(repeats))) for repeats in raw]
        unit = float(np.median(sizes)) or max(sizes)
        if not unit:
            return None
        with np.errstate(over="ignore"):
            scaled = [np.clip(repeats / unit, -1e9, 1e9) for repeats in raw]
    # Rounded so that another unit or another computer, which change the last bits, cannot change a decision.
    releases = [np.round(repeats, 10) for repeats in scaled]
    centres = np.round([find_centre(repeats) for repeats in releases], 10)
    return Prepared(
        series=series, measured=measured, releases=releases, centres=centres, logarithmic=logarithmic, unit=unit
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """What was found in a series: positions among the `kept` releases, and the row they were found in."""

    row: Row
    cuts: list[int]
    kept: list[int]
    """Position among the measured releases of each release that was not set aside."""


def cut_series(prepared: Prepared, options: DetectOptions) -> Cutting:
    """Return the cuts of a series after odd single releases were set aside."""
    min_step = math.log1p(options.min_effect_ratio) if prepared.logarithmic else options.min_effect_ratio
    kept = list(range(len(prepared.centres)))
    while True:
        releases = [prepared.releases[position] for position in kept]
        row, cuts = settle(releases, prepared.centres[kept], options.false_alarm_ratio, min_step)
        odd = find_odd_releases(row, cuts, releases)
        if not odd or len(kept) - len(odd) < MIN_RELEASES:
            return Cutting(row=row, cuts=drop_doubtful_newest(prepared, row, cuts, kept), kept=kept)
        kept = [position for place, position in enumerate(kept) if place not in odd]


def settle(releases: list[Floats], centres: Floats, false_alarm_ratio: float, min_step: float) -> tuple[Row, list[int]]:
    """Return row and cuts, with the noise raised until it covers what remains around the levels."""
    first = estimate_noise(releases, centres)
    row = build_row(centres, first)
    cuts = find_cuts(row, false_alarm_ratio, min_step)
    for _ in range(PASSES):
        scale = max(row.noise.scale, raise_scale(row, cuts, first))
        if scale <= row.noise.scale * 1.001 or not cuts:
            break
        row = build_row(centres, replace(first, scale=scale))
        cuts = find_cuts(row, false_alarm_ratio, min_step)
    return row, cuts


def raise_scale(row: Row, cuts: list[int], first: Noise) -> float:
    """Return the scale that residuals around the levels ask for, `first` counting with its degrees of freedom."""
    bounds = [0, *cuts, len(row.centres)]
    levels = np.concatenate([np.full(b - a, row.average(a, b)) for a, b in pairwise(bounds)])
    residuals = (row.centres - levels) * np.sqrt(first.weights)
    free = len(residuals) - len(bounds) + 1
    if free < 1:
        return first.scale
    # Wild releases are not noise of the ordinary kind: they count as far as four deviations.
    squares = np.minimum(residuals**2, (4 * row.noise.scale) ** 2)
    variance = (first.df * first.scale**2 + float(np.sum(squares))) / (first.df + free)
    return float(np.sqrt(variance * share_factor(residuals, bounds)))


def share_factor(residuals: Floats, bounds: list[int]) -> float:
    """Return by how much means vary more because neighbouring releases move together (lag-one correlation)."""
    if len(residuals) < 12:
        return 1.0
    inside = np.ones(len(residuals) - 1, dtype=bool)
    inside[np.array(bounds[1:-1], dtype=int) - 1] = False
    total = float(np.sum(residuals**2))
    if not total:
        return 1.0
    # Subtracting fitted levels makes neighbours look opposed; 1/length per level gives that back.
    correlation = float(np.sum((residuals[1:] * residuals[:-1])[inside])) / total + len(bounds) / len(residuals)
    correlation = min(0.75, correlation)
    return (1 + correlation) / (1 - correlation) if correlation > 1 / np.sqrt(len(residuals)) else 1.0


def find_odd_releases(row: Row, cuts: list[int], releases: list[Floats]) -> set[int]:
    """Return the positions of runs between two cuts that are too short to be a level.

    One release, or two measured once or twice each that stand out from both sides, may be bad days. Of runs
    next to one another only the first is returned: without it the other may be part of a level.
    """
    bounds = [0, *cuts, len(releases)]
    odd: set[int] = set()
    for before, start, end, after in zip(bounds, bounds[1:], bounds[2:], bounds[3:], strict=False):
        repeats = min(len(releases[position]) for position in range(start, end))
        middle = row.average(start, end)
        returns = (middle - row.average(before, start)) * (row.average(end, after) - middle) < 0
        alone = end - start == 1 and not (len(releases) <= SHORT_HISTORY and repeats >= 3)
        if start - 1 not in odd and (alone or (end - start == 2 and repeats <= 2 and returns)):
            odd.update(range(start, end))
    return odd


def drop_doubtful_newest(prepared: Prepared, row: Row, cuts: list[int], kept: list[int]) -> list[int]:
    """Return the cuts without one that only the newest release shows and that may be a bad day.

    It is doubted if half of its repeats stayed near the old level, or if a single release was as far off before.
    """
    newest = len(prepared.centres) - 1
    if not cuts or kept[cuts[-1]] != newest:
        return cuts
    old = row.average(([0, *cuts])[-2], cuts[-1])
    step = float(prepared.centres[newest]) - old
    moved = np.count_nonzero((prepared.releases[newest] - old) / step > 0.5)
    strays = [stray_distance(prepared, row, cuts, kept, odd) for odd in sorted(set(range(newest)) - set(kept))]
    if 2 * moved <= len(prepared.releases[newest]) or any(stray >= 0.7 * abs(step) for stray in strays):
        return cuts[:-1]
    return cuts


def stray_distance(prepared: Prepared, row: Row, cuts: list[int], kept: list[int], odd: int) -> float:
    """Return how far the release `odd`, which was set aside, lies from the level around it."""
    place = int(np.searchsorted(kept, odd))
    start = max([0, *(cut for cut in cuts if cut <= place)])
    end = min(cut for cut in [*cuts, len(kept)] if cut > place)
    return abs(float(prepared.centres[odd]) - row.average(start, end))


def describe(prepared: Prepared, found: Cutting) -> list[ChangePoint]:
    """Return the change points of the cuts, oldest first, q still equal to p."""
    row, bounds = found.row, [0, *found.cuts, len(found.kept)]
    return [
        describe_cut(prepared, found, row, start, cut, end)
        for start, cut, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
    ]


def describe_cut(prepared: Prepared, found: Cutting, row: Row, start: int, cut: int, end: int) -> ChangePoint:
    """Return the change point at `cut` between the levels from `start` and up to `end`."""
    step, error = measure_step(row, start, cut, end)
    margin = float(-special.stdtrit(row.noise.df, 0.025)) * error
    tail = 2 * float(special.stdtr(row.noise.df, -abs(step) / error))
    p = min(1.0, tail * count_places(cut, len(found.kept)))
    place = [prepared.measured[position] for position in found.kept]
    confirmed = place[cut] != prepared.measured[-1]
    kind: Kind = "step"
    return ChangePoint(
        index=place[cut],
        before=prepared.restore(row.average(start, cut)),
        after=prepared.restore(row.average(cut, end)),
        effect_ratio=prepared.ratio(step),
        effect_low=prepared.ratio(step - margin),
        effect_high=prepared.ratio(step + margin),
        noise_ratio=math.expm1(min(709.0, row.noise.scale)) if prepared.logarithmic else row.noise.scale,
        p=p,
        q=p,
        confidence=1 - p,
        kind=kind,
        possible=bound_place(row, place, start, cut, end),
        confirmed=confirmed,
        reason=explain(prepared, step, row.noise.scale, place, cut, end, confirmed),
    )


def bound_place(row: Row, place: list[int], start: int, cut: int, end: int) -> tuple[int, int]:
    """Return the first and last index that explain the data almost as well (3.84 in squared z: 95 %)."""
    gains = measure_gains(row, start, end)
    good = gains >= gains[cut - start - 1] - 3.84
    low = high = cut
    while low - 1 > start and good[low - start - 2]:
        low -= 1
    while high + 1 < end and good[high - start]:
        high += 1
    return place[low - 1] + 1, place[high]


def explain(
    prepared: Prepared, step: float, scale: float, place: list[int], cut: int, end: int, confirmed: bool
) -> str:
    """Return the finding in words."""
    labels, hosts = prepared.series.labels, prepared.series.hosts
    name = f"release {labels[place[cut]]}" if labels else f"release number {place[cut] + 1}"
    size = f"{100 * abs(prepared.ratio(step)):.1f} %"
    text = f"{'up' if step > 0 else 'down'} by {size} from {name}, {abs(step) / scale:.1f} times the noise of a release"
    text += f"; seen in {end - cut} releases" if confirmed and end - cut > 1 else ""
    text += "; only the newest release shows it yet" if not confirmed else ""
    if hosts and hosts[place[cut]] != hosts[place[cut - 1]]:
        text += f"; the host changed here too, from {hosts[place[cut - 1]]} to {hosts[place[cut]]}"
    return text


def find_changes(series: Sequence[SeriesInput], options: DetectOptions) -> list[list[ChangePoint]]:
    """Return the change points of each series of one family (see `baselines.changepoints.detect_many`)."""
    prepared = [prepare(one) for one in series]
    found = [describe(one, cut_series(one, options)) if one else [] for one in prepared]
    newest = [points[-1].p if points and not points[-1].confirmed else 1.0 for points in found]
    judged = adjust_p_values([p for p, one in zip(newest, prepared, strict=True) if one])
    adjusted = iter(judged)
    return [
        correct_newest(points, next(adjusted), options.false_discovery_ratio) if one else []
        for points, one in zip(found, prepared, strict=True)
    ]


def correct_newest(points: list[ChangePoint], q: float, false_discovery_ratio: float) -> list[ChangePoint]:
    """Return the points with the family's q on a shift that only the newest release shows, or without it."""
    if not points or points[-1].confirmed:
        return points
    kept = [replace(points[-1], q=q, confidence=1 - q)] if round(q, 9) <= false_discovery_ratio else []
    return points[:-1] + kept


def summarize(values: Values, options: DetectOptions) -> tuple[list[ChangePoint], float, float] | None:
    """Return change points, noise ratio and the step ratio detectable at the newest release; None for too few."""
    series = SeriesInput(values=values)
    prepared = prepare(series)
    if prepared is None:
        return None
    found = cut_series(prepared, options)
    row, count = found.row, len(found.kept)
    start = ([0, *[cut for cut in found.cuts if cut < count - 1]])[-1]
    _, error = measure_step(row, start, count - 1, count)
    # 0.84 is the normal quantile that makes four of five steps of that size pass the threshold.
    step = (find_threshold(count - 1, count, row.noise.df, options.false_alarm_ratio) + 0.84) * error
    return find_changes([series], options)[0], prepared.ratio(row.noise.scale), prepared.ratio(step)
