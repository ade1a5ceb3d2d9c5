"""deposit: results that were measured elsewhere are read and kept, many at once, each once.

A result's identity is the build, the host, the name it was handed in under, the time it was measured and its place in
the file. The same content again changes nothing; other content under the same identity is refused unless it replaces.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from jobs.content import Content
from jobs.intake import Arrival
from jobs.measurements import ParseOutcome, ParseResult
from jobs.reading import AUTO, read_result, refused
from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.pipeline.deposit_rows import Desk, Origin, open_desk
from tracker.store import audit, deposits
from tracker.store.deposits import DepositedRun
from tracker.store.engine import Session

log = EventLog(__name__)

STATUSES = ("stored", "unchanged", "replaced", "conflict", "refused")
BATCH_FILES = 250
BATCH_BYTES = 64 * 2**20
"""A batch is written in one transaction; it ends at either."""
_HASH_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposited:
    """What became of one file. Status: stored, unchanged, replaced, conflict or refused."""

    name: str
    status: str
    tool: str
    outcome: str
    reason: str
    runs: tuple[str, ...] = ()
    values: int = 0
    set_aside: int = 0
    unnamed: int = 0
    """Results in series that neither a model nor a benchmark's name tells from others."""


@dataclass(slots=True, kw_only=True)
class _File:
    """One file that was read, on its way into the store."""

    name: str
    shown: str
    result: ParseResult
    sha256: str = ""
    size_bytes: int = 0
    path: str = ""
    key: str = ""
    runs: list[DepositedRun] = field(default_factory=list)


def deposit(
    context: Context, origin: Origin, arrivals: Iterable[Arrival], *, who: str, tool: str = AUTO, replace: bool = False
) -> Iterator[Deposited]:
    """Read and keep what was handed in, and yield what became of each file, in order; one bad file stops nothing."""
    batch: list[_File] = []
    size = 0
    for arrival in arrivals:
        file = _read(context.settings.home, arrival, tool)
        batch.append(file)
        size += file.size_bytes
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield from _keep(context, origin, batch, who=who, replace=replace)
            batch, size = [], 0
    yield from _keep(context, origin, batch, who=who, replace=replace)


def _read(home: Path, arrival: Arrival, tool: str) -> _File:
    """Return a file as parsed; what may be kept is copied into the service's folder first."""
    file = _File(name=arrival.name, shown=arrival.shown, result=refused(arrival.problem))
    if arrival.content is None:
        return file
    file.result = read_result(arrival.content, tool)
    file.size_bytes = arrival.content.size_bytes
    if file.result.outcome is not ParseOutcome.REFUSED:
        file.sha256 = _hash(arrival.content)
        file.path = _copy(home, arrival.content, file.sha256)
    return file


def _hash(content: Content) -> str:
    digest = hashlib.sha256()
    with content.open() as source:
        while chunk := source.read(_HASH_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _copy(home: Path, content: Content, sha256: str) -> str:
    """Keep a file under its own hash; return its path below the service's folder."""
    relative = Path("results") / sha256[:2] / sha256
    target = home / relative
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{sha256}.{os.getpid()}-{threading.get_ident()}.part")
        with content.open() as source, partial.open("wb") as copy:
            shutil.copyfileobj(source, copy, _HASH_BYTES)
        partial.rename(target)
    return relative.as_posix()


def _keep(context: Context, origin: Origin, batch: Sequence[_File], *, who: str, replace: bool) -> list[Deposited]:
    """Write one batch in one transaction; return what became of its files."""
    if not batch:
        return []
    now = context.clock.now()
    with context.store.write() as session:
        deposits.hold(session)
        desk = open_desk(session, origin, now=now)
        answers = _Clerk(session, desk, who=who, replace=replace, now=now).take(batch)
        counts = {status: sum(a.status == status for a in answers) for status in STATUSES}
        if counts["stored"]:
            audit.record(
                session,
                at=now,
                who=who,
                event="results:ingested",
                subject=f"{origin.component}/{desk.release}",
                files=[a.name for a in answers if a.status == "stored"][:20],
                **counts,
            )
    log.info("results.ingested", component=origin.component, release=origin.release, **counts)
    return answers


class _Clerk:
    """Decides for each file of a batch whether it is new, and writes what is."""

    def __init__(self, session: Session, desk: Desk, *, who: str, replace: bool, now: datetime) -> None:
        self._session, self._desk, self._who, self._replace, self._now = session, desk, who, replace, now

    def take(self, batch: Sequence[_File]) -> list[Deposited]:
        """Return what became of each file, in order."""
        readable = [file for file in batch if file.sha256]
        for file in readable:
            file.key = self._desk.file_key(file.name, file.result)
        known = deposits.stored_files(self._session, [f"{file.key}-0" for file in readable])
        contents = deposits.same_content(self._session, self._desk.where, [file.sha256 for file in readable])
        answers: dict[int, Deposited] = {}
        new: list[_File] = []
        taken: set[str] = set()
        for file in batch:
            answer = self._answer(file, known, contents, replace=self._replace and file.key not in taken)
            if answer is not None:
                answers[id(file)] = answer
                continue
            new.append(file)
            taken.add(file.key)
            known[f"{file.key}-0"] = file.sha256
            contents[file.sha256] = file.name
        self._build(new)
        answers |= self._write(new)
        return [answers[id(file)] for file in batch]

    def _answer(
        self, file: _File, known: Mapping[str, str], contents: Mapping[str, str], *, replace: bool
    ) -> Deposited | None:
        """Return what becomes of a file that is not written; None for one that is."""
        if not file.sha256:
            return _answer(file, "refused", file.result.reason)
        if file.sha256 in contents:
            earlier = contents[file.sha256]
            return _answer(file, "unchanged", "already stored" + ("" if earlier == file.name else f" as {earlier}"))
        if problem := self._desk.problem(file.result):
            return _answer(file, "refused", problem)
        if f"{file.key}-0" in known and not replace:
            return _answer(
                file,
                "conflict",
                f"a result named {file.name} of this release and host is stored with other content; hand it in under"
                " another name or --at another time if it is a further repeat, or --replace the stored one",
            )
        return None

    def _build(self, files: Sequence[_File]) -> None:
        """Make the rows of the files' results; configs and suite revisions are saved together."""
        for file in files:
            output: dict[str, Any] = {"kind": "result", "name": file.name, "path": file.path}
            output |= {"size_bytes": file.size_bytes, "sha256": file.sha256}
            file.runs = self._desk.runs_of(self._session, file.key, file.result, output)

    def _write(self, files: Sequence[_File]) -> dict[int, Deposited]:
        replaced = (
            {id(file) for file in files if deposits.keys_of_file(self._session, file.key)} if self._replace else set()
        )
        fresh = [run for file in files if id(file) not in replaced for run in file.runs]
        ids = dict(
            zip(
                [run.key for run in fresh],
                deposits.add(self._session, self._desk.where, fresh, who=self._who, now=self._now),
                strict=True,
            )
        )
        answers = {}
        for file in files:
            if id(file) in replaced:
                ids |= self._replace_file(file)
            answers[id(file)] = _answer(
                file,
                "replaced" if id(file) in replaced else "stored",
                "; ".join(dict.fromkeys(run.reason for run in file.runs if run.reason)),
                runs=tuple(ids[run.key] for run in file.runs),
            )
        return answers

    def _replace_file(self, file: _File) -> dict[str, str]:
        """Give a file's stored results their new values; return the public ids by key."""
        there = set(deposits.keys_of_file(self._session, file.key))
        kept = [run for run in file.runs if run.key in there]
        added = [run for run in file.runs if run.key not in there]
        gone = sorted(there - {run.key for run in file.runs})
        replaced = deposits.replace(self._session, self._desk.where, kept, now=self._now)
        new = deposits.add(self._session, self._desk.where, added, who=self._who, now=self._now)
        deposits.drop_results(self._session, gone, reason=f"replaced by {self._who}: no longer in it", now=self._now)
        ids = dict(zip([run.key for run in kept + added], replaced + new, strict=True))
        audit.record(
            self._session,
            at=self._now,
            who=self._who,
            event="result:replaced",
            subject=f"{self._desk.component}/{self._desk.release}",
            file=file.name,
            sha256=file.sha256,
            runs=sorted(ids.values()),
        )
        return ids


def _answer(file: _File, status: str, reason: str, runs: tuple[str, ...] = ()) -> Deposited:
    return Deposited(
        name=file.shown,
        status=status,
        tool=file.result.tool,
        outcome=file.result.outcome.value,
        reason=reason,
        runs=runs,
        values=sum(len(run.values) for run in file.runs),
        set_aside=sum(len(run.set_aside) for run in file.runs),
        unnamed=sum(run.unnamed and bool(run.values) for run in file.runs),
    )
