"""Builds, hosts, cursors, tokens and the audit: made on first use, brought up to date, never lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from jobs.protocols import PublishedBuild
from jobs.releases import read_tag
from tracker.errors import UserError
from tracker.store import audit, catalog, hosts, tokens
from tracker.store.tables import BuildRow, EnvironmentRow, TokenRow

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def test_a_build_pushed_again_supersedes_the_older_one_which_is_kept(bench):
    older = bench.publish("1.0.0", "sha256:aa")
    newer = bench.publish("1.0.0", "sha256:bb", now=NOW + timedelta(hours=1))

    with bench.store.read() as session:
        standing = [build.id for _, build in catalog.current_builds(session, bench.component)]
        assert standing == [newer]
        assert session.get(BuildRow, older).superseded_at == NOW + timedelta(hours=1)


def test_the_same_build_seen_again_is_brought_up_to_date(bench):
    first = bench.publish("1.0.0")
    withdrawn = PublishedBuild(
        tag="1.0.0", kind="folder", digest="sha256:1.0.0", platform="any", location="moved", yanked="broken"
    )
    with bench.store.write() as session:
        release, _ = catalog.save_release(session, bench.component, read_tag("1.0.0", "thing"), now=NOW, historic=True)
        row, is_new = catalog.save_build(session, release, withdrawn, "", now=NOW)

    assert (row.id, is_new, row.yanked, row.location, row.superseded_at) == (first, False, "broken", "moved", None)


def test_releases_stand_in_version_order_whatever_the_order_of_arrival(bench):
    for version in ("1.10.0", "1.2.0", "1.9.1", "2.0.0rc1", "2.0.0"):
        bench.publish(version)

    with bench.store.read() as session:
        names = [release.identity for release in catalog.ordered_releases(session, bench.component)]
    assert names == ["1.2.0", "1.9.1", "1.10.0", "2.0.0rc1", "2.0.0"]


def test_a_release_keeps_whether_it_was_there_before_us(bench):
    with bench.store.write() as session:
        tag = read_tag("1.0.0", "thing")
        first, is_new = catalog.save_release(session, bench.component, tag, now=NOW, historic=True)
        again, is_new_again = catalog.save_release(session, bench.component, tag, now=NOW, historic=False)

    assert (is_new, is_new_again, again.id, again.historic) == (True, False, first.id, True)


def test_a_release_is_found_by_name_and_an_unknown_one_says_where_to_look(bench):
    bench.publish("1.0.0")

    with bench.store.read() as session:
        component, release = catalog.find_release(session, "thing/1.0.0")
        assert (component.slug, release.identity) == ("thing", "1.0.0")
        with pytest.raises(UserError, match="tracker releases list"):
            catalog.find_release(session, "9.9")
        with pytest.raises(UserError, match="no component named 'other'; known: thing"):
            catalog.find_release(session, "other/1.0")


def test_a_host_that_was_refitted_moves_to_its_new_hardware_class(bench):
    with bench.store.write() as session:
        other = hosts.save_hardware_class(session, fingerprint="hw2", slug="cpu-4", labels="{}")
        again = hosts.save_host(session, slug="host-a", hardware_class_id=other, now=NOW)

    assert again == bench.host


def test_equal_environments_are_one_row(bench):
    with bench.store.write() as session:
        ids = {hosts.save_environment(session, fingerprint="e1", facts="{}") for _ in range(2)}
        assert len(session.exec(select(EnvironmentRow)).all()) == 1
    assert len(ids) == 1


def test_what_lies_outside_a_suites_hash_is_brought_up_to_date(bench):
    with bench.store.write() as session:
        same = catalog.save_suite_revision(
            session,
            name="suite",
            title="A better title",
            component=bench.component,
            content_hash="c0",
            file="suite.toml",
            text="new limits",
            now=NOW,
        )
    assert same == bench.suite


def test_a_token_is_known_by_its_text_and_kept_as_a_hash(bench):
    with bench.store.write() as session:
        token = tokens.create_token(session, "ci", now=NOW)
    with bench.store.write() as session:
        assert tokens.verify_token(session, token, now=NOW) == "ci"
        assert tokens.verify_token(session, token + "x", now=NOW) is None
        row = session.exec(select(TokenRow)).one()

    assert row.used_at == NOW
    assert token not in (row.hash, row.name)


def test_a_revoked_token_is_refused_and_its_name_stays_taken(bench):
    with bench.store.write() as session:
        token = tokens.create_token(session, "ci", now=NOW)
    with bench.store.write() as session:
        tokens.revoke_token(session, "ci", now=NOW)
    with bench.store.write() as session:
        assert tokens.verify_token(session, token, now=NOW) is None
        with pytest.raises(UserError, match="no token named 'ci' in use"):
            tokens.revoke_token(session, "ci", now=NOW)
        with pytest.raises(UserError, match="there is a token named 'ci' already"):
            tokens.create_token(session, "ci", now=NOW)


def test_a_token_needs_a_name(bench):
    with bench.store.write() as session, pytest.raises(UserError, match="needs a name"):
        tokens.create_token(session, "  ", now=NOW)


def test_the_audit_tells_the_newest_first_and_of_one_subject_when_asked(bench):
    with bench.store.write() as session:
        for number, subject in enumerate(["run-1", "run-2", "run-1"]):
            audit.record(
                session, at=NOW + timedelta(seconds=number), who="ann", event="run:read", subject=subject, no=number
            )

    with bench.store.read() as session:
        assert [row.detail for row in audit.latest(session, subject="run-1")] == ['{"no": 2}', '{"no": 0}']
        assert len(audit.latest(session, limit=2)) == 2


def test_what_is_told_of_a_change_that_did_not_happen_is_not_kept(bench):
    def fail() -> None:
        with bench.store.write() as session:
            audit.record(session, at=NOW, who="ann", event="run:read", subject="run-1")
            raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        fail()

    with bench.store.read() as session:
        assert audit.latest(session) == []


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[2J", "x" * 81, "page"])
def test_a_token_s_name_can_be_read_and_mistaken_for_nobody_else(bench, name: str):
    with pytest.raises(UserError, match="name"), bench.store.write() as session:
        tokens.create_token(session, name, now=NOW)
    with bench.store.read() as session:
        assert tokens.list_tokens(session) == []
