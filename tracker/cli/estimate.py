"""How far the first set of runs is, and how long the rest of it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import mean

from tracker.cli.names import collect
from tracker.pipeline.plan import PRIORITY_FIRST
from tracker.store.engine import Session
from tracker.store.runs import FINAL_STATES
from tracker.store.views.runs import RunItem, list_runs


def planned_runs(session: Session, component: str, suite: str) -> list[RunItem]:
    """Return the runs of a suite, newest first: planned ones, and those that somebody asked for."""
    runs = collect(list_runs, session, component=component)
    return [run for run in runs if run.suite == suite]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSet:
    """The planned runs that come before all others that are planned, and how many more there are."""

    runs: tuple[RunItem, ...]
    waiting: int
    """Runs of lower priority, and those asked for, that are not final."""
    failed_besides: tuple[RunItem, ...]
    """Those of these that failed."""
    settled: frozenset[str]
    """The releases none of whose runs goes on or waits: a value of any other is not judged yet."""
    at_work: RunItem | None
    """What runs now, of whatever priority."""

    @classmethod
    def of(cls, planned: Sequence[RunItem]) -> FirstSet:
        """Return the first set among the planned runs."""
        return cls(
            runs=tuple(run for run in planned if _is_first(run)),
            waiting=sum(not _is_first(run) and run.state not in FINAL_STATES for run in planned),
            failed_besides=tuple(run for run in planned if not _is_first(run) and run.state == "failed"),
            settled=frozenset(run.release.identity for run in planned)
            - {run.release.identity for run in planned if run.state not in FINAL_STATES},
            at_work=next((run for run in planned if run.state == "running"), None),
        )

    @property
    def total(self) -> int:
        return len(self.runs)

    @property
    def open(self) -> tuple[RunItem, ...]:
        """The runs that are not final."""
        return tuple(run for run in self.runs if run.state not in FINAL_STATES)

    @property
    def left(self) -> int:
        return len(self.open)

    @property
    def failed(self) -> int:
        return sum(run.state == "failed" for run in self.runs)

    @property
    def running(self) -> RunItem | None:
        return next((run for run in self.runs if run.state == "running"), None)

    @property
    def releases(self) -> set[str]:
        """The releases that the set measures."""
        return {run.release.identity for run in self.runs}

    def is_measured(self, run: RunItem) -> bool:
        """Return whether a run's release has a final run already, so that its environment is there."""
        return any(
            one.state in FINAL_STATES and one.release == run.release and one.suite == run.suite for one in self.runs
        )


def _is_first(run: RunItem) -> bool:
    return run.requested_by is None and run.priority >= PRIORITY_FIRST


@dataclass(slots=True)
class Pace:
    """How long runs take, as seen from outside: set-up included, which only a release's first run needs."""

    _since: dict[str, datetime] = field(default_factory=dict)
    """Run -> when it was first seen running."""
    _with_setup: set[str] = field(default_factory=set)
    _setup_s: list[float] = field(default_factory=list)
    _again_s: list[float] = field(default_factory=list)

    def see(self, first: FirstSet, now: datetime) -> None:
        """Take note of what runs and what has ended."""
        for run in first.runs:
            if run.state == "running" and run.id not in self._since:
                self._since[run.id] = now
                if not first.is_measured(run):
                    self._with_setup.add(run.id)
            elif run.state in ("measured", "done") and run.id in self._since:
                took = self._setup_s if run.id in self._with_setup else self._again_s
                took.append((now - self._since.pop(run.id)).total_seconds())

    def estimate_s(self, first: FirstSet, estimates: Mapping[str, float | None]) -> float | None:
        """Return the seconds that the open runs may take; None where nothing is known to go by.

        `estimates` holds what each suite says of one process, used until runs of that kind have ended.
        """
        total_s = 0.0
        prepared: set[tuple[str, object]] = set()
        for run in first.open:
            needs_setup = not first.is_measured(run) and (run.suite, run.release) not in prepared
            prepared.add((run.suite, run.release))
            seen = self._setup_s if needs_setup else self._again_s
            one_s = mean(seen) if seen else estimates.get(run.suite)
            if one_s is None:
                return None
            total_s += one_s
        return total_s
