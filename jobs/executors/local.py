"""Runs attempts on this machine, each under a supervisor process of its own that outlives its caller."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.executors._attempts import Attempt, check_job, check_key, job_to_json, open_attempts, read, write_once
from jobs.executors._attempts import replace as replace_file
from jobs.executors._environments import find_uv
from jobs.executors._options import check_names, number
from jobs.executors._processes import carrier_variables, end_marked, identify, is_alive, send
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobSpec, JobState, JobStatus

__all__ = ["create", "find_uv"]

_OPTIONS = ("uv", "index_url", "work_limit_bytes")
_CANCEL_WITHIN_S = 8.0


def create(options: Mapping[str, object], *, folder: Path, cache: Path) -> Executor:
    """Return the executor that keeps its attempts in `folder`, environments and assets in `cache`.

    Options: `uv` (its path; empty makes environments with venv and pip), `index_url` (the package index; empty leaves
    it to uv and pip, a function is asked at the first start), `work_limit_bytes` (room for a program's own files).
    """
    check_names("local", options, _OPTIONS)
    uv, index_url = options.get("uv", find_uv() or ""), options.get("index_url", "")
    if not isinstance(uv, str) or not (isinstance(index_url, str) or callable(index_url)):
        raise UserError(f"executor local: uv and index_url must be text, found {uv!r} and {index_url!r}")
    work_limit_bytes = number("local", options, "work_limit_bytes", 2 * 1024**3, low=1024)
    return LocalExecutor(
        folder=folder.resolve(),
        cache=cache.resolve(),
        uv=uv or None,
        find_index=index_url if callable(index_url) else lambda: str(index_url),
        work_limit_bytes=int(work_limit_bytes),
    )


@contextmanager
def _shortage(attempt: Attempt) -> Iterator[None]:
    """Turn a machine without room on its disk, memory or processes into TryLater."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM}:
            raise TryLater(f"{attempt.folder}: {error.strerror}; free some and try again") from error
        raise


@dataclass(slots=True, kw_only=True, eq=False)
class LocalExecutor:
    """See `jobs.protocols.Executor`. All it knows is in its folder, so any process may ask or take over."""

    folder: Path
    cache: Path
    uv: str | None
    find_index: Callable[[], str]
    work_limit_bytes: int
    _children: set[int] = field(default_factory=set)
    """Supervisors started here, to be reaped."""

    def start(self, job: JobSpec) -> None:
        check_job(job)
        self._reap()
        attempt = self._attempt(job.key)
        if attempt.file("claimed.json").exists():
            return
        with _shortage(attempt):
            attempt.folder.mkdir(parents=True, exist_ok=True)
            write_once(attempt.file("job.json"), self._order(job))
            child = self._launch(attempt)
            self._children.add(child)
            replace_file(attempt.file("launched.json"), identify(child))

    def poll(self, key: str) -> JobStatus:
        self._reap()
        attempt = self._attempt(key)
        if status := attempt.status():
            return status
        owner = read(attempt.file("claimed.json"))
        if owner is None:
            launched = read(attempt.file("launched.json"))
            if launched is not None and is_alive(launched):
                return JobStatus(state=JobState.PREPARING)
            owner = read(attempt.file("claimed.json"))
            if owner is None:
                return JobStatus(state=JobState.UNKNOWN)
        if "pid" in owner and is_alive(owner):
            started_at = attempt.started_at()
            return JobStatus(state=JobState.RUNNING if started_at else JobState.PREPARING, started_at=started_at)
        return self._settle(attempt, JobOutcome.LOST, "its supervisor is gone (killed, or the machine restarted)")

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.CANCELLED, CALLED_OFF)

    def abandon(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.LOST, "abandoned before it was started")

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        ended = []
        for attempt in open_attempts(self.folder, "local"):
            if attempt.key not in alive:
                self._end(attempt, JobOutcome.CANCELLED, "ended by a sweep: no run asks for it any more")
                ended.append(attempt.key)
        return tuple(ended)

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)

    def _order(self, job: JobSpec) -> dict[str, object]:
        """Return all that a supervisor needs to know; paths are made absolute, as it runs in another folder."""
        assets = tuple(replace(asset, maker=str(Path(asset.maker).absolute())) for asset in job.assets)
        program = Path(job.program)
        named = str(program.absolute()) if program.suffix == ".py" or program.name != job.program else job.program
        return {
            "job": job_to_json(replace(job, program=named, assets=assets)),
            "cache": str(self.cache),
            "uv": self.uv,
            "work_limit_bytes": self.work_limit_bytes,
        }

    def _launch(self, attempt: Attempt) -> int:
        """Return the number of a new supervisor process."""
        log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-S", "-P", "-m", "jobs.executors._supervisor", str(attempt.folder)],
            carrier_variables(self.find_index()),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(attempt.file("supervisor.log")), log, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsigmask=(),
        )

    def _reap(self) -> None:
        """Collect supervisors that have ended, so that none stays as a zombie."""
        for child in tuple(self._children):
            try:
                gone, _ = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                gone = child
            if gone:
                self._children.discard(child)

    def _end(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> None:
        """Make sure that the attempt has ended: never starts, stops now, or has stopped before."""
        if attempt.status() is not None:
            return
        with _shortage(attempt):
            if attempt.claim({"nobody": detail}):
                attempt.finish(outcome, detail, at=datetime.now(UTC))
                return
            attempt.file("cancel").touch()
        owner = read(attempt.file("claimed.json")) or {}
        if "pid" in owner:
            send(owner, signal.SIGTERM)
            deadline = time.monotonic() + _CANCEL_WITHIN_S
            while attempt.status() is None and is_alive(owner) and time.monotonic() < deadline:
                time.sleep(0.02)
            send(owner, signal.SIGKILL)
        self._reap()
        self._settle(attempt, outcome, detail)

    def _settle(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> JobStatus:
        """Return the recorded end of an attempt that nobody carries any more, after ending what is left of it."""
        if status := attempt.status():
            return status
        session = (read(attempt.file("session.json")) or {}).get("session")
        if not end_marked(attempt.folder, session):
            raise TryLater(f"processes of attempt {attempt.key} do not end; look for them with `ps` and try again")
        shutil.rmtree(attempt.work, ignore_errors=True)
        try:
            attempt.finish(outcome, detail, at=datetime.now(UTC))
        except OSError as error:
            detail = f"{detail}; its end could not be written: {error.strerror}"
        return attempt.status() or JobStatus(state=JobState.ENDED, outcome=outcome, detail=detail)
