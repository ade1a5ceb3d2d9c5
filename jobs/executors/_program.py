"""Running the benchmark itself, and judging how it ended."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable

from jobs.executors._attempts import LOG_AS_RESULT, Attempt, open_regular
from jobs.executors._commands import (
    DISK_FULL,
    Command,
    Ended,
    folder_bytes,
    last_line,
    printed_lines,
    run,
    size_text,
)
from jobs.executors._preparation import Prepared
from jobs.protocols import JobOutcome, JobSpec

_LOOK_AT_FOLDER_EVERY_S = 1.0
_FULL_BELOW_BYTES = 64 * 1024


def run_program(
    attempt: Attempt,
    job: JobSpec,
    prepared: Prepared,
    *,
    work_limit_bytes: int,
    started: Callable[[int], None],
    check: Callable[[], None],
) -> Ended:
    """Return how the program ended; its result file is then in `result/`, its output in run.log."""
    log = attempt.file("run.log")
    command = Command(
        words=prepared.words, environment=prepared.variables, folder=attempt.work, log=log, cores=prepared.cores
    )
    watch = _watch(attempt, job, prepared.assets_bytes + work_limit_bytes, check)
    leave_cores(prepared.cores)
    try:
        code, late = run(command, deadline=time.monotonic() + job.timeout_s, started=started, check=watch)
        watch()
    finally:
        _cut(attempt, job.output_limit_bytes)
    kept = _keep_result(attempt, job)
    if late or code is None:
        return Ended(JobOutcome.TIMEOUT, f"over the time limit of {job.timeout_s:g} s")
    return _judge(attempt, code, kept)


def leave_cores(pinned: tuple[int, ...]) -> None:
    """Keep this process off the cores that are measured, where others are left."""
    if pinned and (rest := os.sched_getaffinity(0) - set(pinned)):
        os.sched_setaffinity(0, rest)


def _watch(attempt: Attempt, job: JobSpec, folder_limit_bytes: int, check: Callable[[], None]) -> Callable[[], None]:
    """Return the look that is taken several times a second while the program runs."""
    log, next_look = attempt.file("run.log"), time.monotonic()

    def watch() -> None:
        nonlocal next_look
        check()
        if log.stat().st_size > job.output_limit_bytes:
            raise Ended(JobOutcome.TOOL_FAILED, f"more than {size_text(job.output_limit_bytes)} of output")
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + _LOOK_AT_FOLDER_EVERY_S
            if folder_bytes(attempt.work, limit_bytes=folder_limit_bytes) > folder_limit_bytes:
                limit = size_text(folder_limit_bytes)
                raise Ended(JobOutcome.TOOL_FAILED, f"more than {limit} of files in its working folder")

    return watch


def _cut(attempt: Attempt, limit_bytes: int) -> None:
    """Cut the log to its limit: a flood is some way past it when it is noticed."""
    log = attempt.file("run.log")
    if log.stat().st_size > limit_bytes:
        os.truncate(log, limit_bytes)


def _keep_result(attempt: Attempt, job: JobSpec) -> str:
    """Take the result file out of the working folder; return in words why there is none, empty where there is."""
    source = attempt.work / job.result_file
    if job.result_file == LOG_AS_RESULT and not os.path.lexists(source) and attempt.file("run.log").stat().st_size:
        shutil.copyfile(attempt.file("run.log"), source)
    handle = open_regular(source)
    if handle is None:
        what = "no" if not source.is_symlink() and not source.exists() else "something that is not a plain file as"
        return f"wrote {what} {job.result_file}"
    size_bytes = os.fstat(handle).st_size
    os.close(handle)
    if size_bytes > job.output_limit_bytes:
        return f"{job.result_file} has {size_text(size_bytes)}, more than {size_text(job.output_limit_bytes)}"
    results = attempt.folder / "result"
    if results.is_symlink():
        results.unlink()
    results.mkdir(exist_ok=True)
    source.rename(results / job.result_file)
    return ""


def _judge(attempt: Attempt, code: int, missing: str) -> Ended:
    """Return the outcome of a program that ended by itself."""
    if code == 0 and not missing:
        return Ended(JobOutcome.OK, "", exit_code=0)
    log = attempt.file("run.log")
    if _disk_is_full(attempt):
        said = last_line(log) or f"less than {size_text(_FULL_BELOW_BYTES)} left in {attempt.folder}"
        return Ended(JobOutcome.INFRA_FAILED, f"the disk is full: {said}", exit_code=code)
    if code == 0:
        return Ended(JobOutcome.TOOL_FAILED, missing, exit_code=0)
    how, said = exit_text(code), last_line(log)
    return Ended(JobOutcome.TOOL_FAILED, f"{how}: {said}" if said else how, exit_code=code)


def exit_text(code: int) -> str:
    """Return in words how a program ended: its exit code, or the signal that a negative one stands for."""
    how = f"exit code {code}" if code > 0 else f"ended by {_signal_name(-code)}"
    return f"{how} (most often the machine ran out of memory)" if code == -signal.SIGKILL else how


def _disk_is_full(attempt: Attempt) -> bool:
    """Return whether the program ran out of disk, also where its own words about that found no room."""
    said = any(DISK_FULL in line for line in printed_lines(attempt.file("run.log")))
    return said or shutil.disk_usage(attempt.folder).free < _FULL_BELOW_BYTES


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
