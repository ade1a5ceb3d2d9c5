"""How an attempt in a pod ended, from its report and from what the cluster says; and the record of where it ran."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
from datetime import timedelta

from jobs.executors._attempts import LOG_AS_RESULT
from jobs.executors._commands import Ended, size_text
from jobs.executors._kubernetes_ends import Look
from jobs.executors._kubernetes_report import Report
from jobs.fingerprint import fingerprint
from jobs.protocols import JobOutcome, JobSpec

_LATE = (124, 128 + signal.SIGKILL, 128 + signal.SIGTERM)
_NOT_THERE = 127


def judge(job: JobSpec, look: Look, report: Report, *, cut: bool) -> Ended:
    """Return how the attempt ended; `cut`: the log was longer than its limit."""
    succeeded = report.whole and report.exit_code == 0
    if not succeeded and (not look.expects_report or report.exit_code is None):
        return _too_much(job) if cut and look.expects_report else Ended(look.outcome, look.why, report.exit_code)
    code, said = report.exit_code, _last_line(report.log)
    if code is not None and code in _LATE and _took(report) >= timedelta(seconds=max(1, round(job.timeout_s)) - 1):
        return Ended(JobOutcome.TIMEOUT, f"over the time limit of {job.timeout_s:g} s")
    if len(report.log) > job.output_limit_bytes:
        return _too_much(job)
    if code:
        how = f"exit code {code}" if code <= 128 else f"ended by {_signal_name(code - 128)}"
        if code == _NOT_THERE:
            how += f" ({job.program} is not in the image?)"
        return Ended(JobOutcome.TOOL_FAILED, f"{how}: {said}" if said else how, code if code <= 128 else 128 - code)
    if not report.whole:
        return Ended(JobOutcome.LOST, "not all of its log arrived whole")
    return _with_result(job, report)


def with_log_as_result(job: JobSpec, report: Report) -> Report:
    """Return the report with what was printed as its result, where the suite wants that and no file of the name is."""
    if job.result_file != LOG_AS_RESULT or report.result is not None or report.odd_result or not report.whole:
        return report
    return dataclasses.replace(report, result=report.log or None)


def _with_result(job: JobSpec, report: Report) -> Ended:
    """Return the end of a program that ended well."""
    if report.result is None:
        what = "something that is not a plain file as" if report.odd_result else "no"
        return Ended(JobOutcome.TOOL_FAILED, f"wrote {what} {job.result_file}", 0)
    if len(report.result) > job.output_limit_bytes:
        limit = size_text(job.output_limit_bytes)
        return Ended(
            JobOutcome.TOOL_FAILED, f"{job.result_file} has {size_text(len(report.result))}, more than {limit}", 0
        )
    return Ended(JobOutcome.OK, "", 0)


def _too_much(job: JobSpec) -> Ended:
    return Ended(JobOutcome.TOOL_FAILED, f"more than {size_text(job.output_limit_bytes)} of output")


def _took(report: Report) -> timedelta:
    if report.started_at is None or report.ended_at is None:
        return timedelta(0)
    return report.ended_at - report.started_at


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(log: bytes) -> str:
    lines = [line.strip() for line in log[-16384:].decode("utf-8", errors="replace").splitlines() if line.strip()]
    return "".join(char for char in lines[-1] if char.isprintable())[:300] if lines else ""


def pod_record(job: JobSpec, look: Look, report: Report, name: str) -> dict[str, object]:
    """Return what is written down next to a result about where it was taken: what the container saw, and its node."""
    gpus = [{"product": product, "driver": driver} for product, driver in report.gpus]
    products = sorted({product for product, _ in report.gpus})
    labels = {"gpu": " + ".join(products), "gpu_count": len(report.gpus)}
    slug = re.sub(r"[^a-z0-9]+", "-", f"{len(report.gpus)}x-{labels['gpu']}".lower()).strip("-")
    lasting = {"kernel": report.kernel, "gpus": gpus}
    return {
        "replayed": False,
        "fingerprint": fingerprint("environment", json.dumps(lasting, sort_keys=True)),
        "host": {"kernel": report.kernel, "gpus": gpus},
        "hardware_class": {"slug": slug, "labels": labels} if gpus else None,
        "scheduler": {"kind": "kubernetes", "job": name, "pod": look.pod, "node": look.node},
        "program": {"path": job.program, "arguments": list(job.arguments)},
        "build": {
            "component": job.component,
            "version": job.version,
            "kind": job.build_kind,
            "location": job.build_location,
            "digest": job.build_digest,
        },
    }
