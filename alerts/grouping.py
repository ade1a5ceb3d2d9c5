"""Many change points become few alerts: one for a rule, component, release, hardware class and direction."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from alerts.rules import Rule
from alerts.wording import Change, Direction, compare_word, count, format_effect, judge_change


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseName:
    """A release as it is stored and as people read it."""

    identity: str
    display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSeries:
    """One series that was measured at a release and judged, changed or not: the `of 3` in `2 of 3 series`."""

    component: str
    release: str
    """The release's identity."""
    hardware_class: str
    suite: str
    series_id: str
    metric: str
    gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFact:
    """One change of one series, all that a message says about it. Levels are in `unit`; 0.03 is 3 %."""

    change_id: str
    component: str
    release: ReleaseName
    hardware_class: str
    suite: str
    series_id: str
    series_name: str
    metric: str
    unit: str
    direction: Direction
    before: float
    after: float
    verdict: Change
    effect_ratio: float | None = None
    """after / before - 1, so a rise is above 0 whether that is good or bad; None for a change from zero."""
    effect_low: float | None = None
    effect_high: float | None = None
    p: float | None = None
    q: float | None = None
    confirmed: bool = True
    """False while only the newest release shows it."""
    kind: str = "step"
    gated: bool = True
    possible_from: str | None = None
    """First release the change can lie in, where releases just before `release` were not measured."""
    possible_to: str | None = None

    def __post_init__(self) -> None:
        numbers = (self.before, self.after, self.effect_ratio, self.effect_low, self.effect_high)
        if not all(math.isfinite(number) for number in numbers if number is not None):
            raise ValueError(f"a change must be finite, found {self.before} -> {self.after} in {self.series_name!r}")
        rise = self.effect_ratio if self.effect_ratio is not None else self.after - self.before
        if self.verdict is not judge_change(self.direction, rise):
            raise ValueError(
                f"{self.metric} ({self.direction} is better) with a change of {format_effect(rise)} "
                f"cannot have {self.verdict}, in {self.series_name!r}"
            )

    @property
    def size(self) -> float:
        """How large the change is, for ordering; a change from zero is the largest."""
        return math.inf if self.effect_ratio is None else abs(math.log1p(max(self.effect_ratio, -1 + 1e-12)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertGroup:
    """What people handle as one: the changes of one release on one hardware class in one direction."""

    rule: Rule
    component: str
    release: ReleaseName
    hardware_class: str
    change: Change
    facts: tuple[ChangeFact, ...]
    """The largest change first; never empty."""
    compared: int | None = None
    """How many series the rule looks at were compared at this release; None where that is not known."""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The natural key: rule, component, release identity, hardware class, kind of change."""
        return (self.rule.name, self.component, self.release.identity, self.hardware_class, self.change.value)

    @property
    def confirmed(self) -> bool:
        """Whether at least one change is seen beyond the newest release."""
        return any(fact.confirmed for fact in self.facts)

    @property
    def title(self) -> str:
        """`onnxruntime 1.28.0 is slower on Xeon`, without figures."""
        word = compare_word((fact.unit for fact in self.facts), self.change)
        return f"{self.component} {self.release.display} is {word} on {self.hardware_class}"

    @property
    def headline(self) -> str:
        """The title with how many series and the largest change."""
        first = self.facts[0]
        superlative = {Change.REGRESSED: "worst", Change.IMPROVED: "best", Change.CHANGED: "largest"}[self.change]
        name = f" ({first.series_name})" if first.series_name else ""
        return f"{self.title}: {self._extent()}, {superlative} {format_effect(first.effect_ratio)} {first.metric}{name}"

    def _extent(self) -> str:
        found = len({fact.series_id for fact in self.facts})
        if self.compared is None:
            return count(found, "series", "series")
        return f"{found} of {max(found, self.compared)} series"


def group_changes(
    facts: Iterable[ChangeFact], rules: Iterable[Rule], compared: Iterable[ComparedSeries] = ()
) -> list[AlertGroup]:
    """Return the alerts that the rules make of the changes, in the order of the rules, the largest change first.

    Changes that no rule selects make no alert; changes that two rules select are in both rules' alerts.
    """
    known_facts, known_series = list(facts), list(compared)
    groups: list[AlertGroup] = []
    for rule in rules:
        counts = _count_compared(rule, known_series)
        found = [_make_group(rule, same, counts) for same in _split_facts(rule, known_facts)]
        groups += sorted(found, key=lambda group: (-group.facts[0].size, group.key))
    return groups


def _split_facts(rule: Rule, facts: list[ChangeFact]) -> list[list[ChangeFact]]:
    """Return the facts that the rule selects, those of one alert together."""
    split: dict[tuple[str, ...], list[ChangeFact]] = defaultdict(list)
    for fact in facts:
        if rule.covers(fact) and rule.accepts(fact.verdict, fact.effect_ratio):
            split[(fact.component, fact.release.identity, fact.hardware_class, fact.verdict.value)].append(fact)
    return list(split.values())


def _make_group(rule: Rule, facts: list[ChangeFact], counts: dict[tuple[str, str, str], int]) -> AlertGroup:
    ordered = sorted(facts, key=lambda fact: (-fact.size, fact.series_name, fact.metric, fact.change_id))
    first = ordered[0]
    return AlertGroup(
        rule=rule,
        component=first.component,
        release=first.release,
        hardware_class=first.hardware_class,
        change=first.verdict,
        facts=tuple(ordered),
        compared=counts.get((first.component, first.release.identity, first.hardware_class)),
    )


def _count_compared(rule: Rule, compared: list[ComparedSeries]) -> dict[tuple[str, str, str], int]:
    """Return the number of different series the rule looks at, for each component, release and hardware class."""
    series: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for one in compared:
        if rule.covers(one):
            series[(one.component, one.release, one.hardware_class)].add(one.series_id)
    return {key: len(ids) for key, ids in series.items()}
