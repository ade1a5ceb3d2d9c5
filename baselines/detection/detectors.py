"""Detectors by name, to be compared on a history of one's own: repeats of releases in, changes out.

`tracker` is the product's own; the others are what people use elsewhere. ruptures does the search of two of them.
NumPy, SciPy and ruptures are imported at the first detection, not with this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

from baselines.detection.changepoints import ChangePoint, detect
from baselines.series import Values, check_values

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Detector = Callable[[Values], list[ChangePoint]]

KERNEL_PENALTY = 8.0
PELT_PENALTY = 12.0
"""Penalty of a cut in squared standard deviations, times log(releases): quiet enough on series without a change."""
T_TEST_P = 0.001
"""Largest p that the windowed-test tools accept by default."""
LEAST_SCALE = 1e-4
"""No benchmark repeats to better than 0.01 %."""


def find_detector(name: str) -> Detector:
    """Return the detector of this name; ValueError with the known ones for any other."""
    if name not in DETECTORS:
        raise ValueError(f"unknown detector {name!r}; known: {', '.join(DETECTORS)}")
    return DETECTORS[name]


def _by_kernel(values: Values) -> list[ChangePoint]:
    def search(scaled: NDArray[float64], penalty: float) -> list[int]:
        import ruptures

        return list(ruptures.KernelCPD(kernel="linear", min_size=2).fit(scaled).predict(pen=penalty))

    return _search(values, search, KERNEL_PENALTY, least=5)


def _by_pelt(values: Values) -> list[ChangePoint]:
    def search(scaled: NDArray[float64], penalty: float) -> list[int]:
        import ruptures

        return list(ruptures.Pelt(model="l2", min_size=1, jump=1).fit(scaled).predict(pen=penalty))

    return _search(values, search, PELT_PENALTY, least=3)


def _search(
    values: Values, search: Callable[[NDArray[float64], float], list[int]], factor: float, least: int
) -> list[ChangePoint]:
    """Return what a penalized search finds on levels that were brought to noise 1."""
    import numpy as np

    row = _Row(values)
    count = len(row.levels)
    if count < least:
        return []
    scaled = (np.array(row.levels) - median(row.levels)) / _scale_of(row.levels)
    cuts = search(scaled.reshape(-1, 1), factor * math.log(count))
    return row.describe([int(cut) for cut in cuts if 0 < cut < count])


def _by_t_test(values: Values) -> list[ChangePoint]:
    """Return the steps that a pooled t test accepts: the strongest first, then inside both sides of it."""
    row = _Row(values)
    found: list[int] = []
    parts = [(0, len(row.levels))]
    while parts:
        start, end = parts.pop()
        cut = _strongest_cut(row.levels[start:end])
        if cut is not None:
            found.append(start + cut)
            parts += [(start, start + cut), (start + cut, end)]
    return row.describe(sorted(found))


def _strongest_cut(levels: Sequence[float]) -> int | None:
    """Return the cut with the largest t, None where its p is too large or there are fewer than four releases."""
    import numpy as np
    from scipy import special

    count = len(levels)
    if count < 4:
        return None
    centred = np.array(levels) - fmean(levels)
    left = np.arange(1, count)
    sums = np.cumsum(centred)[:-1]
    between = sums**2 * count / (left * (count - left))
    within = np.maximum(np.sum(centred**2) - between, count * LEAST_SCALE**2)
    squares = np.round(between / within * (count - 2), 9)
    cut = int(np.argmax(squares))
    p = 2 * float(special.stdtr(count - 2, -math.sqrt(float(squares[cut]))))
    return cut + 1 if p < T_TEST_P else None


def _scale_of(levels: Sequence[float]) -> float:
    """Return the standard deviation of a level, from the middle of the differences between neighbours."""
    steps = [after - before for before, after in pairwise(levels)]
    middle = median(steps)
    spread = median(abs(step - middle) for step in steps) * 1.4826 / math.sqrt(2)
    return max(spread, LEAST_SCALE)


class _Row:
    """Medians of the measured releases: logarithms, or shares of the typical size where one is not positive."""

    def __init__(self, values: Values) -> None:
        checked = check_values(values)
        self.places = [place for place, repeats in enumerate(checked) if repeats]
        medians = [median(checked[place]) for place in self.places]
        self.logarithmic = all(value > 0 for value in medians)
        self.unit = 1.0
        if not self.logarithmic:
            self.unit = median(map(abs, medians)) or max(map(abs, medians)) or 1.0
        scaled = [math.log(value) if self.logarithmic else value / self.unit for value in medians]
        self.levels = [round(value, 10) for value in scaled]

    def describe(self, cuts: Sequence[int]) -> list[ChangePoint]:
        """Return the change points of cuts among the measured releases, oldest first."""
        bounds = [0, *cuts, len(self.levels)]
        return [self._describe(*bounds[place : place + 3]) for place in range(len(cuts))]

    def _describe(self, start: int, cut: int, end: int) -> ChangePoint:
        sides = (self.levels[start:cut], self.levels[cut:end])
        before, after = map(fmean, sides)
        step = after - before
        free = max(1, end - start - 2)
        spread = sum(sum((value - fmean(side)) ** 2 for value in side) for side in sides) / free
        scale = max(math.sqrt(spread), LEAST_SCALE if end - start > 2 else _scale_of(self.levels))
        error = scale * math.sqrt(1 / len(sides[0]) + 1 / len(sides[1]))
        p, margin = _test(step / error, free)
        index = self.places[cut]
        size = f"{'up' if step > 0 else 'down'} by {100 * abs(self._ratio(step)):.1f} %"
        return ChangePoint(
            index=index,
            before=self._restore(before),
            after=self._restore(after),
            effect_ratio=self._ratio(step),
            effect_low=self._ratio(step - margin * error),
            effect_high=self._ratio(step + margin * error),
            noise_ratio=scale,
            p=p,
            q=p,
            confidence=1 - p,
            kind="step",
            possible=(self.places[cut - 1] + 1, index),
            confirmed=end - cut > 1 or end < len(self.levels),
            reason=f"{size} from release number {index + 1}; p is not corrected for the places looked at",
        )

    def _restore(self, level: float) -> float:
        return math.exp(min(709.0, level)) if self.logarithmic else level * self.unit

    def _ratio(self, step: float) -> float:
        return math.expm1(min(709.0, step)) if self.logarithmic else step


def _test(t: float, free: int) -> tuple[float, float]:
    """Return the two-sided p of a t value, and the t of a 95 % interval."""
    from scipy import special

    return 2 * float(special.stdtr(free, -abs(t))), float(special.stdtrit(free, 0.975))


DETECTORS: dict[str, Detector] = {
    "tracker": detect,
    "ruptures-kernel": _by_kernel,
    "ruptures-pelt": _by_pelt,
    "otava-like-t-test": _by_t_test,
}
"""Name -> detector."""
