"""prune: what attempts left is removed once it is old; measurements, runs and hashes stay for ever."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.store import audit
from tracker.store.engine import Session
from tracker.store.runs import FINAL_STATES
from tracker.store.views.runs import RunItem, list_runs, show_run

log = EventLog(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldAttempt:
    """The folder of an attempt whose run ended long ago."""

    run: str
    release: str
    folder: Path
    size_bytes: int
    finished_at: datetime


def find_old(context: Context) -> list[OldAttempt]:
    """Return what `prune` would remove now, oldest first."""
    before = context.clock.now() - timedelta(days=context.settings.keep_outputs_days)
    root = context.settings.home / "attempts"
    found = []
    with context.store.read() as session:
        for run in _ended_runs(session, before):
            detail = show_run(session, run.id)
            folders = [root / attempt.key for attempt in detail.attempts] if detail else []
            found += [_make_old(run, folder) for folder in folders if folder.parent == root and folder.is_dir()]
    return sorted(found, key=lambda old: old.finished_at)


def _ended_runs(session: Session, before: datetime) -> Iterator[RunItem]:
    """Yield the runs that reached their end before that moment."""
    for state in FINAL_STATES:
        cursor: str | None = None
        while True:
            page = list_runs(session, state=state, limit=500, cursor=cursor)
            yield from (run for run in page.items if run.finished_at is not None and run.finished_at < before)
            if (cursor := page.next) is None:
                break


def _make_old(run: RunItem, folder: Path) -> OldAttempt:
    assert run.finished_at is not None
    return OldAttempt(
        run=run.id,
        release=f"{run.component}/{run.release.identity}",
        folder=folder,
        size_bytes=sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()),
        finished_at=run.finished_at,
    )


def prune(context: Context, found: Sequence[OldAttempt], *, who: str) -> int:
    """Remove these folders; return the bytes that were freed. A folder that cannot be removed is left and logged."""
    freed = 0
    for old in found:
        try:
            shutil.rmtree(old.folder)
        except OSError as error:
            log.warning("prune.failed", folder=old.folder, why=str(error))
            continue
        freed += old.size_bytes
    if found:
        with context.store.write() as session:
            audit.record(
                session,
                at=context.clock.now(),
                who=who,
                event="outputs:pruned",
                subject=str(context.settings.home),
                attempts=[old.folder.name for old in found],
                freed_bytes=freed,
            )
    return freed
