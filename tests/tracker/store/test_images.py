"""Images in the store, on both databases: pushed again, moved back, deleted, and what is inside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from jobs.protocols import PublishedBuild
from jobs.releases import read_tag
from tracker.store import catalog
from tracker.store.tables import BuildRow, ContainsRow, CursorRow
from tracker.store.views.builds import load_builds

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def save(bench: Any, tag: str, digest: str, *, now: datetime = NOW, **more: Any) -> int:
    """Return the id of a build of an image."""
    build = PublishedBuild(
        tag=tag, kind="image", digest=digest, platform="linux/amd64", location=f"r.example/a@{digest}", **more
    )
    read = read_tag(tag, "thing")
    with bench.store.write() as session:
        release, _ = catalog.save_release(session, bench.component, read, now=now, historic=False)
        row, _ = catalog.save_build(session, release, build, "-".join(read.variant), now=now)
        return row.id or 0


def test_a_build_of_the_same_tag_names_what_it_replaces_and_one_of_another_tag_does_not(bench):
    save(bench, "1.0.0", "sha256:a")
    again = save(bench, "1.0.0", "sha256:b", now=LATER)
    other = save(bench, "v1.0", "sha256:c", now=LATER)

    with bench.store.read() as session:
        assert session.get(BuildRow, again).replaces == "sha256:a"
        assert session.get(BuildRow, other).replaces is None


def test_variants_stand_side_by_side(bench):
    save(bench, "1.0.0", "sha256:a")
    save(bench, "1.0.0-cu130", "sha256:b")
    with bench.store.read() as session:
        assert len(catalog.current_builds(session, bench.component)) == 2


def test_a_build_stands_again_where_its_own_tag_is_moved_back_to_it(bench):
    first, second = save(bench, "1.0.0", "sha256:a"), save(bench, "1.0.0", "sha256:b", now=LATER)
    with bench.store.write() as session:
        row = session.get(BuildRow, first)
        assert catalog.restore_build(session, row, "1.0", now=LATER) is None
        assert catalog.restore_build(session, row, "1.0.0", now=LATER) == "sha256:b"
        assert catalog.restore_build(session, row, "1.0.0", now=LATER) is None
    with bench.store.read() as session:
        assert session.get(BuildRow, first).superseded_at is None
        assert session.get(BuildRow, second).superseded_at == LATER


def test_what_is_inside_is_kept_once(bench):
    build = save(bench, "1.0.0", "sha256:a", facts={"CUDA_VERSION": "13.0"})
    for version in ("13.0", "13.1"):
        with bench.store.write() as session:
            catalog.save_contents(session, build, {"cuda": version})
    with bench.store.read() as session:
        assert [(row.component, row.version) for row in session.exec(select(ContainsRow)).all()] == [("cuda", "13.0")]
        (shown,) = load_builds(session, 1)
    assert (shown.contains, shown.facts) == ({"cuda": "13.0"}, {"CUDA_VERSION": "13.0"})


@pytest.mark.parametrize(
    ("names", "digests", "expected"),
    [
        ({"1.0.0"}, set(), []),
        (set(), {"sha256:a"}, []),
        ({"1.1.0"}, {"sha256:b"}, ["1.0.0"]),
    ],
)
def test_a_build_is_gone_when_neither_its_tag_nor_its_digest_is_named(
    bench, names: set[str], digests: set[str], expected: list[str]
):
    save(bench, "1.0.0", "sha256:a")
    with bench.store.write() as session:
        asked = {"names": names, "digests": digests, "why": "gone"}
        found = catalog.withdraw_missing(session, bench.component, "r.example/a@", **asked)
        assert [build.tag for _, build in found] == expected
        assert catalog.withdraw_missing(session, bench.component, "r.example/a@", **asked) == []
        assert catalog.withdraw_missing(session, bench.component, "r.example/another@", **asked) == []


def test_facts_of_a_known_build_are_brought_up_to_date_and_never_lost(bench):
    build = save(bench, "1.0.0", "sha256:a", facts={"index_digest": "sha256:1"})
    save(bench, "1.0.0", "sha256:a", facts={"index_digest": "sha256:2"})
    save(bench, "1.0.0", "sha256:a")
    with bench.store.read() as session:
        assert session.get(BuildRow, build).facts == '{"index_digest": "sha256:2"}'


def test_a_source_keeps_when_it_may_be_asked_again(bench):
    with bench.store.write() as session:
        catalog.cursor_of(session, "a source").ask_after = LATER
    with bench.store.read() as session:
        assert session.exec(select(CursorRow)).one().ask_after == LATER
