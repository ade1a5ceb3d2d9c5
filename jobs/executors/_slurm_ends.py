"""How an attempt stands, and how it ended when its own record is missing: Slurm's word for it, in ours.

The record (`status.json`) is written on the node by what runs there. It is missing only where that was ended from
outside or never began, so none of this is about the exit code of the benchmark itself.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping

from jobs.executors._slurm_answers import SlurmJob
from jobs.protocols import JobOutcome

_ACCOUNT = "correct account, qos and partition in [slurm]"
_TIME = "lower timeout_s and setup_timeout_s of the suite's [run], or set another slurm.partition"
HOPELESS = {
    "BadConstraints": "no node has what options and gres of [slurm] ask for",
    "DependencyNeverSatisfied": "correct options of [slurm]",
    "InvalidAccount": _ACCOUNT,
    "InvalidQOS": _ACCOUNT,
    "PartitionTimeLimit": _TIME,
    "AssocMaxWallDurationPerJobLimit": _TIME,
    "QOSMaxWallDurationPerJobLimit": _TIME,
    "launch_failed_requeued_held": "its node could not start it; an administrator has to look",
}
"""Reasons for waiting that do not pass by themselves, each with its cure."""

NO_FOLDER = 66
"""Exit code of a job that finds no order on its node."""
_NO_LOG = 53
"""What Slurm calls the signal that ended a job whose log its node could not open."""
_NOT_SHARED = "its node does not see the folder of attempts; TRACKER_HOME must be writable at the same path there"
_KNOWN_CODES = {
    NO_FOLDER: _NOT_SHARED,
    126: "its node cannot start the Python of slurm.python",
    127: "its node does not have the Python of slurm.python",
}

_OUTCOMES = {
    "BOOT_FAIL": (JobOutcome.INFRA_FAILED, "its node did not start"),
    "CANCELLED": (JobOutcome.CANCELLED, "cancelled in Slurm"),
    "DEADLINE": (JobOutcome.INFRA_FAILED, "Slurm ended it at its deadline"),
    "LAUNCH_FAILED": (JobOutcome.INFRA_FAILED, "Slurm could not launch it"),
    "NODE_FAIL": (JobOutcome.LOST, "its node was lost"),
    "OUT_OF_MEMORY": (JobOutcome.TOOL_FAILED, "out of memory: more than the Slurm job may use"),
    "PREEMPTED": (JobOutcome.LOST, "preempted: Slurm gave its node to another job"),
    "RECONFIG_FAIL": (JobOutcome.INFRA_FAILED, "its node could not be set up"),
    "REVOKED": (JobOutcome.LOST, "revoked: another cluster took the job"),
    "TIMEOUT": (JobOutcome.TIMEOUT, "over the time limit of its Slurm job"),
}


def end_of(job: SlurmJob, *, began: bool) -> tuple[JobOutcome, str]:
    """Return outcome and reason for an ended job whose attempt left no record; `began`: it had reached its node."""
    if job.state in _OUTCOMES:
        outcome, what = _OUTCOMES[job.state]
        by = f" by user {job.cancelled_by}" if job.cancelled_by is not None else ""
        return outcome, f"{what}{by} ({_where(job)})"
    if job.state == "COMPLETED":
        return JobOutcome.LOST, f"Slurm says that it completed, but what it wrote is not here ({_where(job)})"
    if not began and job.exit_code in _KNOWN_CODES:
        return JobOutcome.INFRA_FAILED, f"{_KNOWN_CODES[job.exit_code]} ({_where(job)})"
    if not began and job.signal == _NO_LOG:
        return JobOutcome.INFRA_FAILED, f"{_NOT_SHARED} ({_where(job)})"
    when = "while it ran" if began else "before it began; see supervisor.log"
    return JobOutcome.INFRA_FAILED, f"its Slurm job failed {when}: {how(job)} ({_where(job)})"


def in_queue(job: SlurmJob) -> str:
    """Return where a job stands that no node has taken up yet."""
    if job.waiting:
        return f"in Slurm's queue{': ' if job.reason else ''}{job.reason} (job {job.id})"
    return f"Slurm starts its job {job.id}"


def waited_in_vain(reason: str, waited_s: float) -> str:
    """Return why an attempt is taken out of the queue."""
    cure = f"; {HOPELESS[reason]}" if reason in HOPELESS else "; see slurm.queue_limit_s"
    return f"waited {waited_s:.0f} s in Slurm's queue: {reason or 'no reason given'}{cure}"


def at_work(claim: Mapping[str, object]) -> str:
    """Return who prepares a claimed attempt: an image may take long to import."""
    return f"being prepared on {claim.get('host')} (job {claim.get('slurm_job')}); see setup.log"


def nobody(outcome: JobOutcome, detail: str) -> dict[str, object]:
    """Return the claim of an attempt that shall never begin."""
    return {"nobody": detail, "outcome": outcome.value}


def given_up(claim: Mapping[str, object]) -> tuple[JobOutcome, str]:
    """Return outcome and reason from such a claim, whose writer died before it could record the end."""
    outcome = next((one for one in JobOutcome if one.value == claim.get("outcome")), JobOutcome.LOST)
    return outcome, str(claim["nobody"])


def how(job: SlurmJob) -> str:
    """Return in words how a job's script ended."""
    if job.signal:
        try:
            return f"ended by {signal.Signals(job.signal).name}"
        except ValueError:
            return f"ended by signal {job.signal}"
    return f"exit code {job.exit_code}" if job.exit_code is not None else "its exit code is not known"


def _where(job: SlurmJob) -> str:
    reason = f", {job.reason}" if job.reason else ""
    return f"job {job.id}, {job.state}{reason}"
