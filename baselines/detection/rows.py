"""The releases of a whole family laid one after another: what is computed once per release, computed for all at once.

Loaded at the first detection (NumPy). A family of thousands of series is handled without a loop over them: `starts`
says where each series begins, `owner` whose release it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from baselines.detection.changepoints import SeriesInput
from baselines.series import Values, check_values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DECIMALS = 10
"""Digits kept of scaled values, so that another unit or another computer, which change the last bits, decide alike."""
_LISTS: set[type] = {list, tuple}
_NUMBERS: set[type] = {float, int, np.float64}
FARTHEST = 1e4
"""Where logarithms cannot be taken, values beyond so many times the typical one count as that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Measured releases of all series, on the scale where a step of level is a sum: logarithms, or shares."""

    starts: Ints
    """Place of each series' first release, and the end: one more than there are series."""
    owner: Ints
    """Series of each release."""
    given: Ints
    """Index of each release among those given for its series."""
    repeats: Ints
    values: Floats
    """All repeats, release after release, ascending within one."""
    logarithmic: Bools
    unit: Floats
    """What scaled value 0 (logarithmic: its logarithm) or 1 (else) is in the unit of the series."""

    @property
    def lengths(self) -> Ints:
        """Measured releases of each series."""
        return np.diff(self.starts)

    def restore(self, series: Ints, scaled: Floats) -> Floats:
        """Return scaled levels of these series in their own units."""
        unit = self.unit[series]
        logarithmic = self.logarithmic[series]
        return np.where(logarithmic, np.exp(np.minimum(scaled + np.where(logarithmic, unit, 0), 709)), scaled * unit)

    def ratio(self, series: Ints, step: Floats) -> Floats:
        """Return scaled steps as effects: 0.03 is 3 %."""
        return np.where(self.logarithmic[series], np.expm1(np.minimum(step, 709)), step)

    def scale(self, ratio: float) -> Floats:
        """Return a ratio on the scale of each series."""
        return np.where(self.logarithmic, np.log1p(ratio), ratio)


def read_rows(family: Sequence[SeriesInput]) -> Rows:
    """Return the family laid out; ValueError says which series, release and repeat is malformed."""
    flat, count, lengths = flatten_plain(family) or flatten_checked(family)
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    owner = np.repeat(np.arange(len(family)), lengths)
    given = np.arange(len(owner)) - begin[owner]
    kept = count > 0
    for place, one in enumerate(family):
        if one.excluded:
            kept[begin[place] + list(one.excluded)] = False
    raw = flat if np.all(kept) else flat[np.repeat(kept, count)]
    owner, given, repeats = owner[kept], given[kept], count[kept]
    if np.any(repeats > 1):
        raw = sort_within(raw, repeats)
    values, logarithmic, unit = rescale(raw, np.repeat(owner, repeats), len(family))
    return Rows(
        starts=np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(family)))]).astype(np.int64),
        owner=owner,
        given=given,
        repeats=repeats,
        values=values,
        logarithmic=logarithmic,
        unit=unit,
    )


def flatten_plain(family: Sequence[SeriesInput]) -> tuple[Floats, Ints, Ints] | None:
    """Return all repeats in order, the repeats of each release, and the releases of each series.

    None where anything is not a list of lists of plain finite numbers: `flatten_checked` says what is wrong with it.
    """
    if not {type(one.values) for one in family} <= _LISTS:
        return None
    releases = list(chain.from_iterable(one.values for one in family))
    if not set(map(type, releases)) <= _LISTS:
        return None
    numbers = list(chain.from_iterable(releases))
    if not set(map(type, numbers)) <= _NUMBERS:
        return None
    try:
        flat = np.array(numbers, dtype=np.float64)
    except OverflowError:
        return None
    if not np.all(np.isfinite(flat)):
        return None
    count = np.fromiter(map(len, releases), np.int64, len(releases))
    return flat, count, np.array([len(one.values) for one in family], dtype=np.int64)


def flatten_checked(family: Sequence[SeriesInput]) -> tuple[Floats, Ints, Ints]:
    """Return what `flatten_plain` does, of whatever is numbers; ValueError says where something is not."""
    parts = [flatten(one.values, f"series {n}, " if len(family) > 1 else "") for n, one in enumerate(family)]
    flat = np.concatenate([np.zeros(0), *(one for one, _ in parts)])
    count = np.concatenate([np.zeros(0, np.int64), *(one for _, one in parts)]).astype(np.int64)
    return flat, count, np.array([len(one) for _, one in parts], dtype=np.int64)


def flatten(values: Values, where: str) -> tuple[Floats, Ints]:
    """Return the repeats of one series in order and the number of repeats of each release."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "fiu":
        flat, count = values.astype(np.float64).ravel(), np.full(len(values), values.shape[1])
        if np.all(np.isfinite(flat)):
            return flat, count
    checked = check_values(values, where)
    return np.array(list(chain.from_iterable(checked)), dtype=np.float64), np.array(list(map(len, checked)), np.int64)


def rescale(raw: Floats, owner: Ints, count: int) -> tuple[Floats, Bools, Floats]:
    """Return scaled values, whether they are logarithms, and the unit of each series."""
    lowest = np.full(count, np.inf)
    np.minimum.at(lowest, owner, raw)
    logarithmic = lowest > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled: Floats = np.where(logarithmic[owner], np.log(raw), raw)
    unit: Floats = np.zeros(count)
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    first = np.minimum(ends[:-1], max(len(raw) - 1, 0))
    if len(raw):
        unit = np.where(logarithmic, scaled[first], 1.0)
    for series in np.flatnonzero(~logarithmic & (np.diff(ends) > 0)):
        sizes = np.abs(raw[ends[series] : ends[series + 1]])
        unit[series] = 2 * float(np.median(sizes / 2)) or float(np.max(sizes)) or 1.0
    if np.all(logarithmic):
        return np.round(scaled - unit[owner], DECIMALS).astype(np.float64), logarithmic, unit
    with np.errstate(over="ignore", invalid="ignore"):
        shares = np.clip(scaled / unit[owner], -FARTHEST, FARTHEST)
        values = np.where(logarithmic[owner], scaled - unit[owner], shares)
    return np.round(values, DECIMALS).astype(np.float64), logarithmic, unit


def sort_within(values: Floats, sizes: Ints) -> Floats:
    """Return the values ascending within each run of so many: by blocks of one size, which is faster than by keys."""
    begin = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    ordered = np.empty_like(values)
    for size in np.unique(sizes):
        places = begin[sizes == size][:, None] + np.arange(size)
        ordered[places] = np.sort(values[places], axis=1)
    return ordered


def pick(starts: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Return the places of the releases of the chosen series, and the starts these have when laid out alone."""
    lengths = np.diff(starts)[chosen]
    fresh = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(starts[chosen] - fresh[:-1], lengths) + np.arange(fresh[-1]), fresh


def sum_up(columns: Floats, starts: Ints) -> Floats:
    """Return running sums from 0 within each series, one column more per series than releases.

    `columns` has one row per quantity. Each series is summed by itself, so a huge value in one cannot cost another
    its digits. Neighbours of equal length are summed together: rows are laid out by length.
    """
    lengths = np.diff(starts)
    total = np.zeros((len(columns), columns.shape[1] + len(lengths)))
    turns = np.concatenate([[0], np.flatnonzero(np.diff(lengths)) + 1, [len(lengths)]])
    for first, end in pairwise(turns.tolist()):
        if first < end:
            shape = (len(columns), end - first, int(lengths[first]))
            block = columns[:, starts[first] : starts[end]].reshape(shape)
            room = total[:, starts[first] + first : starts[end] + end].reshape(*shape[:2], shape[2] + 1)
            np.cumsum(block, axis=2, out=room[:, :, 1:])
    return total


def take_series(rows: Rows, chosen: Ints) -> Rows:
    """Return the rows of the chosen series alone."""
    if np.array_equal(chosen, np.arange(len(rows.lengths))):
        return rows
    places, starts = pick(rows.starts, chosen)
    ends = np.concatenate([[0], np.cumsum(rows.repeats)])
    inside, _ = pick(ends, places)
    return Rows(
        starts=starts,
        owner=np.repeat(np.arange(len(chosen)), np.diff(starts)),
        given=rows.given[places],
        repeats=rows.repeats[places],
        values=rows.values[inside],
        logarithmic=rows.logarithmic[chosen],
        unit=rows.unit[chosen],
    )
