"""Two releases side by side: by how much they differ, how sure that is, and what it would take to be sure.

NumPy and SciPy are imported at the first comparison, not with this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from baselines.multiplicity import adjust_p_values
from baselines.series import check_repeats, check_values

if TYPE_CHECKING:
    from baselines.comparison.contrast import Contrast, Sides

Direction = Literal["higher", "lower", "neutral"]
"""Which way is better; `neutral` for metrics without a better side."""
Word = Literal["improved", "regressed", "changed", "same", "noisy", "too_few", "missing", "confounded"]
"""A verdict; `changed` stands for improved or regressed where the metric is neutral."""

DIRECTIONS = ("higher", "lower", "neutral")
MIN_REPEATS = 2
MOST_REPEATS = 100
"""More repeats than this per side are not suggested: then the noise between measurements decides, not repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What counts as different and what as the same."""

    false_alarm_ratio: float = 0.05
    """Chance that a comparison of equals says improved or regressed; over a family, the share of such calls."""
    min_effect_ratio: float = 0.01
    """A smaller difference is never called improved or regressed."""
    margin_ratio: float = 0.03
    """`same` needs the whole 95 % interval of the effect within plus or minus this."""

    def __post_init__(self) -> None:
        if not 0 < self.false_alarm_ratio < 1:
            raise ValueError(f"false_alarm_ratio: expected a number between 0 and 1, found {self.false_alarm_ratio!r}")
        for name in ("min_effect_ratio", "margin_ratio"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: expected a number from 0 up, found {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonInput:
    """One comparison of a family: the repeats of the reference and of the candidate, and what is known besides."""

    reference: Sequence[float]
    candidate: Sequence[float]
    direction: Direction
    confounded_by: str | None = None
    """What else differs between the two (`driver 570.1 and 580.2`), None where nothing does."""
    history: Sequence[Sequence[float]] = ()
    """Repeats of the releases before both, oldest first: they show how much repeats and releases differ anyway."""
    group: str | None = None
    """Siblings: series of one suite and metric, alike in noise."""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction: expected one of {', '.join(DIRECTIONS)}, found {self.direction!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison says. Numbers are None where too little was measured to have them."""

    verdict: Word
    effect_ratio: float | None
    """candidate / reference - 1; where values are not all positive, the difference over the reference."""
    low: float | None
    high: float | None
    """95 % interval of the effect ratio."""
    p: float | None
    q: float | None
    """p corrected for the other comparisons of the call; equal to p for a comparison made alone."""
    minimum_detectable_ratio: float | None
    """Difference that would be called with the present repeats in four of five cases."""
    repeats_needed: int | None
    """How many more repeats on each side would settle it if the effect stays as it is: 0 settled, None hopeless."""
    reason: str
    quality: str | None = None
    """Why a gain does not count: its answers became worse. None where nothing of that kind is known."""


def compare(
    reference: Sequence[float],
    candidate: Sequence[float],
    direction: Direction,
    options: CompareOptions = CompareOptions(),
    confounded_by: str | None = None,
    history: Sequence[Sequence[float]] = (),
) -> Comparison:
    """Return how the candidate's repeats differ from the reference's; ValueError where a repeat is malformed."""
    given = ComparisonInput(
        reference=reference, candidate=candidate, direction=direction, confounded_by=confounded_by, history=history
    )
    return compare_many([given], options)[0]


def compare_many(inputs: Sequence[ComparisonInput], options: CompareOptions = CompareOptions()) -> list[Comparison]:
    """Return the comparison of each input, in order; differences are called by their q over the whole call."""
    measured = [_measure(one, f"comparison {place}, " if len(inputs) > 1 else "") for place, one in enumerate(inputs)]
    sides = [one for one in measured if not isinstance(one, Comparison)]
    if not sides:
        return [one for one in measured if isinstance(one, Comparison)]
    from baselines.comparison.contrast import contrast_many

    judged = zip(inputs, measured, strict=True)
    groups = [given.group for given, one in judged if not isinstance(one, Comparison)]
    found = contrast_many(sides, groups)
    adjusted = iter(zip(found, adjust_p_values([one.p for one in found]), strict=True))
    return [
        one if isinstance(one, Comparison) else _describe(given, *next(adjusted), options)
        for given, one in zip(inputs, measured, strict=True)
    ]


def _measure(given: ComparisonInput, where: str) -> Sides | Comparison:
    """Return the repeats of the comparison, or the comparison itself where too little was measured."""
    reference = check_repeats(given.reference, f"{where}reference")
    candidate = check_repeats(given.candidate, f"{where}candidate")
    history = check_values(given.history, f"{where}history, ")
    if not reference or not candidate:
        return _end("missing", f"the {'candidate' if reference else 'reference'} was not measured")
    if min(len(reference), len(candidate)) < MIN_REPEATS:
        found = f"{len(reference)} of the reference and {len(candidate)} of the candidate"
        return _end("too_few", f"expected at least {MIN_REPEATS} repeats on each side, found {found}")
    from baselines.comparison.contrast import scale

    return scale(reference, candidate, [one for one in history if one])


def _end(verdict: Word, reason: str) -> Comparison:
    return Comparison(
        verdict=verdict,
        effect_ratio=None,
        low=None,
        high=None,
        p=None,
        q=None,
        minimum_detectable_ratio=None,
        repeats_needed=None,
        reason=reason,
    )


def _describe(given: ComparisonInput, found: Contrast, q: float, options: CompareOptions) -> Comparison:
    verdict = _judge(given, found, q, options)
    margin = found.margin(0.05)
    effect, low, high = (found.ratio(step) for step in (found.step, found.step - margin, found.step + margin))
    detectable = found.ratio(found.detectable(options.false_alarm_ratio))
    more = _count_needed(found, verdict, options)
    return Comparison(
        verdict=verdict,
        effect_ratio=effect,
        low=low,
        high=high,
        p=found.p,
        q=q,
        minimum_detectable_ratio=detectable,
        repeats_needed=more,
        reason=_explain(given, verdict, detectable, more, options),
    )


def _judge(given: ComparisonInput, found: Contrast, q: float, options: CompareOptions) -> Word:
    """Return the verdict: a proven difference first, then proven sameness, else noisy."""
    if given.confounded_by:
        return "confounded"
    if round(q, 9) <= options.false_alarm_ratio and abs(found.step) >= found.size(options.min_effect_ratio):
        return name_change(found.step, given.direction)
    return "same" if _is_same(found, options) else "noisy"


def _is_same(found: Contrast, options: CompareOptions) -> bool:
    return abs(found.step) + found.margin(0.05) <= found.size(options.margin_ratio)


def name_change(effect: float, direction: Direction) -> Word:
    """Return what a proven effect other than 0 is called for a metric of this direction."""
    if direction == "neutral":
        return "changed"
    return "improved" if (effect > 0) == (direction == "higher") else "regressed"


def _count_needed(found: Contrast, verdict: Word, options: CompareOptions) -> int | None:
    if verdict == "confounded":
        return None
    if verdict != "noisy":
        return 0
    for more in range(1, MOST_REPEATS + 1 - max(found.repeats)):
        then = found.with_more(more)
        proven = abs(then.step) >= max(then.margin(options.false_alarm_ratio), then.size(options.min_effect_ratio))
        if proven or _is_same(then, options):
            return more
    return None


def _explain(
    given: ComparisonInput, verdict: Word, detectable: float, more: int | None, options: CompareOptions
) -> str:
    if verdict == "confounded":
        return f"something else differs too: {given.confounded_by}"
    if verdict == "same":
        return f"the whole interval lies within {100 * options.margin_ratio:g} %"
    if verdict != "noisy":
        return "more than repeats and days differ anyway"
    cure = f"{more} more on each side would settle it" if more else "more repeats would not settle it"
    return f"only a difference of {100 * detectable:.1f} % or more would show through the noise; {cure}"
