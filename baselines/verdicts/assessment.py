"""What can be said of a whole series, in one word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from baselines.detection.changepoints import DetectOptions
from baselines.series import Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """State of a series: `changed` somewhere, `stable`, too `noisy` to say so, `wandering`, or `too_few` releases."""

    verdict: Literal["too_few", "noisy", "wandering", "stable", "changed"]
    noise_ratio: float | None
    """Standard deviation of one release's level as a share of the level; None where there are too few releases."""
    detectable_ratio: float | None
    """Smallest step that would be seen at once at the newest release, in four of five cases."""
    reason: str


NOISY_RATIO = 0.10
"""A series in which a step of 10 % at the newest release would be missed is called noisy, not stable."""


def assess(values: Values, options: DetectOptions = DetectOptions()) -> Assessment:  # noqa: B008
    """Return what can be said of the series; ValueError where it is malformed."""
    from baselines.detection.description import summarize
    from baselines.detection.detector import MIN_RELEASES

    summary = summarize(values, options)
    if summary is None:
        return Assessment(
            verdict="too_few",
            noise_ratio=None,
            detectable_ratio=None,
            reason=f"fewer than {MIN_RELEASES} measured releases",
        )
    points, noise, detectable, wanders = summary
    facts = f"a release varies by {100 * noise:.1f} %, a step of {100 * detectable:.1f} % would be seen at once"
    if points:
        verdict: Literal["noisy", "wandering", "stable", "changed"] = "changed"
        facts = f"{len(points)} change{'s' if len(points) > 1 else ''}, the last: {points[-1].reason}; {facts}"
    elif wanders:
        verdict = "wandering"
        facts = f"each release starts from the one before, there are no levels to change between; {facts}"
    else:
        verdict = "noisy" if detectable > NOISY_RATIO else "stable"
    return Assessment(verdict=verdict, noise_ratio=noise, detectable_ratio=detectable, reason=facts)
