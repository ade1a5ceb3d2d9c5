"""Cutting a row of release centres into levels. Loaded at the first detection; the one module that knows ruptures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ruptures
from numpy.typing import NDArray
from scipy import special

from baselines.noise import Noise

Floats = NDArray[np.float64]

BLOCK = 1000
"""Longest row handed to ruptures at once: its time grows with the square where nothing changes."""
EDGE_SHARE = 4
"""Of the false alarm budget, one part in so many is spent at each of the newest two releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Centres of the measured releases with their noise, cut by sums of weights for quick segment means."""

    centres: Floats
    noise: Noise
    weight_sums: Floats
    value_sums: Floats

    def weigh(self, start: int, end: int) -> float:
        return float(self.weight_sums[end] - self.weight_sums[start])

    def average(self, start: int, end: int) -> float:
        return float((self.value_sums[end] - self.value_sums[start]) / self.weigh(start, end))


def build_row(centres: Floats, noise: Noise) -> Row:
    """Return the row of these centres."""
    weights = noise.weights
    return Row(
        centres=centres,
        noise=noise,
        weight_sums=np.concatenate([[0.0], np.cumsum(weights)]),
        value_sums=np.concatenate([[0.0], np.cumsum(weights * centres)]),
    )


def count_places(cut: int, count: int) -> float:
    """Return by how much the p value at `cut` is multiplied: 1 at the newest release, else the places looked at."""
    if cut == count - 1:
        return 1.0
    return 1.0 if cut == count - 2 else max(1.0, (count - 1) ** 1.1 / EDGE_SHARE)


def find_threshold(cut: int, count: int, df: float, false_alarm_ratio: float) -> float:
    """Return the |t| that a change at `cut` must exceed."""
    tail = false_alarm_ratio / EDGE_SHARE / count_places(cut, count)
    return float(-special.stdtrit(df, tail / 2))


def measure_step(row: Row, start: int, cut: int, end: int) -> tuple[float, float]:
    """Return the step at `cut` between the levels on its two sides, and its standard error."""
    step = row.average(cut, end) - row.average(start, cut)
    return step, row.noise.scale * float(np.sqrt(1 / row.weigh(start, cut) + 1 / row.weigh(cut, end)))


def propose_cuts(row: Row, false_alarm_ratio: float) -> list[int]:
    """Return candidate cuts, more than will stand: ruptures' kernel method with the lowest penalty of any place."""
    count = len(row.centres)
    lowest = min(find_threshold(cut, count, row.noise.df, false_alarm_ratio) for cut in (1, count - 1))
    scaled = (row.centres - np.median(row.centres)) / row.noise.scale
    cuts: list[int] = []
    for start in range(0, count, BLOCK):
        block = scaled[start : start + BLOCK].reshape(-1, 1)
        if len(block) > 1:
            search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(block)
            cuts += [start + int(cut) for cut in search.predict(pen=0.8 * lowest**2)]
        else:
            cuts.append(count)
    return [cut for cut in cuts if cut < count]


def place_cuts(row: Row, cuts: list[int]) -> list[int]:
    """Return the cuts, each moved to where it explains most between its neighbours; the earliest of equals."""
    bounds = [0, *cuts, len(row.centres)]
    for position in range(1, len(bounds) - 1):
        gains = measure_gains(row, bounds[position - 1], bounds[position + 1])
        bounds[position] = bounds[position - 1] + 1 + int(np.argmax(gains))
    return bounds[1:-1]


def measure_gains(row: Row, start: int, end: int) -> Floats:
    """Return for each cut strictly between start and end the squared z of a step there, rounded for equal ties."""
    left = row.weight_sums[start + 1 : end] - row.weight_sums[start]
    right = row.weight_sums[end] - row.weight_sums[start + 1 : end]
    low = (row.value_sums[start + 1 : end] - row.value_sums[start]) / left
    high = (row.value_sums[end] - row.value_sums[start + 1 : end]) / right
    return np.asarray(np.round((high - low) ** 2 * left * right / (left + right) / row.noise.scale**2, 7))


def drop_weak_cuts(row: Row, cuts: list[int], false_alarm_ratio: float, min_step: float) -> list[int]:
    """Return the cuts that pass their test next to the others that do: the weakest goes first."""
    count = len(row.centres)
    thresholds = {cut: find_threshold(cut, count, row.noise.df, false_alarm_ratio) for cut in cuts}
    bounds = [0, *cuts, count]

    def rate(place: int) -> float:
        step, error = measure_step(row, *bounds[place - 1 : place + 2])
        strength = abs(step) / error / thresholds[bounds[place]]
        return round(min(strength, abs(step) / min_step) if min_step else strength, 7)

    strengths = [rate(place) for place in range(1, len(bounds) - 1)]
    while strengths and (weakest := min(strengths)) < 1:
        place = strengths.index(weakest)
        del bounds[place + 1], strengths[place]
        for neighbour in range(max(place - 1, 0), min(place + 1, len(strengths))):
            strengths[neighbour] = rate(neighbour + 1)
    return bounds[1:-1]


def find_cuts(row: Row, false_alarm_ratio: float, min_step: float) -> list[int]:
    """Return the first position of each new level."""
    cuts = propose_cuts(row, false_alarm_ratio)
    cuts = drop_weak_cuts(row, cuts, false_alarm_ratio, min_step)
    return drop_weak_cuts(row, place_cuts(row, cuts), false_alarm_ratio, min_step)
