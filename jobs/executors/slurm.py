"""Runs attempts as jobs of a Slurm cluster, whose nodes see the attempts' folder. See README.md."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.executors._attempts import Attempt, check_job, check_key, job_from_json, open_attempts, read, write_once
from jobs.executors._environments import find_uv
from jobs.executors._options import number
from jobs.executors._slurm_answers import SlurmJob
from jobs.executors._slurm_commands import SlurmCommands, commands_of, submitted
from jobs.executors._slurm_ends import HOPELESS, at_work, end_of, given_up, in_queue, nobody, waited_in_vain
from jobs.executors._slurm_files import Arrival
from jobs.executors._slurm_options import SlurmOptions, check_launcher, read_options, sbatch_options
from jobs.executors._slurm_orders import JobNames, is_ours, job_variables, locked_submission, order_of, script_of
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobSpec, JobState, JobStatus

SEVERAL_NODES = True
"""This executor starts the ranks of `[run.nodes]`."""
_BESIDE = ("uv", "index_url", "work_limit_bytes")
_CANCEL_WITHIN_S = 15.0
_SUBMITTED_AT_MOST = 3


def create(options: Mapping[str, object], *, folder: Path, cache: Path) -> Executor:
    """Return the executor; `folder` and `cache` must be at the same path on this machine and on the nodes.

    Options: those of `SlurmOptions`, and `uv`, `index_url` and `work_limit_bytes` as the local executor has them.
    """
    checked = read_options(options, _BESIDE)
    uv, index_url = options.get("uv", find_uv() or ""), options.get("index_url") or ""
    if not isinstance(uv, str) or not (isinstance(index_url, str) or callable(index_url)):
        raise UserError(f"executor slurm: uv and index_url must be text, found {uv!r} and {index_url!r}")
    work_limit_bytes = int(number("slurm", options, "work_limit_bytes", 2 * 1024**3, low=1024))
    return SlurmExecutor(
        folder=folder.resolve(),
        cache=cache.resolve(),
        options=checked,
        beside={"uv": uv or None, "work_limit_bytes": work_limit_bytes},
        find_index=index_url if callable(index_url) else lambda: str(index_url),
        arrival=Arrival(within_s=checked.files_within_s),
        commands=commands_of(checked),
    )


def rehearse(options: Mapping[str, object], job: JobSpec, *, folder: Path) -> str:
    """Return where and when the cluster would start a job, in Slurm's words; it is not submitted.

    Options are those of `create`. UserError where Slurm would refuse it, TryLater where it does not answer.
    """
    checked = read_options(options, _BESIDE)
    check_launcher(job)
    words = sbatch_options(checked, job, name="tracker-rehearsal", log=folder.resolve() / "rehearsal.log")
    return commands_of(checked).rehearse(words)


@dataclass(slots=True, kw_only=True, eq=False)
class SlurmExecutor:
    """See `jobs.protocols.Executor`. The folder holds what must not be forgotten; Slurm is asked for the rest."""

    folder: Path
    cache: Path
    options: SlurmOptions
    beside: Mapping[str, object]
    find_index: Callable[[], str]
    commands: SlurmCommands
    arrival: Arrival
    _asked: dict[str, float] = field(default_factory=dict)
    """Key -> when Slurm was last asked about it (monotonic)."""
    _away: dict[str, str] = field(default_factory=dict)
    """Key -> why the last question about it had no answer; gone with the next answer."""
    _queued: dict[str, str] = field(default_factory=dict)
    """Key -> where its job stands in Slurm's queue, as it was told last."""

    def start(self, job: JobSpec) -> None:
        """Write the order and submit it. While the controller is away, `poll` goes on trying to."""
        check_job(job, several_nodes=True)
        check_launcher(job)
        attempt = self._attempt(job.key)
        if attempt.file("claimed.json").exists():
            return
        attempt.folder.mkdir(parents=True, exist_ok=True)
        write_once(attempt.file("job.json"), order_of(job, self.options, self.beside, self.cache, self.commands))
        with suppress(TryLater):
            self._submit(attempt, job)

    def poll(self, key: str) -> JobStatus:
        try:
            return self._poll(key)
        except OSError as error:  # a full disk, a share that is away: nothing is lost by looking again
            raise TryLater(f"{self.folder / key} cannot be used now: {error.strerror}") from error

    def _poll(self, key: str) -> JobStatus:
        attempt = self._attempt(key)
        if status := attempt.status():
            return self.arrival.believed(attempt, status)
        claim = read(attempt.file("claimed.json"))
        if claim is not None and "nobody" in claim:
            return self._settle(attempt, *given_up(claim))
        if not attempt.file("job.json").exists():
            return JobStatus(state=JobState.UNKNOWN)
        if self._may_ask(key):
            try:
                ended = self._look(attempt, claim)
                self._away.pop(key, None)
            except TryLater as error:
                self._away[key] = str(error)
                raise
            finally:
                self._asked[key] = time.monotonic()
            if ended:
                return ended
        elif key in self._away:
            raise TryLater(self._away[key])
        if started_at := attempt.started_at():
            return JobStatus(state=JobState.RUNNING, started_at=started_at)
        return JobStatus(state=JobState.PREPARING, detail=at_work(claim) if claim else self._queued.get(key, ""))

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.CANCELLED, CALLED_OFF)

    def abandon(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.LOST, "abandoned before it was started")

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        names = self._names()
        queued = [key for job in self.commands.mine() if not job.ended and (key := names.key_of(job.name))]
        ended = []
        for attempt in open_attempts(self.folder, "slurm"):
            if attempt.key not in alive and is_ours(attempt):
                self._end(attempt, JobOutcome.CANCELLED, "ended by a sweep: no run asks for it any more")
                ended.append(attempt.key)
        for key in queued:
            if key not in alive and key not in ended:  # its folder is gone, or knows its end
                self.commands.cancel(names.name_of(key))
        return tuple(ended)

    # --- starting ---

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)

    def _names(self) -> JobNames:
        return JobNames.of(self.folder)

    def _submit(self, attempt: Attempt, job: JobSpec) -> None:
        """Submit an attempt unless a job for it is known, or it is claimed; UserError where Slurm refuses it."""
        told = attempt.file("submitted.txt")
        name = self._names().name_of(attempt.key)
        with locked_submission(attempt) as lock:
            if attempt.file("claimed.json").exists() or (told.exists() and self._jobs_for(attempt)):
                return
            script = attempt.file("job.sh")
            script.write_text(script_of(attempt, self.options.python), encoding="utf-8")
            words = sbatch_options(self.options, job, name=name, log=attempt.file("supervisor.log"))
            variables = job_variables(self.find_index())
            self.commands.submit(words, script, told=told, variables=variables, lock=lock)

    # --- looking ---

    def _may_ask(self, key: str) -> bool:
        """Return whether the last answer about an attempt, or the lack of one, is old enough to ask again."""
        asked = self._asked.get(key)
        return asked is None or time.monotonic() - asked >= self.options.ask_every_s

    def _jobs_for(self, attempt: Attempt) -> tuple[SlurmJob, ...]:
        """Return the jobs of one attempt, by name, and by the numbers that sbatch reported."""
        return self.commands.jobs_of(self._names().name_of(attempt.key), submitted(attempt.file("submitted.txt")))

    def _job(self, attempt: Attempt, number_: str) -> SlurmJob | None:
        return self.commands.job_of(self._names().name_of(attempt.key), number_)

    def _look(self, attempt: Attempt, claim: Mapping[str, object] | None) -> JobStatus | None:
        """Ask Slurm about an attempt that has no end yet; return its end where it must have one."""
        try:
            if claim is None:
                return self._look_at_waiting(attempt, self._jobs_for(attempt))
            return self._look_at_running(attempt, claim)
        except UserError as error:  # sbatch was refused, this time
            return self._give_up(attempt, JobOutcome.INFRA_FAILED, str(error))

    def _look_at_waiting(self, attempt: Attempt, jobs: Sequence[SlurmJob]) -> JobStatus | None:
        """Return the end of an attempt that no node has taken up: it cannot begin, or its job is over before it did."""
        active = [job for job in jobs if not job.ended]
        if active:
            self.arrival.forget(attempt.key)
            self._queued[attempt.key] = in_queue(active[0])
            reason = next((job.reason for job in active if job.waiting), "")
            waited_s = time.time() - attempt.file("job.json").stat().st_mtime
            if all(job.waiting for job in active) and (reason in HOPELESS or waited_s > self.options.queue_limit_s):
                self.commands.cancel(self._names().name_of(attempt.key))
                return self._give_up(attempt, JobOutcome.INFRA_FAILED, waited_in_vain(reason, waited_s))
            return None
        if not jobs:
            if len(submitted(attempt.file("submitted.txt"))) >= _SUBMITTED_AT_MOST:
                what = f"Slurm lost its job {_SUBMITTED_AT_MOST} times; see {attempt.file('supervisor.log')}"
                return self._give_up(attempt, JobOutcome.INFRA_FAILED, what)
            self._submit_again(attempt)
            return None
        last = max(jobs, key=lambda job: int(job.id))
        if last.state == "COMPLETED" and not self.arrival.is_overdue(attempt):
            return None
        return self._give_up(attempt, *self._end_of(attempt, last, began=False))

    def _look_at_running(self, attempt: Attempt, claim: Mapping[str, object]) -> JobStatus | None:
        """Return the end of an attempt that a job had taken up, where that job is over."""
        number_ = str(claim.get("slurm_job"))
        job = self._job(attempt, number_)
        if job is not None and (job.waiting or (not job.ended and str(job.restarts) != claim.get("restart"))):
            self.commands.cancel(self._names().name_of(attempt.key))
            return self._settle(attempt, JobOutcome.LOST, f"Slurm put job {number_} back into its queue while it ran")
        if job is not None and not job.ended:
            self.arrival.forget(attempt.key)
            return None
        if (job is None or job.state == "COMPLETED") and not self.arrival.is_overdue(attempt):
            return None
        if job is None:
            return self._settle(attempt, JobOutcome.LOST, f"Slurm does not know job {number_} any more")
        return self._settle(attempt, *self._end_of(attempt, job, began=True))

    def _end_of(self, attempt: Attempt, job: SlurmJob, *, began: bool) -> tuple[JobOutcome, str]:
        known = job if job.exit_code is not None else self.commands.job(job.id) or job
        outcome, detail = end_of(known, began=began)
        by_us = outcome is JobOutcome.CANCELLED and attempt.file("cancel").exists()
        return outcome, CALLED_OFF if by_us else detail

    def _submit_again(self, attempt: Attempt) -> None:
        order = read(attempt.file("job.json"))
        if not order:
            raise UserError(f"{attempt.file('job.json')} is damaged")
        self._submit(attempt, job_from_json(order["job"]))

    # --- ending ---

    def _end(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> None:
        """Make sure that the attempt has ended: never starts, stops now, or has stopped before."""
        if attempt.status() is not None:
            return
        name = self._names().name_of(attempt.key)
        if attempt.claim(nobody(outcome, detail)):
            attempt.finish(outcome, detail, at=datetime.now(UTC))
            if attempt.file("job.json").exists():
                with suppress(TryLater, UserError):  # a job that starts all the same finds the claim and leaves
                    self.commands.cancel(name)
            return
        attempt.file("cancel").touch()
        trouble = self._stop_job(name)
        number_ = str((read(attempt.file("claimed.json")) or {}).get("slurm_job"))
        deadline = time.monotonic() + _CANCEL_WITHIN_S
        while attempt.status() is None:
            if trouble is None and self._is_over(attempt, number_):
                break
            if time.monotonic() > deadline:
                raise trouble or TryLater(f"Slurm's job {number_} of attempt {attempt.key} does not end; see squeue")
            time.sleep(0.1)
        self._settle(attempt, outcome, detail)

    def _stop_job(self, name: str) -> TryLater | None:
        """Ask Slurm to end the jobs of a name; return the error where it cannot be asked now."""
        try:
            self.commands.cancel(name)
        except TryLater as error:
            return error
        return None

    def _is_over(self, attempt: Attempt, number_: str) -> bool:
        with suppress(TryLater):
            job = self._job(attempt, number_)
            return job is None or job.ended
        return False

    def _give_up(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> JobStatus | None:
        """Return the end of an attempt that no node will take up; None where one has just done so."""
        if not attempt.claim(nobody(outcome, detail)) and "nobody" not in (read(attempt.file("claimed.json")) or {}):
            return None
        return self._settle(attempt, outcome, detail)

    def _settle(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> JobStatus:
        """Return the recorded end of a claimed attempt, this one unless its node has written one meanwhile."""
        os.listdir(attempt.folder)  # a shared file system looks anew at a folder that is read
        if status := attempt.status():
            return self.arrival.believed(attempt, status)
        shutil.rmtree(attempt.work, ignore_errors=True)
        now, started_at = datetime.now(UTC), attempt.started_at()
        attempt.finish(outcome, detail, at=max(now, started_at or now))
        self.arrival.forget(attempt.key)
        self._queued.pop(attempt.key, None)
        status = attempt.status()
        return status or JobStatus(state=JobState.ENDED, outcome=outcome, detail=detail)
