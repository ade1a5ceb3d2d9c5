"""A container registry, watched with nothing but the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.odd_registry import OddRegistry, Reply, serve_odd_registry
from tests.tracker.cli.conftest import Tracker


@pytest.fixture
def registry(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OddRegistry]:
    """A registry that the settings name as a source of the component `thing`; its version 1.0.0 is there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with serve_odd_registry() as running:
        running.add_image("1.0.0", env=["CUDA_VERSION=13.0.1"])
        home.mkdir()
        source = f'component = "thing"\nkind = "oci_registry"\nrepository = "{running.name}"\n'
        (home / "tracker.toml").write_text(f'suites = []\n[[sources]]\n{source}platforms = ["linux/amd64"]\n')
        yield running


def test_a_new_tag_is_found_at_the_next_look(registry: OddRegistry, tracker: Tracker):
    first = tracker("releases", "check")
    assert first.code == 0
    assert f"thing: oci_registry {registry.name}" in first.out
    registry.add_image("1.1.0")
    registry.add_image("latest")

    (item,) = tracker("releases", "check", "--json").data["items"]
    assert (item["new_builds"], item["builds"], item["planned_runs"], item["suite"]) == (1, 2, None, None)
    assert item["left_out"] == [{"name": "latest", "reason": "a moving tag"}]
    listed = tracker("releases", "list", "--json").data["items"]
    assert [one["identity"] for one in listed] == ["1.1.0", "1.0.0"]


def test_what_is_left_out_is_said_once_a_reason(registry: OddRegistry, tracker: Tracker):
    for name in ("latest", "main", "stable", "edge", "nightly"):
        registry.add_image(name)
    registry.add_image("1.2.0")
    registry.tags["1.2.0"] = f"sha256:{'0' * 64}"

    answer = tracker("releases", "check")
    assert "left out: " in answer.err
    assert "not understood: 1.2.0: listed, but the registry has nothing under it that is an image" in answer.err


def test_a_tag_pushed_again_shows_both_builds(registry: OddRegistry, tracker: Tracker):
    tracker("releases", "check")
    registry.add_image("1.0.0", mark="again", env=["CUDA_VERSION=13.0.2"])
    tracker("releases", "check")

    shown = tracker("releases", "show", "thing/1.0.0")
    states = [line.split()[5:] for line in shown.out.splitlines() if line.startswith("image")]
    assert [words[-2:-1] for words in states] == [["superseded"], ["again"]]
    assert "inside 1.0.0: cuda 13.0.2" in shown.err
    data = tracker("releases", "show", "1.0.0", "--json").data
    assert data["release"] == "thing/1.0.0"
    assert [build["superseded"] for build in data["builds"]] == [True, False]
    assert data["builds"][1]["replaces"] == data["builds"][0]["digest"]
    assert "build:pushed_again" in tracker("audit").out


def test_a_registry_in_trouble_ends_with_the_code_for_trying_later(registry: OddRegistry, tracker: Tracker):
    registry.replies[f"GET /v2/{registry.name.partition('/')[2]}/tags/list"] = Reply(
        status=429, headers={"Retry-After": "30"}
    )
    answer = tracker("releases", "check")
    assert answer.code == 3
    assert "too many requests; it asks to wait 30 s" in answer.err


def test_wrong_options_of_a_source_are_told(home: Path, tracker: Tracker):
    home.mkdir()
    (home / "tracker.toml").write_text('[[sources]]\ncomponent = "thing"\nkind = "oci_registry"\nrepositry = "a/b"\n')
    answer = tracker("releases", "check")
    assert answer.code == 2
    assert "source oci_registry: unknown option 'repositry'" in answer.err
    assert "did you mean 'repository'" in answer.err


def test_the_doctor_asks_the_sources_of_the_settings(registry: OddRegistry, tracker: Tracker):
    assert "releases of thing: 1 builds, 1 of them fit here" in tracker("doctor").out
