"""What a container left behind, and how it ended: exit code, signal, memory, GPUs that were not there."""

from __future__ import annotations

import shutil
import signal
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from jobs.executors._attempts import LOG_AS_RESULT, Attempt
from jobs.executors._commands import DISK_FULL, Ended, last_line, printed_lines, size_text
from jobs.executors._engine_client import Engine, EngineRefused
from jobs.executors._engine_container import REFUSED_CODE, SEEN, WORK
from jobs.executors._engine_logs import keep_log, read_frames
from jobs.protocols import JobOutcome, JobSpec

_SEEN_LIMIT_BYTES = 1 << 20
_KILLED = 128 + signal.SIGKILL


class _Tar:
    """The bytes of a stream as a file, for `tarfile`."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._held) < size and (chunk := next(self._chunks, b"")):
            self._held += chunk
        part = bytes(self._held[:size])
        del self._held[:size]
        return part


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What was taken out of a container."""

    missing: str
    """Why there is no result, in words; empty where there is one."""
    flooded: bool
    """Whether it printed more than was allowed."""
    seen: Mapping[str, str]
    """What it saw of its GPUs: `gpus.txt`, `gpus.xml`, `gpus.err`, `refused`; empty where it did not look."""


def take_out(engine: Engine, name: str, attempt: Attempt, job: JobSpec, *, flooded: bool) -> Left:
    """Return what the container left, after copying log and result whole; may be repeated.

    The log of one that `flooded` stays as it was followed: the engine itself keeps only the end of it.
    """
    log = attempt.file("run.log")
    if not flooded:
        with engine.log(name, follow=False) as chunks:
            flooded = keep_log(read_frames(chunks), log, limit_bytes=job.output_limit_bytes)
    seen = _read_seen(engine, name) if job.gpus else {}
    missing = _keep_result(engine, name, attempt, job)
    if missing and job.result_file == LOG_AS_RESULT and log.stat().st_size:
        _in_one_step(attempt, lambda draft: shutil.copyfile(log, draft / LOG_AS_RESULT))
        missing = ""
    return Left(missing=missing, flooded=flooded, seen=seen)


def _keep_result(engine: Engine, name: str, attempt: Attempt, job: JobSpec) -> str:
    """Copy the result file out; return in words why there is none, empty where there is."""
    try:
        with engine.get_files(name, f"{WORK}/{job.result_file}") as chunks, _open_tar(chunks) as tar:
            entry = tar.next()
            if entry is None or not entry.isreg():
                return f"wrote something that is not a plain file as {job.result_file}"
            if entry.size > job.output_limit_bytes:
                size, limit = size_text(entry.size), size_text(job.output_limit_bytes)
                return f"{job.result_file} has {size}, more than {limit}"
            content = cast(IO[bytes], tar.extractfile(entry))
            _in_one_step(attempt, lambda draft: _write(content, draft / job.result_file))
            return ""
    except EngineRefused as error:
        if error.status != 404:
            raise
        return f"wrote no {job.result_file}"
    except tarfile.TarError as error:
        return f"the engine's copy of {job.result_file} is damaged: {error}"


def _in_one_step(attempt: Attempt, fill: Callable[[Path], object]) -> None:
    """Make the folder `result` from a draft, so that half a copy is never one."""
    draft, results = attempt.file(".result.draft"), attempt.file("result")
    for folder in (draft, results):
        shutil.rmtree(folder, ignore_errors=True)
    draft.mkdir()
    fill(draft)
    draft.rename(results)


def _write(content: IO[bytes], path: Path) -> None:
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)


def _open_tar(chunks: Iterator[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(IO[bytes], _Tar(chunks)), mode="r|")


def _read_seen(engine: Engine, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        with engine.get_files(name, SEEN) as chunks, _open_tar(chunks) as tar:
            for entry in tar:
                if entry.isreg() and entry.size <= _SEEN_LIMIT_BYTES:
                    content = cast(IO[bytes], tar.extractfile(entry)).read()
                    found[Path(entry.name).name] = content.decode("utf-8", errors="replace")
    except (EngineRefused, tarfile.TarError):
        return found
    return found


def judge(attempt: Attempt, job: JobSpec, state: Mapping[str, Any], left: Left) -> Ended:
    """Return the outcome of a container that ended by itself."""
    code = state.get("ExitCode")
    code = code if type(code) is int else None
    if code == REFUSED_CODE and "refused" in left.seen:
        return Ended(JobOutcome.INFRA_FAILED, _refusal(job, left.seen), exit_code=code)
    if left.flooded:
        limit = size_text(job.output_limit_bytes)
        return Ended(JobOutcome.TOOL_FAILED, f"more than {limit} of output", exit_code=code)
    if code == 0 and not left.missing:
        return Ended(JobOutcome.OK, "", exit_code=0)
    said = last_line(attempt.file("run.log"))
    if any(DISK_FULL in line for line in printed_lines(attempt.file("run.log"))):
        return Ended(JobOutcome.INFRA_FAILED, f"the disk is full: {said}", exit_code=code)
    if code == 0:
        detail = f"{left.missing}; it printed last: {said}" if said else left.missing
        return Ended(JobOutcome.TOOL_FAILED, detail, exit_code=0)
    how = _how(job, state, code)
    return Ended(JobOutcome.TOOL_FAILED, f"{how}: {said}" if said else how, exit_code=code)


def _how(job: JobSpec, state: Mapping[str, Any], code: int | None) -> str:
    """Return in words how it ended. Engines on cgroup v1 do not know of an end by lack of memory."""
    limit = job.container.memory_bytes
    within = f"the limit of its container, {size_text(limit)}" if limit else "the machine"
    if state.get("OOMKilled"):
        return f"out of memory ({within}; exit code {code})"
    if code == _KILLED:
        return f"ended by SIGKILL (most likely out of memory: {within})"
    if code is None:
        return "the engine does not say how it ended"
    if 128 < code < 192:
        return f"exit code {code} ({_signal_name(code - 128)})"
    return f"exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _refusal(job: JobSpec, seen: Mapping[str, str]) -> str:
    """Return why nothing was measured: other GPUs than the suite needs."""
    found = seen["refused"].strip() or "0"
    lines = [line.strip() for line in (seen.get("gpus.err") or seen.get("gpus.txt") or "").splitlines() if line.strip()]
    said = f" ({lines[0][:200]})" if lines else ""
    return (
        f"the suite needs {job.gpus} GPU(s), its container sees {found}{said}; nothing was measured. "
        "See that the engine can hand out GPUs: the NVIDIA container toolkit, and gpu_driver in the settings"
    )
