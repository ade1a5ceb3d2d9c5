"""Slurm's commands: each is called with a time limit, and what they say when they fail is told apart.

A controller that is away or busy is `TryLater`; a submission that no repetition helps (an unknown partition) is
`UserError`. A question is never more than `TryLater`: that Slurm does not answer says nothing about a job that runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.executors._slurm_answers import (
    HISTORY_FORMAT,
    QUEUE_FORMAT,
    SlurmJob,
    controller_jobs,
    history_jobs,
    queue_jobs,
)
from jobs.executors._slurm_options import SlurmOptions

_AWAY = re.compile(
    r"unable to contact|connect(ion)? (failure|refused|reset|timed out)|socket timed out|timed? ?out|zero bytes|"
    r"standby mode|temporarily|try again|slurmctld.*(down|not respond)|configuration source|communication|"
    r"unexpected message|authentication (credential|error)|munge|resource temporarily|name resolution|"
    r"job queue is full|shutting down|in startup|not responding|cannot allocate memory|no space left",
    re.IGNORECASE,
)
_NO_SUCH_JOB = re.compile(r"invalid job id|no such job|couldn't find|not found", re.IGNORECASE)
_NO_ACCOUNTING = re.compile(
    r"accounting storage is disabled|not running with a recognized|slurmdbd|database|only supported|unable to connect",
    re.IGNORECASE,
)
_ID = re.compile(r"^(\d+)(?:;\S*)?$", re.MULTILINE)
#: What a job's script gets of the caller's environment: what installers need, and nothing that is a secret of ours.
_PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|SLURM_CONF|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|"
    r"CURL_CA_BUNDLE|(PIP|UV|XDG|ENROOT)_\w+|(https?|no|all)_proxy",
    re.IGNORECASE,
)


def passed_on(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what Slurm's commands, and through sbatch the jobs, see of an environment."""
    return {name: value for name, value in variables.items() if _PASSED.fullmatch(name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmCommands:
    """Where the commands are and how they are asked."""

    folder: str = ""
    conf: str = ""
    json: bool = False
    within_s: float = 30.0

    def submit(self, words: Sequence[str], script: Path, *, told: Path, variables: Mapping[str, str], lock: int) -> str:
        """Return the number of the new job, which sees `variables`.

        What sbatch prints goes into `told`, and it holds the descriptor `lock`, also when nobody waits for it.
        """
        program = self._program("sbatch")
        errors = told.with_name("sbatch.log")
        with told.open("ab") as out, errors.open("wb") as err:
            try:
                done = subprocess.run(
                    [program, *words, str(script)],
                    env={**variables, **self._conf()},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    timeout=self.within_s,
                    pass_fds=(lock,),
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise TryLater(f"sbatch did not answer within {self.within_s:g} s; is slurmctld busy?") from None
            except OSError as error:
                raise _not_started(program, error) from error
        said = errors.read_text(encoding="utf-8", errors="replace").strip()
        if done.returncode != 0:
            raise _refusal(done.returncode, said)
        if not (numbers := submitted(told)):
            raise TryLater(f"sbatch succeeded without a job number; it said {said[:200]!r}")
        return numbers[-1]

    def rehearse(self, words: Sequence[str]) -> str:
        """Return where and when Slurm would start a job with these options; UserError where it would refuse it."""
        done = self._call("sbatch", self._program("sbatch"), ["--test-only", *words, "--wrap", "true"])
        if done.returncode != 0:
            raise _refusal(done.returncode, done.stderr.strip())
        return re.sub(r"^Job \d+ ", "a job ", _reason(0, done.stderr))

    def mine(self) -> tuple[SlurmJob, ...]:
        """Return this user's jobs that the controller still knows, ended ones among them."""
        return self._queue(f"--user={os.getuid()}")

    def job(self, number: str) -> SlurmJob | None:
        """Return a job by its number, from the controller or, later, from accounting; None where nobody knows it."""
        try:
            if self.json:  # scontrol has JSON only in later versions
                found = self._queue(f"--jobs={number}")
            else:
                found = controller_jobs(self._ask("scontrol", ["show", "job", number, "--oneliner"]))
        except _NoSuchJob:
            found = ()
        job = next((job for job in found if job.id == number), None)
        return job or self._in_history(number)

    def job_of(self, name: str, number: str) -> SlurmJob | None:
        """Return the job of a name by its number; None where that is no number, or somebody else's by now."""
        job = self.job(number) if number.isdecimal() else None
        return job if job is not None and job.name == name else None

    def jobs_of(self, name: str, numbers: Sequence[str]) -> tuple[SlurmJob, ...]:
        """Return all jobs of a name: those that the controller lists, and those of these numbers."""
        found = {job.id: job for job in self.mine() if job.name == name}
        for number in numbers:
            if number not in found and (job := self.job_of(name, number)):
                found[number] = job
        return tuple(found.values())

    def _queue(self, which: str) -> tuple[SlurmJob, ...]:
        what = ["--json"] if self.json else ["--noheader", f"--format={QUEUE_FORMAT}"]
        return queue_jobs(self._ask("squeue", ["--all", "--states=all", which, *what]))

    def cancel(self, name: str) -> None:
        """End all of this user's jobs of that name; none is fine."""
        try:
            self._ask("scancel", ["--quiet", f"--user={os.getuid()}", f"--name={name}"])
        except _NoSuchJob:
            return

    def _in_history(self, number: str) -> SlurmJob | None:
        """Return what accounting knows of a job; None also where there is no accounting."""
        what = ["--noheader", "--parsable2", "--allocations", f"--format={HISTORY_FORMAT}", f"--jobs={number}"]
        try:
            found = history_jobs(self._ask("sacct", what))
        except (_NoSuchJob, _NoAccounting):
            return None
        return next((job for job in found if job.id == number), None)

    def _ask(self, command: str, words: Sequence[str]) -> str:
        """Return what a command prints; TryLater, UserError or one of the two private errors where it fails."""
        try:
            program = self._program(command)
        except UserError as error:
            raise (_NoAccounting if command == "sacct" else TryLater)(str(error)) from error
        done = self._call(command, program, words)
        said = done.stderr.strip()
        if done.returncode != 0:
            if command == "sacct" and _NO_ACCOUNTING.search(said):
                raise _NoAccounting(said)
            if _NO_SUCH_JOB.search(said):
                raise _NoSuchJob(said)
            raise TryLater(f"Slurm does not answer {command}: {_reason(done.returncode, said)}")
        return done.stdout

    def _call(self, command: str, program: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Return how a command ended; TryLater where it does not in time, or cannot be started now."""
        try:
            return subprocess.run(
                [program, *words],
                env={**passed_on(os.environ), "LC_ALL": "C", **self._conf()},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self.within_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TryLater(f"{command} did not answer within {self.within_s:g} s; is slurmctld busy?") from None
        except OSError as error:
            raise _not_started(program, error) from error

    def _program(self, command: str) -> str:
        found = shutil.which(command, path=self.folder or None)
        if found is None:
            where = self.folder or "the PATH"
            raise UserError(
                f"Slurm's command {command} was not found on {where}; install Slurm's commands on this machine, or set"
                " slurm.bin to their folder"
            )
        return found

    def _conf(self) -> dict[str, str]:
        return {"SLURM_CONF": self.conf} if self.conf else {}


def commands_of(options: SlurmOptions) -> SlurmCommands:
    """Return the commands as the options say where they are and how they are asked."""
    return SlurmCommands(
        folder=options.bin, conf=options.conf, json=options.answers == "json", within_s=options.answer_within_s
    )


class _NoSuchJob(TryLater):
    """Slurm does not know the job."""


class _NoAccounting(TryLater):
    """There is no accounting to ask."""


def submitted(told: Path) -> list[str]:
    """Return the numbers of the jobs that sbatch reported in a file, oldest first."""
    try:
        return _ID.findall(told.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []


def _not_started(program: str, error: OSError) -> TryLater:
    return TryLater(f"{program} cannot be started: {error.strerror}; check the machine and try again")


def _reason(code: int, said: str) -> str:
    """Return what a command said, as one line."""
    lines = [re.sub(r"^\w+: (error: |fatal: )?", "", line.strip()) for line in said.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines))[:300] or f"exit code {code} without a word"


def _refusal(code: int, said: str) -> TryLater | UserError:
    """Return the error for a submission that failed, by what sbatch said."""
    reason = _reason(code, said)
    if _AWAY.search(said) or code < 0 or not said:
        return TryLater(f"Slurm does not answer sbatch: {reason}")
    cure = "check partition, account, qos, gres and options of [slurm]"
    if "time limit" in reason.lower():
        cure = "lower timeout_s and setup_timeout_s of the suite's [run], or set another slurm.partition"
    return UserError(f"Slurm refused the job: {reason}; {cure}")
