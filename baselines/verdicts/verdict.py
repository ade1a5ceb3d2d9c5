"""One word per series and release, from what the detector and a comparison found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from baselines.comparison.compare import DIRECTIONS, Comparison, Direction, Word, name_change
from baselines.detection.changepoints import ChangePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is said of one series at one release; numbers are None where there are none."""

    word: Word
    effect_ratio: float | None
    low: float | None
    high: float | None
    """95 % interval of the effect ratio."""
    source: Literal["change_point", "comparison"]
    reason: str


def judge(index: int, changes: Sequence[ChangePoint], comparison: Comparison, direction: Direction) -> Verdict:
    """Return the verdict of the release at `index`, for a metric of which `direction` is better.

    A comparison that cannot be trusted or made (`confounded`, `missing`), or a gain that lost its quality, decides
    first. Then a change point at the release: it rests on the whole history, so it outweighs the comparison of two
    releases. Then the comparison.
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction: expected one of {', '.join(DIRECTIONS)}, found {direction!r}")
    change = next((one for one in changes if one.index == index and one.kind in ("step", "drift")), None)
    if change is None or comparison.verdict in ("confounded", "missing") or comparison.quality is not None:
        return Verdict(
            word=comparison.verdict,
            effect_ratio=comparison.effect_ratio,
            low=comparison.low,
            high=comparison.high,
            source="comparison",
            reason=comparison.reason,
        )
    return Verdict(
        word=name_change(change.effect_ratio, direction),
        effect_ratio=change.effect_ratio,
        low=change.effect_low,
        high=change.effect_high,
        source="change_point",
        reason=change.reason,
    )
