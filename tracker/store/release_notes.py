"""Keeping what publishers write about their releases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlmodel import Session, select

from jobs.release_notes.note import ReleaseNote
from tracker.store.tables import ReleaseNoteRow


def save_notes(
    session: Session, component: int, notes: Mapping[str, ReleaseNote], *, is_whole: bool, now: datetime
) -> int:
    """Bring the notes of a component's releases up to date; return how many are new.

    `notes` is by the release's identity. Where nothing was left out, those that are not in it are marked as gone.
    """
    rows = session.exec(select(ReleaseNoteRow).where(ReleaseNoteRow.component_id == component)).all()
    known = {row.identity: row for row in rows}
    for identity, note in notes.items():
        row = known.get(identity) or ReleaseNoteRow(
            component_id=component, identity=identity, tag=note.tag, url=note.url, seen_at=now
        )
        row.tag, row.url, row.title, row.excerpt = note.tag, note.url, note.title, note.excerpt
        row.prerelease, row.published_at, row.gone_at = note.prerelease, note.published_at, None
        session.add(row)
    for identity, row in known.items():
        if is_whole and identity not in notes and row.gone_at is None:
            row.gone_at = now
            session.add(row)
    session.flush()
    return len(notes.keys() - known.keys())
