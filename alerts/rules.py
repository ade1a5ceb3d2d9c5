"""Which changes people hear about, and where."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from alerts.wording import Change


class Subject(Protocol):
    """What a rule looks at: a change, or a series that was compared."""

    @property
    def component(self) -> str: ...
    @property
    def suite(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def gated(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Selects changes by globs (`*`, `?`, `[ab]`; upper and lower case differ) and names the sinks they go to."""

    name: str
    sinks: tuple[str, ...]
    component: str = "*"
    suite: str = "*"
    metric: str = "*"
    only_gated: bool = True
    min_effect_ratio: float = 0.0
    """Smaller changes stay silent; 0.03 is 3 %. A change from zero has no ratio and always passes."""
    changes: tuple[Change, ...] = (Change.REGRESSED, Change.IMPROVED)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a rule needs a name: it is part of every alert's key")
        if not self.sinks:
            raise ValueError(f"rule {self.name!r} names no sink, so nobody would hear of its alerts")
        if not self.changes:
            raise ValueError(f"rule {self.name!r} selects no kind of change; give at least one of {list(Change)}")
        if not 0 <= self.min_effect_ratio < 100:
            raise ValueError(
                f"rule {self.name!r}: min_effect_ratio must be 0 or more (0.03 is 3 %), found {self.min_effect_ratio}"
            )

    def covers(self, subject: Subject) -> bool:
        """Return whether the subject's names fit, whatever happened to it."""
        return (
            (subject.gated or not self.only_gated)
            and fnmatchcase(subject.component, self.component)
            and fnmatchcase(subject.suite, self.suite)
            and fnmatchcase(subject.metric, self.metric)
        )

    def accepts(self, change: Change, effect_ratio: float | None) -> bool:
        """Return whether a change of this kind and size is worth a message."""
        return change in self.changes and (effect_ratio is None or abs(effect_ratio) >= self.min_effect_ratio)
