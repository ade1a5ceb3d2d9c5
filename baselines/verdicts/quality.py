"""Quality gates speed: a gain whose answers became worse is no gain.

Accuracy (GSM8K, exact match ...) is a metric like any other, with a reference and a tolerance: what the same config had
at the reference release, and what its neighbours have, which differ in parallelism alone. A config below either by more
than the tolerance has lost its quality, and nothing about it is then called improved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from baselines.comparison.compare import Comparison

TOLERANCE = 0.02
"""How far accuracy, a share from 0 to 1, may lie below its reference: about two standard errors of 1,300 questions."""
LEAST_NEIGHBOURS = 2
"""With fewer nobody can say which of the two is odd."""
PREFIX = "quality regression"

Outcome = Literal["kept", "lost", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReference:
    """What accuracy should be, and where that is from: `1.1.0`, `3 neighbours`."""

    value: float
    whence: str
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        for name, value in (("value", self.value), ("tolerance", self.tolerance)):
            if not 0 <= value <= 1:
                raise ValueError(
                    f"quality reference {self.whence!r}: {name}: expected a share from 0 to 1, found {value!r}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What became of a config's accuracy; `reason` says against what."""

    outcome: Outcome
    value: float | None
    reason: str


def judge_quality(accuracies: Sequence[float], references: Sequence[QualityReference]) -> Quality:
    """Return whether accuracy (the median of its repeats) is within tolerance of every reference."""
    wrong = [value for value in accuracies if not 0 <= value <= 1]
    if wrong:
        raise ValueError(f"accuracies: expected shares from 0 to 1, found {wrong[0]!r}")
    if not accuracies:
        return Quality(outcome="unknown", value=None, reason="accuracy was not measured")
    value = median(accuracies)
    if not references:
        return Quality(outcome="unknown", value=value, reason="there is nothing to compare accuracy with")
    for one in references:
        # 1e-9: a value exactly at the edge is inside, however its difference is rounded
        if value < one.value - one.tolerance - 1e-9:
            reason = f"accuracy {value:.4g} where {one.whence} had {one.value:.4g} (tolerance {one.tolerance:.3g})"
            return Quality(outcome="lost", value=value, reason=reason)
    return Quality(outcome="kept", value=value, reason=f"accuracy {value:.4g} is within tolerance")


def neighbour_reference(
    neighbours: Mapping[str, Sequence[float]], tolerance: float = TOLERANCE
) -> QualityReference | None:
    """Return the median of what neighbours reach, None with too few of them to tell who is odd."""
    levels = [median(values) for values in neighbours.values() if values]
    if len(levels) < LEAST_NEIGHBOURS:
        return None
    return QualityReference(value=median(levels), whence=f"{len(levels)} neighbours", tolerance=tolerance)


def gate(comparison: Comparison, quality: Quality | None) -> Comparison:
    """Return the comparison, an improvement whose quality is lost as a quality regression; all else unchanged."""
    if quality is None or quality.outcome != "lost" or comparison.verdict not in ("improved", "changed"):
        return comparison
    return replace(comparison, verdict="regressed", quality=quality.reason, reason=f"{PREFIX}: {quality.reason}")
