"""What every release source promises, run over every plugin there is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.plugins import FAMILIES, known_plugins, load
from jobs.protocols import PublishedBuild, ReleaseSource

PLUGINS = sorted(known_plugins(FAMILIES["source"], "tracker.source"))


@dataclass
class Stand:
    """A source with something published, and the ways in which that can change."""

    source: ReleaseSource
    publish: Callable[[str], None]
    withdraw_all: Callable[[], None]


def _index_stand(index, tmp_path: Path) -> Stand:  # type: ignore[no-untyped-def]
    files: list[dict[str, object]] = []

    def publish(version: str) -> None:
        digest = f"{len(files) + 1:064x}"
        name = f"demo-{version}-py3-none-any.whl"
        files.append({"filename": name, "url": f"../../{name}", "hashes": {"sha256": digest}})
        index.put_files("demo", files)

    def withdraw_all() -> None:
        index.pages.clear()

    return Stand(load("source", "package_index").create({"package": "demo"}), publish, withdraw_all)


def _folder_stand(index, tmp_path: Path) -> Stand:  # type: ignore[no-untyped-def]
    home = tmp_path / "releases"
    home.mkdir()

    def publish(version: str) -> None:
        (home / version).mkdir()
        (home / version / "program").write_text(f"version {version}")

    def withdraw_all() -> None:
        home.rename(tmp_path / "gone")

    return Stand(load("source", "folder").create({"path": str(home)}), publish, withdraw_all)


def _registry_stand(registry, tmp_path: Path) -> Stand:  # type: ignore[no-untyped-def]
    def publish(version: str) -> None:
        registry.add_image(version)

    return Stand(load("source", "oci_registry").create({"repository": registry.name}), publish, registry.tags.clear)


def _recorded_stand(index, tmp_path: Path) -> Stand:  # type: ignore[no-untyped-def]
    recordings = tmp_path / "demo.jsonl"

    def publish(version: str) -> None:
        with recordings.open("a") as file:
            file.write(json.dumps({"component": "demo", "version": version}) + "\n")

    options = {"path": str(tmp_path), "component": "demo"}
    return Stand(load("source", "recorded").create(options), publish, recordings.unlink)


STANDS = {
    "recorded": _recorded_stand,
    "package_index": _index_stand,
    "folder": _folder_stand,
    "oci_registry": _registry_stand,
}
SERVERS = {"oci_registry": "odd_registry"}
"""The fixture that a stand needs, where it is not the package index."""
KEYS = {"package_index": "package", "oci_registry": "repository"}
"""The option that each needs, where it is not `path`."""


@pytest.fixture(params=PLUGINS)
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    server = request.getfixturevalue(SERVERS.get(request.param, "index"))
    made: Stand = STANDS[request.param](server, tmp_path)
    for version in ("1.0.0", "1.10.0", "1.2.0rc1"):
        made.publish(version)
    return made


def test_every_plugin_is_tried_here() -> None:
    assert set(STANDS) == set(PLUGINS), "give a new source its stand in this file"


def test_what_is_published_is_listed_once_with_its_name(stand: Stand) -> None:
    answer = stand.source.list_builds()
    assert sorted(build.tag for build in answer.builds) == ["1.0.0", "1.10.0", "1.2.0rc1"]
    assert answer.unreadable == ()


def test_every_build_has_an_identity_a_platform_and_a_place_to_get_it_from(stand: Stand) -> None:
    builds = stand.source.list_builds().builds
    assert all(isinstance(build, PublishedBuild) and build.platform and build.location for build in builds)
    assert all(re.fullmatch(r"(name-)?sha256:[0-9a-f]{64}", build.digest) for build in builds)
    assert all(build.kind in ("wheel", "image", "folder", "recording") for build in builds)
    assert all(build.published_at is None or build.published_at.tzinfo is not None for build in builds)
    assert len({(build.digest, build.platform) for build in builds}) == len(builds)


def test_the_same_answer_has_the_same_cursor(stand: Stand) -> None:
    first, second = stand.source.list_builds(), stand.source.list_builds()
    assert first == second
    assert first.cursor


def test_a_new_release_changes_the_cursor_and_leaves_the_others_as_they_were(stand: Stand) -> None:
    before = stand.source.list_builds()
    stand.publish("1.11.0")
    after = stand.source.list_builds()
    assert after.cursor != before.cursor
    assert [build for build in after.builds if build in before.builds] == list(before.builds)
    assert {build.tag for build in after.builds} - {build.tag for build in before.builds} == {"1.11.0"}


def test_a_publisher_that_is_gone_is_an_error_and_not_an_empty_list(stand: Stand) -> None:
    stand.withdraw_all()
    with pytest.raises(UserError):
        stand.source.list_builds()


@pytest.mark.parametrize("name", PLUGINS)
def test_unknown_missing_and_wrong_options_are_named(name: str) -> None:
    create = load("source", name).create
    with pytest.raises(UserError, match=rf"source {name}: unknown option 'colour', expected .*"):
        create({"colour": "red"})
    with pytest.raises(UserError, match=rf"source {name}: option '\w+' is missing"):
        create({})
    key = KEYS.get(name, "path")
    with pytest.raises(UserError, match=rf"source {name}: option '{key}' must be a text"):
        create({key: 7})
    with pytest.raises(UserError, match=f"did you mean '{key}'"):
        create({key + "s": "x"})
