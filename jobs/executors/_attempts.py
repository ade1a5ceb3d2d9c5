"""The folder of one attempt: files that are written once and whole, so that any process may die at any line.

job.json           what to run; the first writer wins
launched.json      the process that was last started for this key; only a hint for `poll`
claimed.json       who runs it (a process, or nobody because it was abandoned); created exactly once
running.json       the program has been started, and in which session
cancel             somebody asked for its end
status.json        how it ended; created exactly once
environment.json   where it ran; run.log, setup.log, supervisor.log: what was printed
work/              the program's working folder, removed at the end
result/            the result file, taken out of work/
ranks/             what ranks beside the one that writes the result printed

A benchmark runs as the same user, so it can write here too: whatever stands in a file is checked when it is read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.characters import replace_unstorable
from jobs.errors import UserError
from jobs.protocols import Asset, ContainerLimits, JobOutcome, JobOutput, JobSpec, JobState, JobStatus, Nodes

LOG_AS_RESULT = "run.log"
"""A suite that names this as its result file is read from what its program prints."""
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LARGEST_FILE_BYTES = 16 * 1024 * 1024
_LARGEST_CODE = 2**31 - 1
_LOGS = {"run.log": "log", "setup.log": "setup_log", "environment.json": "environment"}


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_once(path: Path, content: Mapping[str, object]) -> bool:
    """Create `path` with all its content and return True; return False and change nothing where it exists."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def replace(path: Path, content: Mapping[str, object]) -> None:
    """Write `path` in one step, whatever was there."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        draft.write_text(json.dumps(content), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any] | None:
    """Return the object in a JSON file, None where there is no file, an empty one where it is damaged or no file."""
    try:
        handle = _open(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:  # a link, a socket
            return {}
        raise
    if handle is None:
        return {}
    with os.fdopen(handle, "rb") as file:
        raw = file.read(_LARGEST_FILE_BYTES + 1)
    try:
        content = json.loads(raw) if len(raw) <= _LARGEST_FILE_BYTES else None
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def job_to_json(job: JobSpec) -> dict[str, Any]:
    """Return the job as plain JSON values."""
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    nodes = asdict(job.nodes) if job.nodes else None
    named = {"environment": dict(job.environment), "container": asdict(job.container), "nodes": nodes}
    return {**values, **named, "assets": [asdict(asset) for asset in job.assets]}


def job_from_json(values: Mapping[str, Any]) -> JobSpec:
    """Return the job that `job_to_json` wrote."""
    assets = tuple(Asset(**{**a, "requirements": tuple(a["requirements"])}) for a in values["assets"])
    lists = {name: tuple(values[name]) for name in ("arguments", "requirements")}
    container = ContainerLimits(**values.get("container", {}))
    nodes = values.get("nodes")
    ranks = Nodes(**{**nodes, "launcher": tuple(nodes["launcher"])}) if nodes else None
    return JobSpec(**{**values, **lists, "assets": assets, "container": container, "nodes": ranks})


def check_job(job: JobSpec, *, several_nodes: bool = False) -> None:
    """Raise UserError for a job whose names could reach outside its folder or turn into options of a command.

    And for one that wants ranks on several nodes, where the executor does not say that it starts them.
    """
    check_key(job.key)
    if job.nodes and not several_nodes:
        raise UserError(
            f"job {job.key}: expected one process on one machine, found {job.nodes.ranks} ranks on {job.nodes.count} "
            "node(s) ([run.nodes]), which this executor cannot start; use executor slurm or remove the table"
        )
    for name in (job.result_file, *(asset.name for asset in job.assets)):
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise UserError(f"job {job.key}: {name!r} must be a plain file name without a folder")
    for requirement in (*job.requirements, *(r for asset in job.assets for r in asset.requirements)):
        if not requirement.strip() or requirement.startswith("-"):
            raise UserError(f"job {job.key}: {requirement!r} is not a requirement; write it as `name==version`")


def check_key(key: str) -> None:
    """Raise UserError for a key that is no safe folder name."""
    if not _KEY.fullmatch(key):
        raise UserError(f"attempt key {key!r}: expected letters, digits, '.', '_', '-' (at most 128), as in `run-17-1`")


def _moment(text: object) -> datetime | None:
    """Return the time in UTC; None where there is none, or none with a zone."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _status_of(values: Mapping[str, Any]) -> JobStatus | None:
    """Return the end that `Attempt.finish` wrote, None where these are other values."""
    outcome, detail, code = values.get("outcome"), values.get("detail"), values.get("exit_code")
    if outcome not in list(JobOutcome) or not isinstance(detail, str):
        return None
    if code is not None and (type(code) is not int or abs(code) > _LARGEST_CODE):
        return None
    return JobStatus(
        state=JobState.ENDED,
        outcome=JobOutcome(outcome),
        detail=replace_unstorable(detail),
        exit_code=code,
        started_at=_moment(values.get("started_at")),
        ended_at=_moment(values.get("ended_at")),
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """The files of one attempt."""

    folder: Path

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def file(self, name: str) -> Path:
        """Return the path of one of the files named at the top of this module."""
        return self.folder / name

    def claim(self, owner: Mapping[str, object]) -> bool:
        """Return True for the one caller, ever, who owns this attempt from now on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return write_once(self.file("claimed.json"), owner)

    def status(self) -> JobStatus | None:
        """Return how it ended, None while it has not."""
        values = read(self.file("status.json"))
        if values is None:
            return None
        damaged = f"{self.file('status.json')} is damaged"
        return _status_of(values) or JobStatus(state=JobState.ENDED, outcome=JobOutcome.LOST, detail=damaged)

    def started_at(self) -> datetime | None:
        """Return when the program itself was started, None before."""
        return _moment((read(self.file("running.json")) or {}).get("started_at"))

    def finish(self, outcome: JobOutcome, detail: str, *, at: datetime, exit_code: int | None = None) -> None:
        """Record the end, unless an end is recorded already."""
        started = self.started_at()
        write_once(
            self.file("status.json"),
            {
                "outcome": outcome.value,
                "detail": detail,
                "exit_code": exit_code,
                "started_at": started.isoformat() if started else None,
                "ended_at": at.isoformat(),
            },
        )

    def outputs(self) -> tuple[JobOutput, ...]:
        """Return what it has left so far: regular files only, links are never followed."""
        results = self.folder / "result"
        named = (
            [("result", path) for path in sorted(results.iterdir())]
            if results.is_dir() and not results.is_symlink()
            else []
        )
        named += [(kind, self.file(name)) for name, kind in _LOGS.items()]
        named += [("other", path) for path in self._rank_logs()]
        return tuple(output for kind, path in named if (output := _describe(kind, path)))

    def _rank_logs(self) -> list[Path]:
        """Return what the other ranks of a run on several nodes printed."""
        logs = self.folder / "ranks"
        return sorted(logs.glob("rank-*.log")) if logs.is_dir() and not logs.is_symlink() else []


def attempts_in(folder: Path) -> Iterator[Attempt]:
    """Yield the attempts of a folder, oldest name first."""
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.is_dir() and _KEY.fullmatch(path.name):
                yield Attempt(path)


def open_attempts(folder: Path, executor: str) -> Iterator[Attempt]:
    """Yield the attempts that have not ended and whose order names this executor, or none."""
    for attempt in attempts_in(folder):
        if attempt.status() is None and (read(attempt.file("job.json")) or {}).get("executor", executor) == executor:
            yield attempt


def open_regular(path: Path) -> int | None:
    """Return a descriptor for reading a regular file; None for a link, a device, a pipe or nothing."""
    try:
        return _open(path)
    except OSError:
        return None


def _open(path: Path) -> int | None:
    """Return a descriptor for reading a regular file; None for what is there but is none, OSError for the rest."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    return None


def _describe(kind: str, path: Path) -> JobOutput | None:
    """Return the output's facts as they are now; a log may still grow."""
    handle = open_regular(path)
    if handle is None:
        return None
    size_bytes, digest = 0, hashlib.sha256()
    with os.fdopen(handle, "rb") as file:
        while chunk := file.read(1 << 20):
            size_bytes += len(chunk)
            digest.update(chunk)
    return JobOutput(kind=kind, name=path.name, path=path, size_bytes=size_bytes, sha256=digest.hexdigest())
