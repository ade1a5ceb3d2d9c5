"""Accepted changes ("the new normal"): the level starts afresh there, the noise is known from before.

The releases before an accepted change are moved by what it changed (as far as is found today, else as far as was
accepted), so that the whole series lies on the level of today: a return to the old level is then a change like any
other, and a release is judged by all the noise seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from baselines.detection.changepoints import ChangePoint, SeriesInput

NEAR = 2
"""A change found so many releases away from an accepted one, or that may lie there, is that one."""
MANY = 5
"""Releases of a level from which on its median stands for it; the mean of fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A series on the level after its accepted changes, and what takes it back."""

    series: SeriesInput
    kept: tuple[ChangePoint, ...]
    """The accepted changes, as they were found."""
    places: frozenset[int]
    offsets: tuple[float, ...]
    """What was added to each release's values, or to their logarithms."""
    logarithmic: bool


def restart_levels(series: Sequence[SeriesInput], found: Sequence[Sequence[ChangePoint]]) -> list[Restart]:
    """Return each series restarted at its accepted changes; `found` are the changes found without that."""
    return [_restart(one, points) for one, points in zip(series, found, strict=True)]


def _restart(series: SeriesInput, found: Sequence[ChangePoint]) -> Restart:
    centres = _find_centres(series)
    measured = [repeats for place, repeats in enumerate(series.values) if centres[place] is not None]
    logarithmic = all(value > 0 for repeats in measured for value in repeats)
    scaled = [None if one is None else math.log(one) if logarithmic else one for one in centres]
    matches = {place: _match(place, found) for place in sorted(series.accepted or ())}
    places = {one.index if one else place for place, one in matches.items()}
    edges = sorted({0, len(centres), *places, *(one.index for one in found)})
    shifts = {}
    for place, change in matches.items():
        if change is None:
            before, after = (series.accepted or {})[place]
            logs = logarithmic and before > 0 and after > 0
            shifts[place] = math.log(after / before) if logs else 0.0 if logarithmic else after - before
            continue
        before = _find_level(scaled[max(edge for edge in edges if edge < change.index) : change.index])
        after = _find_level(scaled[change.index : min(edge for edge in edges if edge > change.index)])
        shifts[change.index] = after - before
    offsets = tuple(sum(shift for at, shift in shifts.items() if at > place) for place in range(len(centres)))
    moved = [
        list(repeats)
        if not offset
        else [value * math.exp(offset) if logarithmic else value + offset for value in repeats]
        for repeats, offset in zip(series.values, offsets, strict=True)
    ]
    kept = {one.index: one for one in matches.values() if one is not None}
    return Restart(
        series=replace(series, values=moved, accepted=None),
        kept=tuple(kept.values()),
        places=frozenset(places),
        offsets=offsets,
        logarithmic=logarithmic,
    )


def _find_centres(series: SeriesInput) -> list[float | None]:
    """Return the median of each release's repeats, None where it was not measured or is excluded."""
    excluded = set(series.excluded or ())
    return [
        float(median(repeats)) if len(repeats) and place not in excluded else None
        for place, repeats in enumerate(series.values)
    ]


def _match(place: int, found: Iterable[ChangePoint]) -> ChangePoint | None:
    """Return the change found that is the accepted one at `place`, the nearest of several."""
    near = [one for one in found if abs(one.index - place) <= NEAR or one.possible[0] <= place <= one.possible[1]]
    return min(near, key=lambda one: abs(one.index - place), default=None)


def _find_level(scaled: Sequence[float | None]) -> float:
    """Return the level of releases of which at least one was measured."""
    values = [one for one in scaled if one is not None]
    return median(values) if len(values) >= MANY else fmean(values)


def take_back(restart: Restart, found: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Return the changes of a restarted series in the unit it was given in, the accepted ones with them."""

    def undo(level: float, place: int) -> float:
        offset = restart.offsets[place]
        return level / math.exp(offset) if restart.logarithmic else level - offset

    others = [
        replace(one, before=undo(one.before, one.index - 1), after=undo(one.after, one.index))
        for one in found
        if one.index not in restart.places
    ]
    return sorted([*others, *restart.kept], key=lambda one: one.index)
