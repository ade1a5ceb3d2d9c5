"""Watching a container that runs until it has ended, within its limits of time, output and disk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.executors._attempts import read
from jobs.executors._attempts import replace as replace_file
from jobs.executors._commands import Ended, folder_bytes, last_line, size_text
from jobs.executors._engine_container import ROOT
from jobs.executors._engine_logs import LogFollower
from jobs.executors._engine_record import with_gpus_inside
from jobs.executors._engine_results import Left, judge, take_out
from jobs.executors._engine_setup import Site, ran_s
from jobs.executors._processes import identify
from jobs.protocols import JobOutcome

_LOOK_EVERY_S = 2.0
_LOOK_AGAIN_S = 0.25
_LISTEN_EVERY_S = 0.1
_LOOK_AT_DISK_EVERY_S = 2.0
_FULL_BELOW_BYTES = 256 * 1024**2
_ENDED = ("exited", "dead")
_HALF_ENDED = "stopped"
"""Podman's state of a container whose process is gone and whose exit code is about to be written down."""
_HALF_ENDED_LOOKS = 40
_ENDS_WITHIN_S = 60.0


@dataclass(slots=True, kw_only=True)
class Watch:
    """One container under observation."""

    site: Site
    log: LogFollower
    _next_disk_look: float = 0.0
    _half_ended: int = 0

    def until_it_ends(self) -> dict[str, Any]:
        """Return the engine's facts of the container once it has ended; raise Ended where it is to be ended."""
        ask = self.site.patience.ask
        while True:
            self.site.patience.check()
            found = ask(lambda: self.site.engine.inspect(self.site.name))
            if found is None:
                raise Ended(JobOutcome.LOST, f"its container {self.site.name} was removed by somebody else")
            status = str(_state(found).get("Status"))
            self._half_ended += status == _HALF_ENDED
            if status in _ENDED or self._half_ended > _HALF_ENDED_LOOKS:
                return found
            self.log.follow()
            self._rest(found)

    def _rest(self, found: Mapping[str, Any]) -> None:
        """Wait for the next look, at once where the log has come to its end; every look disturbs what is measured."""
        since = time.monotonic()
        while (waited_s := time.monotonic() - since) < _LOOK_EVERY_S:
            self.site.patience.check()
            self._check_limits(found)
            if waited_s >= _LOOK_AGAIN_S and not self.log.is_open:
                return
            time.sleep(_LISTEN_EVERY_S)

    def _check_limits(self, found: Mapping[str, Any]) -> None:
        job = self.site.job
        if ran_s(self.site.attempt) > job.timeout_s:
            raise Ended(JobOutcome.TIMEOUT, f"over the time limit of {job.timeout_s:g} s")
        if self.log.flooded.is_set():
            raise Ended(JobOutcome.TOOL_FAILED, f"more than {size_text(job.output_limit_bytes)} of output")
        if time.monotonic() > self._next_disk_look:
            self._next_disk_look = time.monotonic() + _LOOK_AT_DISK_EVERY_S
            self._check_disk(found)

    def _check_disk(self, found: Mapping[str, Any]) -> None:
        """Look at what the container wrote into its working folder, and at the disk, where these can be seen."""
        volume = _volume(found) if self.site.options.is_here else None
        if volume is None:
            return
        limit = self.site.options.work_limit_bytes
        if folder_bytes(volume, limit_bytes=limit) > limit:
            raise Ended(JobOutcome.TOOL_FAILED, f"more than {size_text(limit)} of files in its working folder")
        if (free := shutil.disk_usage(volume).free) < _FULL_BELOW_BYTES:
            raise Ended(JobOutcome.INFRA_FAILED, f"the disk is full: {size_text(free)} left in {volume}")


def follow(site: Site, *, grace_s: int) -> Ended:
    """Return how a container ended, by itself or ended here; what it left is then in the attempt's folder."""
    site.patience.was_away = False
    watch = Watch(site=site, log=_log(site))
    stopped: Ended | None = None
    try:
        found = watch.until_it_ends()
    except Ended as ended:
        if ended.outcome in (JobOutcome.CANCELLED, JobOutcome.LOST):
            raise
        stopped = ended
        found = _stop(site, grace_s)
    flooded = watch.log.flooded.is_set()
    left = site.patience.ask(lambda: take_out(site.engine, site.name, site.attempt, site.job, flooded=flooded))
    if left.seen:
        record = read(site.attempt.file("environment.json")) or {}
        replace_file(site.attempt.file("environment.json"), with_gpus_inside(record, left.seen))
    if stopped is not None:
        detail = stopped.detail
        if stopped.outcome is JobOutcome.TIMEOUT:
            said = last_line(site.attempt.file("run.log"))
            detail += f"; it printed last: {said}" if said else "; it had printed nothing"
        return Ended(stopped.outcome, detail, _state(found).get("ExitCode"))
    return judge_run(site, found, left)


def judge_run(site: Site, found: Mapping[str, Any], left: Left) -> Ended:
    """Return the outcome; a container that ended with its engine or its machine says nothing about the release."""
    ended = judge(site.attempt, site.job, _state(found), left)
    if ended.outcome is not JobOutcome.TOOL_FAILED:
        return ended
    boot = (read(site.attempt.file("running.json")) or {}).get("boot")
    if site.options.is_here and boot != identify(os.getpid()).get("boot"):
        return Ended(JobOutcome.LOST, f"the machine was restarted during the run ({ended.detail})", ended.exit_code)
    if site.patience.was_away:
        what = f"the engine was away during the run, and the container ended meanwhile ({ended.detail})"
        return Ended(JobOutcome.LOST, what, ended.exit_code)
    return ended


def _stop(site: Site, grace_s: int) -> dict[str, Any]:
    """End the container; return its facts once it has."""
    site.patience.ask(lambda: site.engine.stop(site.name, grace_s))
    until = time.monotonic() + _ENDS_WITHIN_S
    while True:
        found = site.patience.ask(lambda: site.engine.inspect(site.name))
        if found is None:
            raise Ended(JobOutcome.LOST, f"its container {site.name} was removed by somebody else")
        if str(_state(found).get("Status")) in _ENDED or time.monotonic() > until:
            return found
        time.sleep(_LOOK_AGAIN_S)


def _log(site: Site) -> LogFollower:
    return LogFollower(
        open_log=lambda: site.engine.log(site.name, follow=True),
        path=site.attempt.file("run.log"),
        limit_bytes=site.job.output_limit_bytes,
    )


def _state(found: Mapping[str, Any]) -> dict[str, Any]:
    state = found.get("State")
    return state if isinstance(state, dict) else {}


def _volume(found: Mapping[str, Any]) -> Path | None:
    """Return where the container's own volume lies; None where that cannot be looked into."""
    for mount in found.get("Mounts") or ():
        if mount.get("Destination") == ROOT and os.access(str(mount.get("Source")), os.R_OK | os.X_OK):
            return Path(str(mount["Source"]))
    return None
