"""Release notes with nothing but the command line: asked for, shown, and never in the way of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.github import GitHub, serve_github
from tests.fakes.odd_registry import OddRegistry, Reply, serve_odd_registry
from tests.tracker.cli.conftest import Tracker

NAME = "owner/thing"
LIST = f"GET /repos/{NAME}/releases"


@pytest.fixture
def github(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """A GitHub and a registry that the settings name for the component `thing`; 1.0.0 is in both."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with serve_github() as running, serve_odd_registry() as registry:
        registry.add_image("1.0.0")
        running.publish(NAME, "v1.0.0", name="Thing 9.9", body="* twice as <b>fast</b>")
        home.mkdir()
        (home / "tracker.toml").write_text(settings_text(registry, running))
        yield running


def settings_text(registry: OddRegistry, github: GitHub, more: str = "") -> str:
    return f"""suites = []
[[sources]]
component = "thing"
kind = "oci_registry"
repository = "{registry.name}"
platforms = ["linux/amd64"]

[[release_notes]]
component = "thing"
repository = "{NAME}"
api = "{github.api}"
{more}"""


def test_notes_are_found_by_the_tag_and_shown_with_the_release(github: GitHub, tracker: Tracker):
    github.publish(NAME, "gateway-v3.0.0")
    answer = tracker("releases", "check")
    assert answer.code == 0
    assert "release notes of thing: 1 release, 1 new; no release of it: gateway-v3.0.0" in answer.err

    shown = tracker("releases", "show", "1.0.0")
    url = "https://github.example.com/owner/thing/releases/tag/v1.0.0"
    assert f"release notes: {url} (Thing 9.9, 2026-01-02)" in shown.err
    notes = tracker("releases", "show", "1.0.0", "--json").data["notes"]
    assert notes == {
        "url": url,
        "title": "Thing 9.9",
        "tag": "v1.0.0",
        "prerelease": False,
        "published_at": "2026-01-02T03:04:05Z",
        "excerpt": "* twice as <b>fast</b>",
    }


def test_a_release_without_notes_has_none(github: GitHub, tracker: Tracker):
    github.releases[NAME].clear()
    tracker("releases", "check")
    assert tracker("releases", "show", "1.0.0", "--json").data["notes"] is None
    assert "release notes" not in tracker("releases", "show", "1.0.0").err


@pytest.mark.parametrize(
    "reply", [Reply(status=503), Reply(status=403, headers={"Retry-After": "30"}), Reply(body=b"<html>")], ids=str
)
def test_a_github_that_is_away_does_not_hold_up_the_registry(github: GitHub, tracker: Tracker, reply: Reply):
    github.replies[LIST] = reply
    answer = tracker("releases", "check", "--json")
    assert answer.code == 0
    assert [item["new_builds"] for item in answer.data["items"]] == [1]
    (notes,) = answer.data["release_notes"]
    assert (notes["notes"], notes["new"]) == (None, None)
    assert notes["problem"].startswith("GitHub 127.0.0.1: ")
    assert "release notes of thing: not known: GitHub 127.0.0.1: " in tracker("releases", "check").err


def test_a_repository_that_is_not_there_is_told_after_the_registry_was_asked(github: GitHub, tracker: Tracker):
    github.releases.clear()
    answer = tracker("releases", "check")
    assert answer.code == 2
    assert "oci_registry" in answer.out
    assert "no repository owner/thing (HTTP 404): check the name" in answer.err


def test_the_doctor_says_whether_notes_can_be_read(github: GitHub, tracker: Tracker):
    def check() -> tuple[str, str]:
        items = tracker("doctor", "--json").data["items"]
        return next((one["state"], one["found"]) for one in items if one["name"] == "release notes of thing")

    assert check() == ("ok", "of 1 release")
    github.releases[NAME][0]["tag_name"] = "gateway-v1"
    assert check() == ("warn", "1 found, none of a release of thing")
    github.replies[LIST] = Reply(status=503)
    assert check() == ("warn", "GitHub 127.0.0.1: answered HTTP 503")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('token_variable = "NOT_SET"', "the variable NOT_SET is not set"),
        ('repositry = "x"', "unknown key 'release_notes.0.repositry'; did you mean repository"),
        ('[[release_notes]]\ncomponent = "thing"\nrepository = "a/b"', "expected one entry for thing, found 2"),
        ('[[release_notes]]\ncomponent = "other"\nrepository = "https://github.com/a/b"', "expected OWNER/NAME"),
        ('[[release_notes]]\ncomponent = "other"\nrepository = "a/b"\napi = "http://x.example"', "expected an https"),
    ],
)
def test_wrong_settings_are_told(github: GitHub, home: Path, tracker: Tracker, more: str, told: str):
    file = home / "tracker.toml"
    file.write_text(file.read_text() + more + "\n")
    answer = tracker("releases", "check")
    assert answer.code == 2
    assert told in answer.err


def test_the_token_of_the_named_variable_goes_along_and_githubs_own_does_not_go_elsewhere(
    github: GitHub, home: Path, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_usual")
    monkeypatch.setenv("OTHER_TOKEN", "ghp_other")
    tracker("releases", "check")
    file = home / "tracker.toml"
    file.write_text(file.read_text() + 'token_variable = "OTHER_TOKEN"\n')
    tracker("releases", "check")
    assert [request.headers.get("authorization") for request in github.requests] == [None, "Bearer ghp_other"]


def test_the_token_of_the_usual_variable_is_for_github_itself(home: Path, monkeypatch: pytest.MonkeyPatch):
    from tracker.registries import open_release_notes
    from tracker.setting_tables import ReleaseNotesSettings

    monkeypatch.setenv("GITHUB_TOKEN", "two words")
    entry = ReleaseNotesSettings(component="thing", repository=NAME)
    with pytest.raises(Exception, match="the token in GITHUB_TOKEN holds blanks"):
        open_release_notes(entry, cache=home)
    open_release_notes(entry.model_copy(update={"api": "https://github.example.com/api/v3"}), cache=home)
