"""One release against another: what was measured, what changed, and whether it may go to production."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerts.grouping import ReleaseName
from alerts.wording import Change, Direction, compare_word, count, format_effect, join_names


class RowVerdict(StrEnum):
    """What became of one series; everything from `noisy` on is no answer."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    CHANGED = "changed"
    SAME = "same"
    NOISY = "noisy"
    TOO_FEW = "too_few"
    CONFOUNDED = "confounded"
    MISSING = "missing"

    @property
    def words(self) -> str:
        """The verdict inside a sentence: `2 too noisy to judge`."""
        return _VERDICT_WORDS[self]


_VERDICT_WORDS = {
    RowVerdict.REGRESSED: "regressed",
    RowVerdict.IMPROVED: "improved",
    RowVerdict.CHANGED: "changed",
    RowVerdict.SAME: "unchanged",
    RowVerdict.NOISY: "too noisy to judge",
    RowVerdict.TOO_FEW: "with too few runs",
    RowVerdict.CONFOUNDED: "measured in another environment",
    RowVerdict.MISSING: "missing",
}
NO_ANSWER = (RowVerdict.MISSING, RowVerdict.TOO_FEW, RowVerdict.NOISY, RowVerdict.CONFOUNDED)


class Answer(StrEnum):
    """May the release go to production, by these measurements?"""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One series at both releases; a level is None where it was not measured."""

    series_id: str
    series_name: str
    suite: str
    hardware_class: str
    metric: str
    unit: str
    direction: Direction
    verdict: RowVerdict
    gated: bool = True
    before: float | None = None
    after: float | None = None
    effect_ratio: float | None = None
    """after / before - 1: a rise is above 0 whether that is good or bad."""
    effect_low: float | None = None
    effect_high: float | None = None
    reason: str = ""
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        absent = self.before is None or self.after is None
        if absent and self.verdict not in NO_ANSWER:
            raise ValueError(f"{self.series_name!r} {self.metric}: {self.verdict} needs both levels, one is missing")
        judged = self.verdict in (RowVerdict.REGRESSED, RowVerdict.IMPROVED)
        if judged and self.direction is Direction.NEUTRAL:
            raise ValueError(f"{self.series_name!r} {self.metric}: a neutral metric cannot have {self.verdict}")

    @property
    def size(self) -> float:
        """How large the change is, for ordering."""
        return 0.0 if self.effect_ratio is None else abs(math.log1p(max(self.effect_ratio, -1 + 1e-12)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanChange:
    """Geometric mean of after / before over the comparable series of one metric on one hardware class."""

    hardware_class: str
    metric: str
    direction: Direction
    effect_ratio: float
    series: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSummary:
    """All that was found for one release; made by `build_summary`."""

    component: str
    release: ReleaseName
    against: ReleaseName | None
    rows: tuple[SummaryRow, ...]
    """Gated first, in the order of `RowVerdict`, the largest change first."""
    means: tuple[MeanChange, ...] = ()
    flags: tuple[str, ...] = ()
    measured_from: datetime | None = None
    measured_to: datetime | None = None
    standing: str = ""
    """Why nothing of it is measured, where that is known: `2 of 5 runs are finished`."""

    @property
    def hardware_classes(self) -> tuple[str, ...]:
        return tuple(sorted({row.hardware_class for row in self.rows}))

    @property
    def suites(self) -> tuple[str, ...]:
        return tuple(sorted({row.suite for row in self.rows}))

    @property
    def gated(self) -> tuple[SummaryRow, ...]:
        """The rows that decide; counts and neutral figures are not among them."""
        return tuple(row for row in self.rows if row.gated)

    def count_verdicts(self, *, gated: bool = True) -> dict[RowVerdict, int]:
        """Return verdict -> number of series, those that occur, in the order of `RowVerdict`."""
        found = Counter(row.verdict for row in (self.gated if gated else self.rows))
        return {verdict: found[verdict] for verdict in RowVerdict if found[verdict]}

    @property
    def answer(self) -> Answer:
        """`yes` only where every gated series was measured, judged and did not regress."""
        counts = self.count_verdicts()
        if counts.get(RowVerdict.REGRESSED):
            return Answer.NO
        if self.against is None or not counts or any(verdict in counts for verdict in NO_ANSWER):
            return Answer.UNCLEAR
        return Answer.YES

    @property
    def sentence(self) -> str:
        """The answer in plain words, with its evidence."""
        name = f"{self.component} {self.release.display}"
        if not self.rows or all(row.after is None for row in self.rows):
            why = f": {self.standing}" if self.standing else ""
            return f"No answer: {name} has not been measured{why}{self._word_expected()}."
        if self.against is None:
            return f"No answer: {name} was measured, but there is no earlier release to compare it with."
        if not self.gated:
            return f"No answer: {name} was measured, but none of its series is gated."
        words = {Answer.NO: self._word_no, Answer.YES: self._word_yes, Answer.UNCLEAR: self._word_unclear}
        return words[self.answer](self.against.display)

    def _word_expected(self) -> str:
        return f" ({count(len(self.rows), 'series is', 'series are')} expected)" if self.rows else ""

    def _word_no(self, against: str) -> str:
        worse = [row for row in self.gated if row.verdict is RowVerdict.REGRESSED]
        word = compare_word((row.unit for row in worse), Change.REGRESSED)
        worst = f"worst {format_effect(worse[0].effect_ratio)} {worse[0].metric}, {worse[0].series_name}"
        return (
            f"{self.release.display} is {word} than {against}: "
            f"{len(worse)} of {count(len(self.gated), 'gated series', 'gated series')} regressed ({worst})"
            f"{self._word_rest((RowVerdict.IMPROVED, *NO_ANSWER))}."
        )

    def _word_yes(self, against: str) -> str:
        return (
            f"{self.release.display} may go to production by these measurements: none of "
            f"{count(len(self.gated), 'gated series', 'gated series')} regressed against {against}"
            f"{self._word_rest((RowVerdict.IMPROVED, RowVerdict.CHANGED))}."
        )

    def _word_unclear(self, against: str) -> str:
        judged = sum(row.verdict not in NO_ANSWER for row in self.gated)
        start = f"none of the {judged} judged series regressed" if judged else "no series could be judged"
        return (
            f"{self.release.display} is not cleared for production: against {against} {start}, but of "
            f"{count(len(self.gated), 'gated series', 'gated series')}{self._word_rest(NO_ANSWER, ' ')}."
        )

    def _word_rest(self, verdicts: tuple[RowVerdict, ...], lead: str = "; ") -> str:
        counts = self.count_verdicts()
        parts = [f"{counts[verdict]} {verdict.words}" for verdict in verdicts if verdict in counts]
        return lead + join_names(parts, len(parts)) if parts else ""


def build_summary(
    component: str,
    release: ReleaseName,
    against: ReleaseName | None,
    rows: Iterable[SummaryRow],
    *,
    flags: Iterable[str] = (),
    measured_from: datetime | None = None,
    measured_to: datetime | None = None,
) -> ReleaseSummary:
    """Return the summary; `rows` must hold the expected series that were not measured, too, as `missing`."""
    order = list(RowVerdict)
    ordered = sorted(
        rows,
        key=lambda row: (not row.gated, order.index(row.verdict), -row.size, row.hardware_class, row.series_name),
    )
    return ReleaseSummary(
        component=component,
        release=release,
        against=against,
        rows=tuple(ordered),
        means=tuple(_mean_changes(ordered)),
        flags=tuple(flags),
        measured_from=measured_from,
        measured_to=measured_to,
    )


def _mean_changes(rows: Iterable[SummaryRow]) -> list[MeanChange]:
    """Return the mean changes of metrics with a direction, over rows whose two levels may be compared."""
    logs: dict[tuple[str, str, Direction], list[float]] = defaultdict(list)
    for row in rows:
        comparable = row.verdict not in (RowVerdict.MISSING, RowVerdict.CONFOUNDED, RowVerdict.TOO_FEW)
        before, after = row.before or 0.0, row.after or 0.0
        if comparable and row.direction is not Direction.NEUTRAL and before > 0 and after > 0:
            logs[(row.hardware_class, row.metric, row.direction)].append(math.log(after / before))
    return [
        MeanChange(
            hardware_class=hardware,
            metric=metric,
            direction=direction,
            effect_ratio=math.expm1(math.fsum(found) / len(found)),
            series=len(found),
        )
        for (hardware, metric, direction), found in sorted(logs.items())
    ]
