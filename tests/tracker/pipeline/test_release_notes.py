"""Release notes beside releases: found by the tag, never by the title, and nothing waits for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs.errors import TryLater
from jobs.errors import UserError as JobsUserError
from jobs.release_notes.note import ReleaseNote
from tests.tracker.pipeline.kit import SLOW, Recorder, Service
from tracker.pipeline.release_notes import ask_for_notes, match_releases
from tracker.setting_tables import ReleaseNotesSettings
from tracker.store.tables import CursorRow, ReleaseNoteRow
from tracker.store.views.release_notes import find_notes
from tracker.store.views.releases import show_release

ENTRY = ReleaseNotesSettings(component="thing", repository="owner/thing")


def note(tag: str, **more: Any) -> ReleaseNote:
    return ReleaseNote(tag=tag, url=f"https://github.example.com/releases/{tag}", **more)


def linked(service: Service, identity: str) -> str | None:
    with service.store.read() as session:
        found = find_notes(session, "thing", identity)
    return found.url.rpartition("/")[2] if found else None


@pytest.mark.parametrize(
    ("tag", "identity"),
    [
        ("v0.21.0", "0.21.0"),
        ("v1.0.0rc4", "1.0.0rc4"),
        ("v0.5.5.post3", "0.5.5.post3"),
        ("thing-1.2", "1.2.0"),
        ("26.02-py3", "26.02"),
        ("v1.3.0-rc1", "1.3.0rc1"),
    ],
)
def test_a_tag_names_the_release_that_the_same_tag_of_an_image_names(tag: str, identity: str):
    found, left_out = match_releases((note(tag, title="Release 9.9.9"),), "thing")
    assert (list(found), left_out) == ([identity], ())


def test_tags_of_other_software_and_branches_are_left_out_with_the_reason():
    found, left_out = match_releases((note("gateway-v0.3.1"), note("latest"), note("release/1.0")), "thing")
    assert found == {}
    assert [tag for tag, reason in left_out if reason] == ["gateway-v0.3.1", "latest", "release/1.0"]


def test_of_two_tags_of_one_release_the_plain_one_counts_then_the_first():
    found, _ = match_releases((note("v1.0.0-cu130"), note("v1.0.0"), note("1.0")), "thing")
    assert found["1.0.0"].tag == "v1.0.0"


def test_notes_are_kept_for_known_releases_and_for_those_that_come_later(service: Service):
    service.publish("1.0.0")
    service.look()
    service.publisher.notes = [note("v1.1.0", prerelease=True), note("v1.0.0", excerpt="faster")]
    look = ask_for_notes(service.context, ENTRY, force=True)
    assert (look.notes, look.new) == (2, 2)
    service.publish("1.1.0")
    service.look()
    with service.store.read() as session:
        old, new = (show_release(session, "thing", name) for name in ("1.0.0", "1.1.0"))
    assert old is not None
    assert new is not None
    assert old.notes is not None
    assert new.notes is not None
    assert (old.notes.excerpt, new.notes.prerelease) == ("faster", True)


def test_asked_again_nothing_changes_and_what_changed_is_brought_up_to_date(service: Service):
    service.publisher.notes = [note("v1.0.0", excerpt="one"), note("v1.1.0")]
    ask_for_notes(service.context, ENTRY, force=True)
    assert ask_for_notes(service.context, ENTRY, force=True).new == 0
    service.publisher.notes = [note("v1.0.0", excerpt="two")]
    ask_for_notes(service.context, ENTRY, force=True)
    assert (linked(service, "1.0.0"), linked(service, "1.1.0")) == ("v1.0.0", None)
    assert [row.excerpt for row in service.rows(ReleaseNoteRow)] == ["two", ""]


def test_another_repository_with_the_same_answer_is_kept_too(service: Service):
    service.publisher.notes = [note("v1.0.0")]
    ask_for_notes(service.context, ENTRY, force=True)
    service.publisher.notes = []
    ask_for_notes(service.context, ENTRY.model_copy(update={"repository": "owner/other"}), force=True)
    assert linked(service, "1.0.0") is None
    service.publisher.notes = [note("v1.0.0")]
    ask_for_notes(service.context, ENTRY, force=True)
    assert linked(service, "1.0.0") == "v1.0.0"


def test_notes_are_asked_for_once_an_hour_at_most(make_service: Callable[..., Service]):
    service = make_service(watch_every_s=60)
    for minutes, asked in ((0, 1), (30, 1), (31, 2)):
        service.clock.advance(minutes * 60)
        ask_for_notes(service.context, ENTRY)
        assert service.publisher.asked == asked


def test_a_publisher_that_is_away_is_asked_again_when_it_said_and_what_is_known_stays(service: Service):
    service.publisher.notes = [note("v1.0.0")]
    ask_for_notes(service.context, ENTRY, force=True)
    service.publisher.trouble = TryLater("too many requests", after_s=7200)
    service.clock.advance(3600)
    ask_for_notes(service.context, ENTRY)
    assert linked(service, "1.0.0") == "v1.0.0"
    (cursor,) = [row for row in service.rows(CursorRow) if row.source.startswith("release_notes")]
    assert cursor.problem == "too many requests"
    assert cursor.ask_after == service.clock.now() + timedelta(hours=2)
    service.clock.advance(7199)
    ask_for_notes(service.context, ENTRY)
    assert service.publisher.asked == 2
    service.publisher.trouble = None
    service.clock.advance(1)
    ask_for_notes(service.context, ENTRY)
    assert service.publisher.asked == 3


def test_asked_by_hand_the_trouble_is_raised(service: Service):
    service.publisher.trouble = JobsUserError("no repository")
    with pytest.raises(JobsUserError, match="no repository"):
        ask_for_notes(service.context, ENTRY, force=True)
    ask_for_notes(service.context, ENTRY)


def test_what_is_told_of_a_release_links_its_notes(seasoned: Service):
    seasoned.publisher.notes = [note("v1.6.0")]
    ask_for_notes(seasoned.context, ENTRY, force=True)
    seasoned.publish("1.6.0", level=SLOW)
    seasoned.go()
    console = seasoned.sinks["console"]
    assert isinstance(console, Recorder)
    told = {one.kind.value: one.message.links for one in console.sent}
    link = (("Release notes", "https://github.example.com/releases/v1.6.0"),)
    assert told == {"alert": link, "summary": link}
