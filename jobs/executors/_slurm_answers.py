"""What Slurm's commands print about jobs, as values: `scontrol -o`, our own squeue and sacct formats, and JSON.

JSON changed its shape several times: a state is a text or a list of texts, an exit code the raw wait status or an
object of numbers, a number itself or an object with `set` and `number`. All of these are read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.errors import TryLater

QUEUE_FORMAT = "%A|%T|%r|%j"
HISTORY_FORMAT = "JobIDRaw,State,ExitCode,JobName"

_ENDED = """
    BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED RECONFIG_FAIL
    REVOKED TIMEOUT
"""
_WAITING = "PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT POWER_UP_NODE"
ENDED = frozenset(_ENDED.split())
WAITING = frozenset(_WAITING.split())
_ACTIVE_FLAGS = ("COMPLETING", "STAGE_OUT")
_FIELD = re.compile(r"(?:^|\s)(JobId|JobName|JobState|Reason|ExitCode|Restarts)=")
_STATE = re.compile(r"[A-Z_]+")
_BY = re.compile(r"CANCELLED\+? by (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """One job as Slurm tells of it; None: not told."""

    id: str
    name: str
    state: str
    """In capitals, without additions: `CANCELLED` for `CANCELLED by 1000`."""
    reason: str = ""
    """Why it waits or how it ended, in Slurm's word; empty where there is none."""
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    cancelled_by: int | None = None
    """The number of the user who cancelled it."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def waiting(self) -> bool:
        return self.state in WAITING


def queue_jobs(text: str) -> tuple[SlurmJob, ...]:
    """Return the jobs in squeue's answer, JSON or `QUEUE_FORMAT`; TryLater where it is neither."""
    if _is_json(text):
        return _jobs_in_json(text)
    rows = [line.split("|", 3) for line in text.splitlines() if line.strip()]
    for row in rows:
        _check(len(row) == 4 and row[0].strip().isdigit(), "squeue", "|".join(row))
    return tuple(SlurmJob(id=i.strip(), state=_base(s), reason=_word(r), name=n) for i, s, r, n in rows)


def controller_jobs(text: str) -> tuple[SlurmJob, ...]:
    """Return the jobs in the answer of `scontrol show job --oneliner`; TryLater where it is none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("No jobs")]
    return tuple(_job_in_line(line) for line in lines)


def history_jobs(text: str) -> tuple[SlurmJob, ...]:
    """Return the jobs in sacct's answer in `HISTORY_FORMAT`, without steps; TryLater where it is none.

    sacct is always asked for text: in the JSON of 22.05 a job that ended with exit code 7 has return code 0.
    """
    found = []
    for line in filter(str.strip, text.splitlines()):
        row = line.split("|", 3)
        _check(len(row) == 4, "sacct", line)
        if row[0].isdigit():
            by = _BY.search(row[1])
            code, number = _pair(row[2])
            who = int(by.group(1)) if by else None
            job = SlurmJob(id=row[0], state=_base(row[1]), exit_code=code, signal=number, name=row[3], cancelled_by=who)
            found.append(job)
    return tuple(found)


def _check(right: bool, command: str, found: str) -> None:
    if not right:
        raise TryLater(f"{command} answered in a way that is not understood: {found[:200]!r}")


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _base(state: str) -> str:
    """Return the state without what is printed behind it."""
    match = _STATE.match(state.strip().upper())
    return match.group(0).rstrip("_") if match else ""


def _word(text: object) -> str:
    """Return a reason; empty for Slurm's several words for none."""
    word = text.strip() if isinstance(text, str) else ""
    return "" if word in {"None", "(null)", "N/A"} else word


def _pair(text: str) -> tuple[int | None, int | None]:
    """Return exit code and signal of `7:0`."""
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    return (int(match.group(1)), int(match.group(2))) if match else (None, None)


def _job_in_line(line: str) -> SlurmJob:
    """Return the job of one line of `Name=value` pairs; a name or a comment in it may hold spaces."""
    parts = _FIELD.split(line)
    fields: dict[str, str] = {}
    for name, rest in zip(parts[1::2], parts[2::2], strict=True):
        # only a job's name may hold spaces: every other value of these ends at one
        value = re.split(r"\s+[A-Za-z/:]+=", rest, maxsplit=1)[0].strip() if name == "JobName" else rest.split(" ")[0]
        fields.setdefault(name, value)
    _check(fields.get("JobId", "").isdigit() and "JobState" in fields, "scontrol", line)
    code, number = _pair(fields.get("ExitCode", ""))
    return SlurmJob(
        id=fields["JobId"],
        name=fields.get("JobName", ""),
        state=_base(fields["JobState"]),
        reason=_word(fields.get("Reason")),
        exit_code=code,
        signal=number,
        restarts=_whole(fields.get("Restarts")) or 0,
    )


def _jobs_in_json(text: str) -> tuple[SlurmJob, ...]:
    try:
        answer = json.loads(text)
        jobs = answer["jobs"]
        return tuple(_job_in_object(job) for job in jobs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TryLater(f"Slurm answered in a JSON that is not understood: {error!r}") from error


def _job_in_object(job: Mapping[str, Any]) -> SlurmJob:
    """Return the job of squeue's JSON."""
    code, number = _ending(job.get("exit_code"))
    return SlurmJob(
        id=str(int(job["job_id"])),
        name=str(job.get("name", "")),
        state=_state_in(job.get("job_state")),
        reason=_word(job.get("state_reason")),
        exit_code=code,
        signal=number,
        restarts=_number(job.get("restart_cnt")) or 0,
    )


def _state_in(told: object) -> str:
    """Return the state among those told: a job that is completing still holds its node, whatever it ended as."""
    states = [told] if isinstance(told, str) else told
    if not isinstance(states, Sequence) or not states or not all(isinstance(state, str) for state in states):
        raise ValueError(f"no state of a job: {told!r}")
    bases = [_base(state) for state in states]
    return next((flag for flag in _ACTIVE_FLAGS if flag in bases), bases[0])


def _ending(told: object) -> tuple[int | None, int | None]:
    """Return exit code and signal from a raw wait status (22.05) or an object (23.02 and later)."""
    if isinstance(told, int):
        return os.waitstatus_to_exitcode(told) if told & 0x7F == 0 else 0, told & 0x7F
    if not isinstance(told, dict):
        return None, None
    sent = told.get("signal")
    number = _number(sent.get("id", sent.get("signal_id"))) if isinstance(sent, dict) else _number(sent)
    return _number(told.get("return_code")), number or 0


def _number(told: object) -> int | None:
    """Return a number given as itself or as `{"set": true, "number": 7}`; None where it is not set."""
    if isinstance(told, dict):
        return _number(told.get("number")) if told.get("set") and not told.get("infinite") else None
    return told if isinstance(told, int) and not isinstance(told, bool) else None


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
