"""Where a series changed its level: the public detector and the values it takes and returns.

NumPy and SciPy are imported at the first detection, not with this module.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from baselines.series import Values

Kind = Literal["step", "drift", "transient", "variance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectOptions:
    """How careful the detector is. The defaults serve releases with 1 to 10 repeats."""

    false_alarm_ratio: float = 0.05
    """Chance that a quiet series offers a change older than its newest two releases for the family to decide on."""
    min_effect_ratio: float = 0.01
    """Smaller steps are not reported: re-installing the same release moves a benchmark by up to 1 %."""
    false_discovery_ratio: float = 0.05
    """Share of false calls accepted among the changes of all series of one call, history and newest releases apart."""

    def __post_init__(self) -> None:
        for name in ("false_alarm_ratio", "false_discovery_ratio"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}: expected a number between 0 and 1, found {getattr(self, name)!r}")
        if not 0 <= self.min_effect_ratio < float("inf"):
            raise ValueError(f"min_effect_ratio: expected a number from 0 up, found {self.min_effect_ratio!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesInput:
    """One series of a family that is looked at together."""

    values: Values
    group: str | None = None
    """Siblings: series of one suite and machine, alike in noise and likely to change at the same release."""
    labels: Sequence[str] | None = None
    """One name per release, all different; siblings' news is pooled where the names of the release are the same."""
    hosts: Sequence[str] | None = None
    """Who measured each release; a step where the host changed for good is confounded with it."""
    environments: Sequence[str | None] | None = None
    """What each release was measured with besides itself (driver, CUDA, kernel), None where that is not known."""
    excluded: Collection[int] | None = None
    """Indices of releases to treat as not measured (known outliers); a mapping index -> why serves too."""

    accepted: Mapping[int, tuple[float, float]] | None = None
    """Changes accepted as the new normal: index -> level before and after. The level starts afresh, not the noise."""

    def __post_init__(self) -> None:
        for name in ("labels", "hosts", "environments"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.values):
                raise ValueError(f"{name}: expected one per release ({len(self.values)}), found {len(given)}")
        if self.labels is not None and len(set(self.labels)) != len(self.labels):
            twice = sorted({str(label) for label in self.labels if list(self.labels).count(label) > 1})
            raise ValueError(f"labels: expected all different, found twice: {', '.join(twice)}; merge their repeats")
        for name, indices in (("excluded", self.excluded), ("accepted", self.accepted)):
            for index in indices or ():
                if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.values):
                    raise ValueError(f"{name}: expected indices 0 to {len(self.values) - 1}, found {index!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One change of level. Indices count the releases as they were given, unmeasured ones included."""

    index: int
    """First measured release of the new level."""
    before: float
    after: float
    """Levels in the unit of the series: the weighted (geometric, where all values are positive) mean of releases."""
    effect_ratio: float
    """after / before - 1; where values are not all positive, the difference over the typical absolute value."""
    effect_low: float
    effect_high: float
    """95 % interval of the effect ratio."""
    noise_ratio: float
    """Standard deviation of one release's level, as a share of the level."""
    p: float
    """Two-sided; older changes are corrected for the number of places that could have shown one."""
    q: float
    """p corrected for the other series of the same call (Benjamini and Hochberg); drifts are a family of their own."""
    confidence: float
    """1 - q."""
    kind: Kind
    possible: tuple[int, int]
    """First and last index at which the change may lie (95 %), releases without measurements included."""
    confirmed: bool
    """False while only the newest release shows the new level."""
    reason: str
    confounded_by: str | None = None
    """What else changed exactly here, so that the step cannot be ascribed to the software; None where nothing did."""


def detect(values: Values, options: DetectOptions = DetectOptions()) -> list[ChangePoint]:
    """Return the changes of level of one series, oldest first; [] where there are none or too few releases."""
    return detect_many([SeriesInput(values=values)], options)[0]


def detect_many(
    series: Sequence[SeriesInput],
    options: DetectOptions = DetectOptions(),
) -> list[list[ChangePoint]]:
    """Return the changes of each series of one family, in the order given.

    One call is one family: over all its series the share of false calls is at most
    `options.false_discovery_ratio`, for older changes and for those at each of the newest two releases.
    """
    from baselines.detection.description import describe_family
    from baselines.detection.detector import find_family

    found = describe_family(series, find_family(series, options))
    if not any(one.accepted for one in series):
        return found
    from baselines.detection.accepted import restart_levels, take_back

    restarts = restart_levels(series, found)
    again = [one.series for one in restarts]
    described = describe_family(again, find_family(again, options))
    return [take_back(one, points) for one, points in zip(restarts, described, strict=True)]
