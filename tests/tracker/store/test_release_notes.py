"""Release notes in the store, on both databases: kept once a release, changed, taken back, published again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.release_notes.note import ReleaseNote
from tracker.store.release_notes import save_notes
from tracker.store.views.release_notes import find_notes

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def note(tag: str, **more: Any) -> ReleaseNote:
    return ReleaseNote(tag=tag, url=f"https://github.example.com/{tag}", **more)


def save(bench: Any, *, is_whole: bool = True, at: datetime = NOW, **notes: ReleaseNote) -> int:
    by_identity = {name.lstrip("v").replace("_", "."): one for name, one in notes.items()}
    with bench.store.write() as session:
        return save_notes(session, bench.component, by_identity, is_whole=is_whole, now=at)


def found(bench: Any, identity: str) -> str | None:
    with bench.store.read() as session:
        notes = find_notes(session, "thing", identity)
    return None if notes is None else f"{notes.tag}: {notes.title}"


def test_notes_are_kept_once_a_release_and_brought_up_to_date(bench):
    assert save(bench, v1_0_0=note("v1.0.0", title="One", published_at=NOW)) == 1
    assert save(bench, v1_0_0=note("v1.0.0", title="One, again"), v1_1_0=note("v1.1.0")) == 1
    assert found(bench, "1.0.0") == "v1.0.0: One, again"
    assert found(bench, "1.1.0") == "v1.1.0: v1.1.0"
    assert found(bench, "1.2.0") is None


def test_notes_that_were_taken_back_are_not_shown_until_they_are_published_again(bench):
    save(bench, v1_0_0=note("v1.0.0"), v1_1_0=note("v1.1.0"))
    save(bench, v1_1_0=note("v1.1.0"), at=NOW + timedelta(hours=1))
    assert (found(bench, "1.0.0"), found(bench, "1.1.0")) == (None, "v1.1.0: v1.1.0")
    assert save(bench, v1_0_0=note("v1.0.0"), v1_1_0=note("v1.1.0")) == 0
    assert found(bench, "1.0.0") == "v1.0.0: v1.0.0"


def test_notes_older_than_those_that_were_read_stay(bench):
    save(bench, v1_0_0=note("v1.0.0"))
    save(bench, v1_1_0=note("v1.1.0"), is_whole=False)
    assert found(bench, "1.0.0") == "v1.0.0: v1.0.0"
