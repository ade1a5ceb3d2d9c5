"""Runs attempts as Jobs of a Kubernetes cluster, whose logs bring back what they measured. See README.md."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.executors._attempts import (
    Attempt,
    check_job,
    check_key,
    job_from_json,
    job_to_json,
    open_attempts,
    read,
    replace,
    write_once,
)
from jobs.executors._commands import Ended
from jobs.executors._kubernetes_client import Cluster
from jobs.executors._kubernetes_ends import Look, look_at
from jobs.executors._kubernetes_manifest import ATTEMPT_NOTE, HOME_LABEL, home_label, job_manifest, job_name, mark_of
from jobs.executors._kubernetes_options import KubernetesOptions, read_options
from jobs.executors._kubernetes_outcome import judge, pod_record, with_log_as_result
from jobs.executors._kubernetes_report import Report, read_report
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobSpec, JobState, JobStatus

_CANCEL_WITHIN_S = 20.0
_ENCODED = 1.5
"""Base64 with its line ends takes so much more room than what it holds."""


def create(options: Mapping[str, object], *, folder: Path, cache: Path) -> Executor:
    """Return the executor that keeps its attempts in `folder`, nothing in `cache`; options: `KubernetesOptions`."""
    checked = read_options(options)
    return KubernetesExecutor(folder=folder.resolve(), options=checked, cluster=Cluster(options=checked))


@dataclass(slots=True, kw_only=True, eq=False)
class KubernetesExecutor:
    """See `jobs.protocols.Executor`. The cluster keeps one Job a name, so a key runs once; the folder keeps its end."""

    folder: Path
    options: KubernetesOptions
    cluster: Cluster
    _asked: dict[str, tuple[float, JobStatus]] = field(default_factory=dict)
    """Key -> when the cluster was last asked about it (monotonic), and what it said."""
    _away: dict[str, str] = field(default_factory=dict)
    """Key -> why the last question about it had no answer; gone with the next answer."""
    _doubts: dict[str, float] = field(default_factory=dict)
    """Key -> since when (monotonic) something is missing."""

    # --- the protocol ---

    def start(self, job: JobSpec) -> None:
        """Write the order and make the Job. While the cluster is away, `poll` goes on trying to."""
        check_job(job)
        manifest = job_manifest(job, self.options, folder=self.folder)
        attempt = self._attempt(job.key)
        attempt.folder.mkdir(parents=True, exist_ok=True)
        write_once(attempt.file("job.json"), {"executor": "kubernetes", "job": job_to_json(job), "manifest": manifest})
        if attempt.file("claimed.json").exists():
            return
        attempt.claim({"kubernetes_job": self._name(attempt)})
        with suppress(TryLater):
            self._create(attempt)

    def poll(self, key: str) -> JobStatus:
        attempt = self._attempt(key)
        if status := attempt.status():
            return status
        claim = read(attempt.file("claimed.json"))
        if claim is not None and "nobody" in claim:
            return self._settle(attempt, Ended(_outcome_in(claim), str(claim["nobody"])))
        if not attempt.file("job.json").exists():
            return JobStatus(state=JobState.UNKNOWN)
        asked = self._asked.get(key)
        if asked and time.monotonic() - asked[0] < self.options.ask_every_s:
            if key in self._away:
                raise TryLater(self._away[key])
            return asked[1]
        last = asked[1] if asked else JobStatus(state=JobState.PREPARING)
        self._asked[key] = (time.monotonic(), last)
        try:
            status = self._look(attempt)
        except TryLater as error:
            self._away[key] = str(error)
            raise
        self._away.pop(key, None)
        self._asked[key] = (time.monotonic(), status)
        return status

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.CANCELLED, CALLED_OFF)

    def abandon(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.LOST, "abandoned before it was started")

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        there = self.cluster.jobs(f"{HOME_LABEL}={home_label(self.folder)}")
        ended = []
        for attempt in open_attempts(self.folder, "kubernetes"):
            ours = (read(attempt.file("job.json")) or {}).get("executor") == "kubernetes"
            if ours and attempt.key not in alive:
                self._end(attempt, JobOutcome.CANCELLED, "ended by a sweep: no run asks for it any more")
                ended.append(attempt.key)
        for job in there:
            metadata = job.get("metadata", {})
            key = metadata.get("annotations", {}).get(ATTEMPT_NOTE)
            if key not in alive and key not in ended and not look_at(job, None).over:
                self.cluster.delete_job(str(metadata.get("name")))
        return tuple(ended)

    # --- starting and looking ---

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)

    def _name(self, attempt: Attempt) -> str:
        return job_name(self.folder, attempt.key)

    def _create(self, attempt: Attempt) -> None:
        """Make the Job, unless the attempt was ended or its Job has been made before."""
        order = read(attempt.file("job.json")) or {}
        if attempt.status() is None and not attempt.file("created.json").exists() and "manifest" in order:
            self.cluster.create_job(order["manifest"])
            write_once(attempt.file("created.json"), {"at": datetime.now(UTC).isoformat()})

    def _look(self, attempt: Attempt) -> JobStatus:
        """Ask the cluster about an attempt; return its end where it is over."""
        name = self._name(attempt)
        if not attempt.file("created.json").exists():
            try:
                attempt.claim({"kubernetes_job": name})
                self._create(attempt)
            except UserError as error:
                return self._settle(attempt, Ended(JobOutcome.INFRA_FAILED, str(error)))
        job = self.cluster.job(name)
        if job is None:
            return self._settle(attempt, Ended(JobOutcome.LOST, f"Job {name} is not in the cluster any more"))
        pods = self.cluster.pods(name)
        look = look_at(job, pods[-1] if pods else None)
        if look.over:
            return self._collect(attempt, look)
        if not look.running:
            return self._wait(attempt, look)
        started_at = attempt.started_at() or datetime.now(UTC)
        if not attempt.file("running.json").exists():
            replace(attempt.file("running.json"), {"started_at": started_at.isoformat()})
        return JobStatus(state=JobState.RUNNING, started_at=started_at)

    def _wait(self, attempt: Attempt, look: Look) -> JobStatus:
        """Return that an attempt waits, or its end where it has waited for too long or in vain."""
        waited_s = time.time() - attempt.file("created.json").stat().st_mtime
        if not look.hopeless and waited_s <= self.options.queue_limit_s:
            return JobStatus(state=JobState.PREPARING)
        self.cluster.delete_job(self._name(attempt))
        return self._settle(attempt, Ended(JobOutcome.INFRA_FAILED, f"waited {waited_s:.0f} s for: {look.waits_for}"))

    def _collect(self, attempt: Attempt, look: Look) -> JobStatus:
        """Return the end of an attempt whose Job is over, once its log is here as a whole or will never be."""
        order = read(attempt.file("job.json")) or {}
        if "job" not in order:
            return self._settle(attempt, Ended(JobOutcome.INFRA_FAILED, f"{attempt.file('job.json')} is damaged"))
        job = job_from_json(order["job"])
        limit_bytes = int(job.output_limit_bytes * (1 + _ENCODED)) + 65536
        text = self.cluster.log(look.pod, limit_bytes=limit_bytes) if look.pod else None
        report = with_log_as_result(job, read_report(text or b"", mark_of(self._name(attempt))))
        if look.expects_report and not report.whole and not self._in_doubt_for_long(attempt.key):
            return JobStatus(state=JobState.RUNNING, started_at=attempt.started_at())
        self._keep(attempt, job, look, report)
        return self._settle(attempt, judge(job, look, report, cut=len(text or b"") >= limit_bytes), report)

    def _keep(self, attempt: Attempt, job: JobSpec, look: Look, report: Report) -> None:
        """Write what came back into the attempt's folder."""
        attempt.file("run.log").write_bytes(report.log[: job.output_limit_bytes])
        replace(attempt.file("environment.json"), pod_record(job, look, report, self._name(attempt)))
        if report.result is not None and len(report.result) <= job.output_limit_bytes:
            results = attempt.folder / "result"
            results.mkdir(exist_ok=True)
            draft = attempt.file(".result")
            draft.write_bytes(report.result)
            draft.replace(results / job.result_file)

    def _in_doubt_for_long(self, key: str) -> bool:
        since = self._doubts.setdefault(key, time.monotonic())
        return time.monotonic() - since >= self.options.files_within_s

    # --- ending ---

    def _end(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> None:
        """Make sure that the attempt has ended: never starts, stops now, or has stopped before."""
        if attempt.status() is not None:
            return
        if attempt.claim({"nobody": detail, "outcome": outcome.value}):
            attempt.finish(outcome, detail, at=datetime.now(UTC))
            return
        name, deadline = self._name(attempt), time.monotonic() + _CANCEL_WITHIN_S
        self.cluster.delete_job(name)
        while self.cluster.job(name) is not None or self.cluster.pods(name):
            if time.monotonic() > deadline:
                raise TryLater(f"Job {name} of attempt {attempt.key} does not end; see `kubectl describe job {name}`")
            time.sleep(0.2)
        self._settle(attempt, Ended(outcome, detail))

    def _settle(self, attempt: Attempt, end: Ended, report: Report | None = None) -> JobStatus:
        """Return the recorded end of an attempt: this one, unless another process was first."""
        if report and report.started_at:
            replace(attempt.file("running.json"), {"started_at": report.started_at.isoformat()})
        now, started_at = datetime.now(UTC), attempt.started_at()
        at = (report.ended_at if report else None) or now
        attempt.finish(end.outcome, end.detail, at=max(at, started_at or at), exit_code=end.exit_code)
        shutil.rmtree(attempt.work, ignore_errors=True)
        self._asked.pop(attempt.key, None)
        self._doubts.pop(attempt.key, None)
        status = attempt.status()
        return status or JobStatus(state=JobState.ENDED, outcome=end.outcome, detail=end.detail)


def _outcome_in(claim: Mapping[str, object]) -> JobOutcome:
    """Return the outcome in a claim for nobody, whose writer died before it could record the end."""
    return next((one for one in JobOutcome if one.value == claim.get("outcome")), JobOutcome.LOST)
