"""release_notes: asks publishers what they write about their releases and keeps it beside them.

A side look that nothing waits for: releases are found, measured and told of by what the sources say, whether or not
their publisher's notes can be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from jobs.errors import JobsError
from jobs.fingerprint import fingerprint
from jobs.release_notes.note import NotesAnswer, ReleaseNote
from jobs.releases import ORDER_RULE_REVISION, Tag, read_tag
from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.pipeline.cursors import is_due, note_answer, note_problem
from tracker.setting_tables import ReleaseNotesSettings
from tracker.store import catalog
from tracker.store.engine import Session
from tracker.store.release_notes import save_notes
from tracker.store.views.release_notes import find_notes

log = EventLog(__name__)

AT_MOST_EVERY = timedelta(hours=1)
"""Publishers count requests: without a token GitHub answers 60 an hour."""
RETRY_AFTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesLook:
    """What came of asking for the notes of a component's releases."""

    notes: int = 0
    """Releases whose notes are known."""
    new: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    """Published tags that are no release with a place, with the reason."""
    unreadable: tuple[tuple[str, str], ...] = ()


def ask_for_notes(context: Context, entry: ReleaseNotesSettings, *, force: bool = False) -> NotesLook:
    """Ask for the notes that an entry of the settings names if it is time (or `force`); return what came of it.

    A publisher that is away, or answers rubbish, is noted and changes nothing else; with `force` its error is raised.
    """
    now, name = context.clock.now(), f"release_notes {entry.component}"
    every = max(timedelta(seconds=context.settings.watch_every_s), AT_MOST_EVERY)
    with context.store.write() as session:
        if not force and not is_due(catalog.cursor_of(session, name), every, now, after_trouble=RETRY_AFTER):
            return NotesLook()
    try:
        answer = context.open_release_notes(entry).list_notes()
    except JobsError as error:
        with context.store.write() as session:
            note_problem(session, name, error, now)
        log.warning("release_notes.unavailable", component=entry.component, why=str(error))
        if force:
            raise
        return NotesLook()
    notes, left_out = match_releases(answer.notes, entry.component)
    new = 0
    with context.store.write() as session:
        if note_answer(catalog.cursor_of(session, name), _mark(f"{entry.api}/{entry.repository}", answer), now):
            component_id = catalog.component_id(session, entry.component)
            new = save_notes(session, component_id, notes, is_whole=answer.is_whole, now=now)
    if new:
        log.info("release_notes.found", component=entry.component, releases=new)
    return NotesLook(notes=len(notes), new=new, left_out=left_out, unreadable=answer.unreadable)


def match_releases(
    notes: tuple[ReleaseNote, ...], component: str
) -> tuple[dict[str, ReleaseNote], tuple[tuple[str, str], ...]]:
    """Return the notes by the identity of the release that their tag names, and the tags that name none.

    Of several tags of one release the one without a variant counts, then the first.
    """
    found: dict[str, tuple[Tag, ReleaseNote]] = {}
    left_out: list[tuple[str, str]] = []
    for note in notes:
        tag = read_tag(note.tag, component)
        if tag.sort_key is None and tag.nightly_key is None:
            left_out.append((note.tag, tag.reason or ""))
        elif tag.identity not in found or (found[tag.identity][0].variant and not tag.variant):
            found[tag.identity] = (tag, note)
    return {identity: note for identity, (_, note) in found.items()}, tuple(left_out)


def links_of(session: Session, component: str, identity: str) -> tuple[tuple[str, str], ...]:
    """Return the link to a release's notes as messages show it; none where no notes are known."""
    notes = find_notes(session, component, identity)
    return (("Release notes", notes.url),) if notes else ()


def _mark(place: str, answer: NotesAnswer) -> str:
    """Return a text that is another one whenever the answer, or how tags are read, is."""
    return fingerprint("release notes", f"{ORDER_RULE_REVISION} {place} {answer.is_whole} {answer.notes!r}")
