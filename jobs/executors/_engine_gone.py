"""Attempts whose engine is not in the settings any more: nobody can ask it, so they end; their carriers are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import UserError
from jobs.executors._attempts import Attempt, check_key, read
from jobs.protocols import JobOutcome, JobOutput, JobSpec, JobState, JobStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneEngine:
    """See `jobs.protocols.Executor`. A carrier that still lives ends its container and tells of it in the folder."""

    folder: Path

    def start(self, job: JobSpec) -> None:
        raise UserError(f"job {job.key}: the host it was claimed for is no longer in the settings")

    def poll(self, key: str) -> JobStatus:
        attempt = self._attempt(key)
        if status := attempt.status():
            return status
        order = read(attempt.file("job.json"))
        if order is None:
            return JobStatus(state=JobState.UNKNOWN)
        self.cancel(key)
        host = str(order.get("host") or "where it ran")
        what = f"host {host} is no longer in the settings, so nobody can follow it; what carries it was told to end it"
        return JobStatus(state=JobState.ENDED, outcome=JobOutcome.LOST, detail=what, started_at=attempt.started_at())

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        attempt = self._attempt(key)
        if attempt.folder.is_dir() and attempt.status() is None:
            attempt.file("cancel").touch()

    def abandon(self, key: str) -> None:
        self.cancel(key)

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        return ()

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)
