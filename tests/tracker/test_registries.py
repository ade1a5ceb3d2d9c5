"""Registries and sources in the settings: what may stand there, where passwords come from, and that none is shown."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from jobs.errors import UserError as JobsUserError
from tests.fakes.odd_registry import serve_odd_registry
from tracker.app import App
from tracker.cli.settings_text import write_settings
from tracker.errors import UserError
from tracker.registries import find_access, login_for
from tracker.settings import Settings, load_settings

SECRET = "hush-hush"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path))
    return tmp_path


def settings_with(home: Path, text: str) -> Settings:
    (home / "tracker.toml").write_text(text)
    return load_settings()


def password_of(settings: Settings) -> str:
    access = find_access(settings, "nvcr.io")
    assert access is not None
    assert access.login is not None
    return access.login.password


def registry(**keys: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"host": "nvcr.io", **keys}.items()]
    return "[[registries]]\n" + "\n".join(lines) + "\n"


def test_a_password_comes_from_the_file_a_variable_or_the_settings(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NGC_API_KEY", f"{SECRET}-1")
    (home / "key").write_text(f"{SECRET}-2\nsecond line\n")
    places = {"password_variable": "NGC_API_KEY", "password_file": str(home / "key"), "password": f"{SECRET}-3"}
    found = [
        password_of(settings_with(home, registry(username="$oauthtoken", **{key: value})))
        for key, value in places.items()
    ]
    assert found == [f"{SECRET}-1", f"{SECRET}-2", f"{SECRET}-3"]


def test_a_registry_may_have_no_login(home: Path):
    access = find_access(settings_with(home, registry(plain_http=True, ca_file="~/ca.pem")), "nvcr.io")
    assert access is not None
    assert (access.login, access.plain_http, access.ca_file) == (None, True, Path("~/ca.pem").expanduser())


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"username": "me"}, "found a username with none of them"),
        ({"password": SECRET}, "found no username with password"),
        (
            {"username": "me", "password": SECRET, "password_file": "/key"},
            "a username with password and password_file",
        ),
        ({"username": "me", "pasword": SECRET}, "unknown key 'registries.0.pasword'; did you mean password"),
        ({"username": "me", "password": [SECRET]}, "'registries.0.password': Input should be a valid string"),
    ],
)
def test_a_login_that_is_not_whole_is_refused_without_showing_it(home: Path, keys: dict[str, object], told: str):
    with pytest.raises(UserError) as error:
        settings_with(home, registry(**keys))
    assert told in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("keys", "content", "told"),
    [
        ({"password_variable": "NOT_SET_HERE"}, None, "the variable NOT_SET_HERE is not set"),
        ({"password_file": "KEY"}, None, "KEY cannot be read: No such file"),
        ({"password_file": "KEY"}, b"\n" + SECRET.encode(), "its first line is empty"),
        ({"password_file": "KEY"}, b"\xff" + SECRET.encode(), "cannot be read: it is not text"),
    ],
)
def test_a_password_that_is_not_where_it_should_be_is_told(
    home: Path, keys: dict[str, str], content: bytes | None, told: str
):
    file = home / "KEY"
    if content is not None:
        file.write_bytes(content)
    given = {key: value.replace("KEY", str(file)) if key == "password_file" else value for key, value in keys.items()}
    settings = settings_with(home, registry(username="me", **given))
    with pytest.raises(JobsUserError, match=rf"\[\[registries\]\] nvcr\.io: .*{told}") as error:
        find_access(settings, "nvcr.io")
    assert find_access(settings, "docker.io") is None
    assert SECRET not in str(error.value)


def test_settings_never_show_a_password(home: Path):
    settings = settings_with(home, registry(username="me", password=SECRET))
    assert SECRET not in repr(settings)
    assert SECRET not in repr(find_access(settings, "nvcr.io"))


def test_lists_may_be_given_as_variables(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRACKER_SOURCES", '[{"component": "vllm", "kind": "oci_registry", "repository": "a/b"}]')
    monkeypatch.setenv("TRACKER_REGISTRIES", '[{"host": "docker.io"}]')
    settings = load_settings()
    assert [source.options for source in settings.sources] == [{"repository": "a/b"}]
    assert [one.host for one in settings.registries] == ["docker.io"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[sources]]\nkind = "folder"\n', "'sources.0.component': Field required"),
        ('[[sources]]\ncomponent = "Big Name"\nkind = "folder"\n', "'sources.0.component': String should match"),
    ],
)
def test_a_source_says_whose_releases_it_lists(home: Path, text: str, told: str):
    with pytest.raises(UserError, match=told):
        settings_with(home, text)


def test_the_written_settings_explain_sources_and_registries(home: Path):
    text = write_settings()
    assert tomllib.loads(text) == {}
    for name in ("[[sources]]", "[[registries]]", "[[rules]]"):
        assert f"# {name}\n" in text
    assert "# password_file" in text


@pytest.mark.parametrize(
    "host", ["docker.io", "index.docker.io", "Registry-1.Docker.io", "https://index.docker.io/v1/"]
)
def test_docker_hub_has_many_names_and_is_one_registry(home: Path, host: str):
    settings = settings_with(home, registry(host=host, username="me", password=SECRET))
    assert login_for(settings, "team/thing@sha256:00") == ("me", SECRET)


@pytest.mark.parametrize("host", ["https://nvcr.io", "nvcr.io/nvidia", ""])
def test_what_is_no_registry_is_told_whichever_one_is_asked(home: Path, host: str):
    settings = settings_with(home, registry(host=host))
    with pytest.raises(JobsUserError, match=r"\[\[registries\]\] host .*: expected the registry as image names begin"):
        find_access(settings, "docker.io")


def test_a_reference_is_pulled_with_the_login_of_its_registry(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(home))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    settings = settings_with(home, registry(host="127.0.0.1:5000", username="me", password=SECRET))
    assert login_for(settings, "127.0.0.1:5000/team/thing:1.0") == ("me", SECRET)
    assert login_for(settings, "127.0.0.1:5001/team/thing:1.0") is None


def test_tags_are_read_with_the_name_of_the_component_that_the_settings_give(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_odd_registry() as odd:
        odd.add_image("bench-runtime-v0.5.12-cu130")
        odd.add_image("other-0.5.13")
        answer = (
            App(load_settings()).open_source("oci_registry", {"repository": odd.name}, "bench-runtime").list_builds()
        )
    assert [build.tag for build in answer.builds] == ["bench-runtime-v0.5.12-cu130"]
    assert [name for name, _ in answer.left_out] == ["other-0.5.13"]
