"""The executor of containers is made from the settings: engine, logins, secrets."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from jobs.errors import UserError as JobsUserError
from tracker.app import App
from tracker.engines import engine_options
from tracker.errors import UserError
from tracker.settings import Settings, load_settings

SETTINGS = """
[docker]
engine = "unix:///run/podman/podman.sock"
mounts = {"/models" = "/data/models"}
secrets = ["HF_TOKEN"]

[[registries]]
host = "nvcr.io"
username = "$oauthtoken"
password_variable = "NGC_API_KEY"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def settings_with(home: Path, text: str) -> Settings:
    (home / "tracker.toml").write_text(text)
    return load_settings()


def test_what_stands_in_the_settings_reaches_the_executor(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_TOKEN", "hf_0123")
    monkeypatch.setenv("NGC_API_KEY", "nvapi-1")
    settings = settings_with(home, SETTINGS)

    options = engine_options(settings)

    assert options["engine"] == "unix:///run/podman/podman.sock"
    assert options["mounts"] == {"/models": "/data/models"}
    assert options["secrets"] == {"HF_TOKEN": "hf_0123"}
    assert options["login"]("nvcr.io/nvidia/tensorrt-llm/release:1.0.0") == ("$oauthtoken", "nvapi-1")
    assert options["login"]("vllm/vllm-openai:v0.20.1") is None
    app = App(settings)
    assert "hf_0123" not in repr(app.open_executor("docker_engine", app.place))
    app.close()


def test_a_login_that_docker_keeps_is_used_where_the_settings_have_none(home: Path):
    (home / ".docker").mkdir()
    packed = base64.b64encode(b"tester:s3cret").decode()
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {"127.0.0.1:5000": {"auth": packed}}}))
    login = engine_options(settings_with(home, ""))["login"]
    assert login("127.0.0.1:5000/bench/runtime:1.0") == ("tester", "s3cret")
    assert login(f"127.0.0.1:5000/bench/runtime@sha256:{'0' * 64}") == ("tester", "s3cret")


def test_a_secret_without_its_variable_is_an_error_that_names_it(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(JobsUserError, match=r"docker\.secrets: the service has no variable HF_TOKEN"):
        engine_options(settings_with(home, SETTINGS))


def test_a_misspelt_setting_is_named_with_the_near_one(home: Path):
    with pytest.raises(UserError, match=r"unknown key 'docker\.mount'; did you mean mounts"):
        settings_with(home, '[docker]\nmount = {"/models" = "/data"}\n')


def test_settings_of_containers_may_come_from_variables(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRACKER_DOCKER__ENGINE", "unix:///x.sock")
    monkeypatch.setenv("TRACKER_DOCKER__MOUNTS", '{"/models": "/data"}')
    monkeypatch.setenv("TRACKER_DOCKER__SECRETS", "HF_TOKEN,OTHER")
    docker = settings_with(home, "").docker
    assert (docker.engine, docker.mounts, docker.secrets) == (
        "unix:///x.sock",
        {"/models": Path("/data")},
        ["HF_TOKEN", "OTHER"],
    )
