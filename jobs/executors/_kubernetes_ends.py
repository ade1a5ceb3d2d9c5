"""What a Job and its pod say of an attempt: whether it waits, runs or is over, and why, where its log does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.executors._kubernetes_manifest import NO_GPU
from jobs.protocols import JobOutcome

Thing = Mapping[str, Any]
HOPELESS = frozenset({"InvalidImageName", "CreateContainerConfigError", "ErrImageNeverPull", "RunContainerError"})
"""Reasons for waiting that do not pass by themselves."""
_NODE_LOST = frozenset({"Evicted", "NodeLost", "NodeShutdown", "Preempting", "Terminated", "Shutdown"})
_WITHOUT_A_WORD = "its container ended without a word of how"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a Job."""

    over: bool
    running: bool
    waits_for: str = ""
    """Why it does not run yet, in Kubernetes' words."""
    hopeless: bool = False
    outcome: JobOutcome = JobOutcome.LOST
    """Of a Job that is over and whose log does not say more."""
    why: str = ""
    expects_report: bool = False
    """The container ended by itself, so its log says how."""
    node: str = ""
    pod: str = ""


def look_at(job: Thing, pod: Thing | None) -> Look:
    """Return what a Job and its newest pod say."""
    conditions = _true_conditions(job)
    over = "Complete" in conditions or "Failed" in conditions
    state = _container_state(pod)
    status = _part(pod, "status")
    node, name = str(_part(pod, "spec").get("nodeName", "")), str(_part(pod, "metadata").get("name", ""))
    if over or "terminated" in state:
        outcome, why = _end(conditions.get("Failed", {}), status, _part(state, "terminated"))
        by_itself = why.startswith(_WITHOUT_A_WORD)
        return Look(
            over=over, running=not over, outcome=outcome, why=why, expects_report=by_itself, node=node, pod=name
        )
    if "running" in state:
        return Look(over=False, running=True, node=node, pod=name)
    waiting = _part(state, "waiting")
    reason = str(waiting.get("reason") or _unscheduled(status) or "no pod yet")
    said = " ".join(str(waiting.get("message", "")).split())[:200]
    waits_for = f"{reason}: {said}" if said else reason
    return Look(
        over=False,
        running=False,
        waits_for=waits_for,
        hopeless=reason.partition(":")[0] in HOPELESS,
        node=node,
        pod=name,
    )


def _end(failed: Thing, status: Thing, terminated: Thing) -> tuple[JobOutcome, str]:
    """Return outcome and reason of what is over, without its log."""
    reason, pod_reason = str(failed.get("reason", "")), str(status.get("reason", ""))
    disrupted = any(one.get("type") == "DisruptionTarget" for one in _list(status, "conditions"))
    if reason == "DeadlineExceeded" or pod_reason == "DeadlineExceeded":
        return JobOutcome.TIMEOUT, "over the deadline of its Job"
    if terminated.get("reason") == "OOMKilled":
        return JobOutcome.TOOL_FAILED, "out of memory: more than its container may use"
    if disrupted or pod_reason in _NODE_LOST:
        said = " ".join(str(status.get("message", "")).split())[:200]
        return JobOutcome.LOST, f"its pod was taken away: {pod_reason or 'disruption'} {said}".strip()
    if terminated.get("exitCode") == NO_GPU:
        return JobOutcome.INFRA_FAILED, "the container sees fewer GPUs than it asked for"
    if "exitCode" in terminated:
        what = f"exit code {terminated['exitCode']}, {terminated.get('reason', 'no reason given')}"
        said = " ".join(str(terminated.get("message", "")).split())[:200]
        return JobOutcome.INFRA_FAILED, f"{_WITHOUT_A_WORD}: {what} {said}".strip()
    return JobOutcome.LOST, f"its pod is gone ({reason or 'no reason given'})"


def _true_conditions(job: Thing) -> dict[str, Thing]:
    found = _list(_part(job, "status"), "conditions")
    return {str(one.get("type")): one for one in found if one.get("status") == "True"}


def _container_state(pod: Thing | None) -> Thing:
    statuses = _list(_part(pod, "status"), "containerStatuses")
    return _part(statuses[0], "state") if statuses else {}


def _unscheduled(status: Thing) -> str:
    for one in _list(status, "conditions"):
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return f"{one.get('reason')}: {' '.join(str(one.get('message', '')).split())[:200]}"
    return ""


def _part(thing: Thing | None, name: str) -> Thing:
    value = thing.get(name) if thing else None
    return value if isinstance(value, Mapping) else {}


def _list(thing: Thing, name: str) -> list[Thing]:
    value = thing.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
