"""Whose login is used, where it comes from, and that it is never told."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from jobs.errors import TryLater, UserError
from jobs.sources import _registry_logins
from jobs.sources._registry_logins import Login, RegistryAccess, find_login
from jobs.sources._registry_names import read_repository

THING = read_repository("registry.example.com/team/thing")
HUB = read_repository("team/thing")


def packed(name: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{name}:{password}".encode()).decode()}


def write_config(folder: Path, content: object) -> dict[str, str]:
    """Write a docker config; return the environment in which it is found."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return {"DOCKER_CONFIG": str(folder), "HOME": str(folder / "home")}


def write_helper(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a credential helper on PATH."""
    file = folder / f"docker-credential-{name}"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_settings_come_first(tmp_path: Path):
    environment = write_config(tmp_path, {"auths": {"registry.example.com": packed("docker", "a")}})
    access = RegistryAccess(host="registry.example.com", login=Login(username="settings", password="b"))

    assert find_login(THING, access, environment) == access.login
    found = find_login(THING, None, environment)
    assert found is not None
    assert (found.username, found.password) == ("docker", "a")


def test_without_any_login_one_asks_as_anybody(tmp_path: Path):
    assert find_login(THING, None, {"HOME": str(tmp_path)}) is None
    assert find_login(THING, None, {}) is None


@pytest.mark.parametrize(
    "key", ["registry.example.com", "https://registry.example.com", "https://registry.example.com/v2/"]
)
def test_docker_keeps_a_login_under_several_spellings(tmp_path: Path, key: str):
    found = find_login(THING, None, write_config(tmp_path, {"auths": {key: packed("me", "pw:with:colons")}}))
    assert found == Login(username="me", password="pw:with:colons")


def test_the_hub_has_a_key_of_its_own(tmp_path: Path):
    environment = write_config(tmp_path, {"auths": {"https://index.docker.io/v1/": packed("me", "pw")}})
    assert find_login(HUB, None, environment) == Login(username="me", password="pw")
    assert find_login(THING, None, environment) is None


def test_podman_keeps_logins_for_folders_and_the_most_exact_counts(tmp_path: Path):
    file = tmp_path / "auth.json"
    auths = {"registry.example.com": packed("all", "a"), "registry.example.com/team": packed("team", "b")}
    file.write_text(json.dumps({"auths": auths}))

    found = find_login(THING, None, {"HOME": str(tmp_path), "REGISTRY_AUTH_FILE": str(file)})
    assert found == Login(username="team", password="b")


def test_a_helper_of_one_registry_is_asked_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = 'read key; printf \'{"ServerURL":"%s","Username":"helped","Secret":"s"}\' "$key"'
    write_helper(tmp_path, "test", script, monkeypatch)
    environment = write_config(tmp_path / "config", {"credHelpers": {"registry.example.com": "test"}})

    assert find_login(THING, None, environment) == Login(username="helped", password="s")


def test_the_store_of_all_logins_is_asked_for_those_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = 'cat > asked; printf \'{"Username":"stored","Secret":"s"}\''
    write_helper(tmp_path, "store", f"cd {tmp_path}; {script}", monkeypatch)
    content = {"credsStore": "store", "auths": {"registry.example.com": {}}}
    environment = write_config(tmp_path / "config", content)

    assert find_login(THING, None, environment) == Login(username="stored", password="s")
    assert find_login(HUB, None, environment) is None
    assert (tmp_path / "asked").read_text() == "registry.example.com"


def test_a_helper_without_a_login_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_helper(tmp_path, "empty", "echo credentials not found in native keychain; exit 1", monkeypatch)
    environment = write_config(tmp_path / "config", {"credHelpers": {"registry.example.com": "empty"}})
    assert find_login(THING, None, environment) is None


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo hush-hush; exit 3", "ended with exit code 3"),
        ("echo hush-hush", "not JSON with Username and Secret"),
        ('echo \'{"Username":"<token>","Secret":"hush-hush"}\'', "an identity token, which is not understood"),
    ],
)
def test_a_helper_that_fails_is_named_and_its_words_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
):
    write_helper(tmp_path, "bad", script, monkeypatch)
    environment = write_config(tmp_path / "config", {"credHelpers": {"registry.example.com": "bad"}})
    with pytest.raises(UserError, match=f"docker-credential-bad.*{told}") as error:
        find_login(THING, None, environment)
    assert "hush" not in str(error.value)


def test_a_helper_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_helper(tmp_path, "slow", "exec tail -f /dev/null", monkeypatch)
    monkeypatch.setattr(_registry_logins, "HELPER_LIMIT_S", 0.2)
    environment = write_config(tmp_path / "config", {"credHelpers": {"registry.example.com": "slow"}})
    with pytest.raises(TryLater, match="docker-credential-slow: no answer"):
        find_login(THING, None, environment)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not JSON"),
        ({"auths": {"registry.example.com": {"auth": "%%%"}}}, "cannot be read; log in again"),
        ({"auths": {"registry.example.com": {"auth": base64.b64encode(b"hush").decode()}}}, "cannot be read"),
        ({"auths": {"registry.example.com": {"identitytoken": "hush"}}}, "is an identity token"),
        ({"credHelpers": {"registry.example.com": "../../bin/sh"}}, "is no name of a credential helper"),
        ({"credHelpers": {"registry.example.com": "missing"}}, "docker-credential-missing, which is not on PATH"),
    ],
)
def test_a_login_file_that_cannot_be_used_is_named_without_what_is_in_it(tmp_path: Path, content: object, told: str):
    with pytest.raises(UserError, match=told) as error:
        find_login(THING, None, write_config(tmp_path, content))
    assert str(tmp_path / "config.json") in str(error.value)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    "content", [[], "text", {"auths": []}, {"auths": {"registry.example.com": 3}}, {"credsStore": 1}]
)
def test_a_login_file_with_other_content_holds_no_login(tmp_path: Path, content: object):
    assert find_login(THING, None, write_config(tmp_path, json.dumps(content))) is None


def test_a_login_does_not_show_its_password():
    assert "hush" not in repr(RegistryAccess(host="h", login=Login(username="me", password="hush")))
