"""The daemon: a clock that calls the pipeline's steps. Durable work lives in the tables, not here."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from apscheduler.schedulers.background import BackgroundScheduler

from jobs.errors import JobsError
from tracker.app import App
from tracker.errors import TryLater
from tracker.logs import EventLog
from tracker.pipeline.analyze import analyze
from tracker.pipeline.deliver import deliver
from tracker.pipeline.execute import advance, count_in_hand, put_back, recover
from tracker.pipeline.hosts import look_at_others
from tracker.pipeline.ingest import ingest
from tracker.pipeline.notify import notify
from tracker.pipeline.plan import plan
from tracker.pipeline.release_notes import ask_for_notes
from tracker.pipeline.summarize import summarize
from tracker.pipeline.watch import ask_source, watch, watched_sources

log = EventLog(__name__)

LOOK_EVERY_S = 60.0
"""Between two looks at what is due; sources that are asked more often are looked at as often."""
HOSTS_EVERY_S = 30.0
"""Between two looks at hosts on other machines on which nothing runs."""
WORK_EVERY_S = 2.0
POLL_EVERY_S = 0.2
POLLS_A_JUDGEMENT = 10
"""Looks at running benchmarks between two looks at what they left."""
JUDGE_EVERY_S = 10.0
"""Between two looks at what people did meanwhile (triage, ingest), while nothing runs."""
STEPS_END_WITHIN_S = 4.0
"""So long a stop waits for steps in work, such as a look at a host that does not answer."""
CLOCK_LOOK_EVERY_S = 5.0
CLOCK_SET_S = 30.0
"""A clock that goes so far from the time that passes was set, by hand or after a sleep of the machine."""
REST_AFTER_ROUNDS = 3
"""Rounds of judging without news after which the statistics give their memory back."""


class Daemon:
    """Runs the steps of one service folder; only one daemon may have a folder at a time."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock: IO[str] | None = None
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._at_work: list[str] = []
        self._recovered = False
        self._quiet_rounds = 0
        self._troubles: dict[str, str] = {}
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )

    def start(self) -> None:
        """Take the folder and start the clock; TryLater when it is taken.

        What an earlier daemon left is picked up by the first `work`, so that no silent engine holds up the rest.
        """
        self._lock = take_folder(self._app.settings.home)
        self._every("look", min(LOOK_EVERY_S, self._app.settings.watch_every_s), self.look)
        if self._app.settings.release_notes:
            self._every("read_notes", LOOK_EVERY_S, self.read_notes)
        if len(self._app.places()) > 1:
            self._every("look_at_hosts", HOSTS_EVERY_S, self.look_at_hosts)
        self._every("work", WORK_EVERY_S, self.work)
        self._every("judge", JUDGE_EVERY_S, self.judge)
        self._scheduler.start()
        threading.Thread(target=self._mind_the_clock, daemon=True).start()
        log.info("daemon.started", home=self._app.settings.home, suites=",".join(self._app.settings.suites))

    def stop(self) -> bool:
        """Stop the clock, end running benchmarks and queue their runs again; return whether all ended in time.

        Where it did not, a step is left behind, or runs stay in hand for the next life. A second call does nothing.
        """
        if self._lock is None:
            return True
        self._stopping.set()
        with self._idle:  # the scheduler waits with its lock in hand, which a step in work may need
            log.info("daemon.stopping", at_work=",".join(self._at_work) or None)
            in_time = self._idle.wait_for(lambda: not self._at_work, STEPS_END_WITHIN_S)
            left = ",".join(self._at_work)
        if in_time:
            self._scheduler.shutdown(wait=True)
        else:
            log.warning("daemon.step_left_behind", steps=left, after_s=STEPS_END_WITHIN_S)
        back = put_back(self._app.context)
        in_hand = count_in_hand(self._app.context)
        self._lock.close()
        self._lock = None
        log.info("daemon.stopped", put_back=back, in_hand=in_hand)
        return in_time and not in_hand

    def look(self) -> None:
        """Ask the sources that are due and plan what is new."""
        for source in watched_sources(self._app.context):
            if self._stopping.is_set():
                return
            try:
                ask_source(self._app.context, source)
            except JobsError as error:
                log.warning("source.failed", source=source.shown, why=str(error))
        for suite in self._app.settings.suites:
            if self._stopping.is_set():
                return
            try:
                watch(self._app.context, suite)
                if plan(self._app.context, suite):
                    self._soon("work")
            except JobsError as error:
                log.warning("suite.left_out", suite=suite, why=str(error))

    def read_notes(self) -> None:
        """Ask for the release notes that are due; by itself, so that no release waits for them."""
        for entry in self._app.settings.release_notes:
            if self._stopping.is_set():
                return
            try:
                ask_for_notes(self._app.context, entry)
            except JobsError as error:
                log.warning("release_notes.failed", component=entry.component, why=str(error))

    def look_at_hosts(self) -> None:
        """Look at the other hosts; by itself, so that none that is away holds up what runs on the rest."""
        if look_at_others(self._app.context):
            self._soon("look")
        self._soon("work")

    def work(self) -> None:
        """Pick up what an earlier daemon left, the first time; then run benchmarks until none is left."""
        if not self._recovered:
            recover(self._app.context)
            self._recovered = True
        polls = 0
        while not self._stopping.is_set() and advance(self._app.context):
            polls += 1
            if polls % POLLS_A_JUDGEMENT == 0:
                self._soon("judge")
            self._stopping.wait(POLL_EVERY_S)
        if polls and not self._stopping.is_set():
            self._soon("judge")

    def judge(self) -> None:
        """Read what was measured, find what changed, and tell."""
        done = 0
        for step in (ingest, analyze, notify, summarize, deliver):
            if self._stopping.is_set():
                return
            done += step(self._app.context)
        self._quiet_rounds = 0 if done else self._quiet_rounds + 1
        if self._quiet_rounds == REST_AFTER_ROUNDS:
            self._app.statistics.rest()
            self._quiet_rounds = 0

    def _every(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self._scheduler.add_job(self._guarded, "interval", args=(name, call), seconds=seconds, id=name)
        self._soon(name)

    def _soon(self, name: str) -> None:
        self._scheduler.modify_job(name, next_run_time=datetime.now(UTC))  # the scheduler's own clock

    def _mind_the_clock(self) -> None:
        """Have every step called soon after the clock was set: set back, the scheduler would wait until it is there."""
        before = self._app.clock.now().timestamp() - time.monotonic()
        while not self._stopping.wait(CLOCK_LOOK_EVERY_S):
            now = self._app.clock.now().timestamp() - time.monotonic()
            if abs(now - before) > CLOCK_SET_S:
                log.warning("clock.set", by_s=round(now - before))
                for job in self._scheduler.get_jobs():
                    self._soon(job.id)
            before = now

    def _guarded(self, name: str, call: Callable[[], None]) -> None:
        """Call one step, and note while it is at work; do nothing once the daemon stops."""
        with self._idle:
            if self._stopping.is_set():
                return
            self._at_work.append(name)
        try:
            self._call(name, call)
        finally:
            with self._idle:
                self._at_work.remove(name)
                self._idle.notify_all()

    def _call(self, name: str, call: Callable[[], None]) -> None:
        """Call one step; what it raises is logged and the clock goes on, since the tables hold the work.

        A step that fails again in the same way is not logged again until it has worked once.
        """
        try:
            call()
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            if self._troubles.get(name) != told:
                expected = isinstance(error, TryLater | JobsError)
                log.error("step.busy" if expected else "step.failed", exc_info=not expected, step=name, why=told)
            self._troubles[name] = told
        else:
            self._troubles.pop(name, None)


def take_folder(home: Path) -> IO[str]:
    """Return the lock on a service folder, held until closed or until this process ends; TryLater when it is taken."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (home / "daemon.lock").open("a+", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise TryLater(
            f"another daemon (process {holder}) already runs on {home}; stop it first, or set another TRACKER_HOME"
        ) from None
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
