"""Whether what a node wrote has arrived whole on a file system that both see, and how long that is waited for."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from jobs.executors._attempts import Attempt, read, write_once
from jobs.protocols import JobOutcome, JobState, JobStatus


def listing(attempt: Attempt) -> dict[str, object]:
    """Return size and hash of every output as they are here and now, by kind and name."""
    return {f"{o.kind}/{o.name}": {"size_bytes": o.size_bytes, "sha256": o.sha256} for o in attempt.outputs()}


def missing_files(attempt: Attempt) -> list[str]:
    """Return the outputs that are not here as the node listed them, `manifest.json` where there is no list yet."""
    os.listdir(attempt.folder)  # a shared file system looks anew at a folder that is read
    listed, here = read(attempt.file("manifest.json")), listing(attempt)
    if not listed:
        return ["manifest.json"]
    return sorted(name for name, facts in listed.items() if here.get(name) != facts)


@dataclass(slots=True, kw_only=True, eq=False)
class Arrival:
    """Patience with what should be here by now: an attempt is overdue once nothing was heard of it for `within_s`."""

    within_s: float
    _since: dict[str, tuple[float, object]] = field(default_factory=dict)
    """Key -> since when (monotonic) something is missing, and the sign of life then."""

    def forget(self, key: str) -> None:
        """Nothing is missing, or it is over."""
        self._since.pop(key, None)

    def is_overdue(self, attempt: Attempt) -> bool:
        """Return whether nothing has been heard of an attempt for so long that nothing will be."""
        sign = read(attempt.file("heartbeat.json"))
        now = time.monotonic()
        since, last_sign = self._since.get(attempt.key, (now, None))
        if attempt.key not in self._since or sign != last_sign:
            since = now
            self._since[attempt.key] = (since, sign)
        return now - since >= self.within_s

    def believed(self, attempt: Attempt, status: JobStatus) -> JobStatus:
        """Return the end as recorded once all files of a success are here; while they arrive, it is not over."""
        if status.outcome is not JobOutcome.OK:
            return status
        arrived = read(attempt.file("arrived.json"))
        if arrived is None:
            missing = missing_files(attempt)
            if missing and not self.is_overdue(attempt):
                return JobStatus(state=JobState.RUNNING, started_at=status.started_at)
            write_once(attempt.file("arrived.json"), {"missing": missing})
            arrived = read(attempt.file("arrived.json")) or {}
        lacking = arrived.get("missing")
        if not lacking:
            return status
        what = f"not all of its files arrived whole: {', '.join(map(str, lacking))}"
        return JobStatus(
            state=JobState.ENDED,
            outcome=JobOutcome.LOST,
            detail=what,
            started_at=status.started_at,
            ended_at=status.ended_at,
        )
