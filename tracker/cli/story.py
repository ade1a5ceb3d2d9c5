"""What there is to tell while the first set of runs is measured: from looking for releases to the first result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from jobs.suite import Suite, load_suite
from tracker.app import App
from tracker.cli.estimate import FirstSet, Pace, planned_runs
from tracker.cli.output import format_duration
from tracker.cli.results import lay_out_results
from tracker.pipeline.hosts import standstill
from tracker.pipeline.plan import fit_places
from tracker.pipeline.watch import RETRY_AFTER, source_of
from tracker.store import catalog, series
from tracker.store.views.overview import SourceView, list_sources
from tracker.store.views.runs import RunItem
from tracker.store.views.sightings import look_at_running

LOOK_S = 1.0
LOOK_LATER_S = 5.0
PLANNED_WITHIN_LOOKS = 10


class Story:
    """Tells each thing once: `say` prints a line that stays, `show` the line that is kept up to date."""

    def __init__(self, app: App, *, say: Callable[[str], None], show: Callable[[str], None]) -> None:
        self._app, self._say, self._show = app, say, show
        self._suites = [load_suite(app.find_suite(name)) for name in app.settings.suites]
        self._told: set[str] = set()
        self._pace = Pace()
        self._looks = 0
        self._finished = False
        self._waited = False
        self._since = app.clock.now()

    def go_on(self) -> float:
        """Tell what is new; return the seconds until it is worth looking again."""
        if not self._suites:
            known = "`tracker suites list` shows them"
            self._once(f"no suite is set up: nothing is measured (set `suites`, or give --suite; {known})")
            return LOOK_LATER_S
        answered = [suite for suite in self._suites if self._tell_source(suite)]
        if not answered:
            return LOOK_S
        with self._app.store.read() as session:
            planned = [planned_runs(session, suite.component, suite.name) for suite in answered]
            unread = bool(series.dirty_series(session))
        first = FirstSet.of([run for runs in planned for run in runs])
        if self._finished:
            self._go_on_in_background(answered, first, unread=unread)
            return LOOK_LATER_S
        self._tell_failures(first)
        if first.total == 0:
            return self._tell_nothing(answered)
        if first.left or unread:
            self._show(self._tell_progress(first))
            return LOOK_S
        self._finished = True
        self._tell_result(answered, first)
        return LOOK_S

    def _go_on_in_background(self, suites: Sequence[Suite], first: FirstSet, *, unread: bool) -> None:
        """Show what is measured after the first set, and the result again once all of that is read."""
        for run in first.failed_besides:
            if run.finished_at and run.finished_at >= self._since:
                self._once(f"{run.component} {run.release.display} failed: {run.reason}")
        self._show(_tell_background(first, self._host_obstacle()))
        if self._waited and not first.waiting and not unread:
            self._tell_table(suites, first)
        self._waited = bool(first.waiting) or (self._waited and unread)

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(text)

    def _tell_source(self, suite: Suite) -> bool:
        """Say what became of looking for releases; return whether some are known."""
        name = source_of(suite).name
        places, problem = fit_places(self._app.context, suite)
        if not places:
            self._once(f"{suite.name}: {problem}; its runs wait for a host that fits")
        with self._app.store.read() as session:
            source = next((one for one in list_sources(session) if one.source == name), None)
            component = catalog.known_component(session, suite.component)
            known = len(catalog.ordered_releases(session, component)) if component else 0
        if source is not None and source.problem:
            self._tell_unreachable(suite, source)
        if known:
            self._once(f"found {known} releases of {suite.component}")
        elif source is not None and source.answered_at:
            left_out = "`tracker releases check` says which tags it left out and why"
            self._once(f"the source of {suite.component} answered, but lists no release that can be read; {left_out}")
        else:
            self._once(f"looking for releases of {suite.component} ...")
        return known > 0

    def _tell_unreachable(self, suite: Suite, source: SourceView) -> None:
        again = ""
        if source.asked_at:
            at = source.asked_at + min(RETRY_AFTER, timedelta(seconds=self._app.settings.watch_every_s))
            again = f" The next try is at {at:%H:%M} UTC; `tracker releases check` tries at once."
        self._once(f"looking for releases of {suite.component} failed: {source.problem}.{again}")
        self._once("Recorded results can be shown without a network: make demo")

    def _tell_nothing(self, suites: Sequence[Suite]) -> float:
        self._looks += 1
        if self._looks == PLANNED_WITHIN_LOOKS:
            for suite in suites:
                wanted = suite.releases.versions or "any"
                self._once(f"{suite.name}: none of the known releases can be measured here (versions {wanted})")
        return LOOK_S

    def _tell_failures(self, first: FirstSet) -> None:
        for run in first.runs:
            if run.state == "failed":
                self._once(f"{run.component} {run.release.display} failed: {run.reason}")
            elif run.state == "queued" and run.not_before and run.reason:
                self._once(f"{run.component} {run.release.display}, repeat {run.repeat}: {run.reason}")

    def _tell_progress(self, first: FirstSet) -> str:
        estimates = {suite.name: suite.run.estimate_s for suite in self._suites}
        self._pace.see(first, self._app.clock.now())
        left_s = self._pace.estimate_s(first, estimates)
        parts = [f"{first.total - first.left} of {first.total} runs"]
        if first.running and (unseen := self._out_of_sight()):
            parts.append(unseen)
        elif run := first.running:
            parts.append(_tell_run(run))
        elif first.at_work:
            parts.append(_tell_run(first.at_work))
        elif first.left and (why := self._host_obstacle()):
            parts.append(f"nothing starts: {why}")
        if first.failed:
            parts.append(f"{first.failed} failed")
        if first.left == 0:
            parts.append("reading the results")
        elif left_s is not None:
            parts.append(f"about {format_duration(max(1.0, left_s))} left")
        return " · ".join(parts)

    def _out_of_sight(self) -> str:
        """Return which running runs are not seen now, and why; empty where all are."""
        now = self._app.clock.now()
        with self._app.store.read() as session:
            return look_at_running(session, now=now).words(now)

    def _host_obstacle(self) -> str | None:
        """Return why no host that the suites are measured on starts anything now; None where one does."""
        return standstill(self._app.context, [suite.run.executor for suite in self._suites])

    def _tell_table(self, suites: Sequence[Suite], first: FirstSet) -> None:
        for suite in suites:
            for text in lay_out_results(self._app, suite.component, suite.name, first.settled):
                self._say(text)

    def _tell_result(self, suites: Sequence[Suite], first: FirstSet) -> None:
        self._show("")
        self._tell_table(suites, first)
        for run in {(run.suite, run.release.display): run for run in first.runs if run.state == "failed"}.values():
            again = f"tracker runs trigger {run.suite} {run.release.display}"
            self._say(f"once what failed at {run.release.display} is put right, measure it again with `{again}`")
        self._say(f"pages: {self._app.settings.link_base}/")
        if first.waiting:
            self._say("further releases are measured in the background; Ctrl-C ends")
            return
        older = f"tracker runs trigger {suites[0].name} RELEASE"
        self._say(f"new releases are measured as they appear, older ones with `{older}`; Ctrl-C ends")


def _tell_run(run: RunItem) -> str:
    """Return which run is under way, and what it is doing before it measures, such as pulling its image."""
    which = f"{run.component} {run.release.display} (run {run.repeat})"
    return f"{which}: {run.reason}" if run.reason else f"measuring {which}"


def _tell_background(first: FirstSet, why: str | None) -> str:
    """Return where the background work stands; empty when nothing waits."""
    if not first.waiting:
        return ""
    running = f": {_tell_run(first.at_work)}" if first.at_work else ""
    if why and not first.at_work:
        return f"nothing starts: {why} · {first.waiting} runs wait"
    return f"in the background{running} · {first.waiting} runs wait"
