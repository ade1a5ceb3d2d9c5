"""The executor of containers is made from the settings: engine, logins, secrets."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path

import pytest

from jobs.errors import UserError as JobsUserError
from tracker.app import App
from tracker.engines import engine_options, other_hosts
from tracker.errors import UserError
from tracker.settings import Settings, load_settings
from tracker.store.views.hosts import list_hosts

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


# --- several hosts ---

HOSTS = """
[docker]
keep_images = 5
mounts = {"/models" = "/data/models"}
identity = "/keys/all"
[[docker.hosts]]
name = "gpu-box-1"
engine = "ssh://bench@gpu-box-1"
[[docker.hosts]]
name = "gpu-box-2"
engine = "tcp://gpu-box-2:2376"
ca = "/keys/ca.pem"
mounts = {}
min_free_gb = 80
"""


def test_a_host_has_its_own_settings_and_else_those_of_all(home: Path):
    settings = settings_with(home, HOSTS)
    first, second = other_hosts(settings.docker)
    assert (first.name, first.is_ssh, second.name, second.is_ssh) == ("gpu-box-1", True, "gpu-box-2", False)
    options = engine_options(settings, first)
    assert (options["host"], options["engine"], options["keep_images"]) == ("gpu-box-1", "ssh://bench@gpu-box-1", 5)
    assert (options["identity"], options["mounts"]) == ("/keys/all", {"/models": "/data/models"})
    options = engine_options(settings, second)
    assert (options["ca"], options["mounts"], options["min_free_gb"]) == ("/keys/ca.pem", {}, 80)
    assert not settings.docker.is_here


def test_this_machine_measures_beside_listed_hosts_where_its_engine_is_set(home: Path):
    text = HOSTS.replace("keep_images", 'engine = "unix:///run/podman/podman.sock"\nkeep_images')
    docker = settings_with(home, text).docker
    assert docker.is_here
    assert [one.name for one in other_hosts(docker)] == ["gpu-box-1", "gpu-box-2"]


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("ssh://bench@gpu-box:2222/run/podman.sock", "gpu-box"),
        ("tcp://10.0.0.7:2376", "10.0.0.7"),
        ("ssh://bench@[fd00::7]", "fd00-7"),
    ],
)
def test_an_engine_elsewhere_without_a_list_is_one_host_named_as_its_address(home: Path, engine: str, name: str):
    docker = settings_with(home, f'[docker]\nengine = "{engine}"\n').docker
    assert [one.name for one in other_hosts(docker)] == [name]
    assert not docker.is_here


def test_an_engine_here_is_no_other_host(home: Path):
    assert other_hosts(settings_with(home, SETTINGS).docker) == ()
    assert other_hosts(settings_with(home, "").docker) == ()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"gpu-box-2"', '"gpu-box-1"', r"expected each name once, found 'gpu-box-1' 2 times"),
        ("tcp://gpu-box-2:2376", "ssh://bench@gpu-box-1/", r"expected each engine once, found 'ssh://bench@gpu-box-1'"),
        ('"gpu-box-2"', '"gpu box"', r"name: expected letters, digits, dots, dashes and underscores, found 'gpu box'"),
        ("tcp://gpu-box-2:2376", "gpu-box-2", r"engine: expected one of ssh://, tcp://, unix://, http://, found"),
        ("min_free_gb", "min_free", r"unknown key 'docker\.hosts\.1\.min_free'; did you mean min_free_gb"),
        ("keep_images", 'engine = "ssh://bench@x"\nkeep_images', r"engine: expected this machine's \(unix://\) beside"),
    ],
)
def test_hosts_that_cannot_be_told_apart_are_refused(home: Path, before: str, after: str, said: str):
    assert before in HOSTS
    with pytest.raises(UserError, match=said):
        settings_with(home, HOSTS.replace(before, after))


def test_a_listed_host_may_not_have_the_name_of_this_machine(home: Path):
    app = App(settings_with(home, HOSTS.replace('"gpu-box-1"', f'"{socket.gethostname()}"')))
    with pytest.raises(UserError, match="is the name of this machine, which listed hosts must not have"):
        app.places()
    app.close()


def test_hosts_are_known_to_the_store_until_they_leave_the_settings(home: Path):
    app = App(settings_with(home, HOSTS))
    assert [(place.name, place.is_here, place.gpus, place.tells) for place in app.places()[1:]] == [
        ("gpu-box-1", False, None, True),
        ("gpu-box-2", False, None, False),
    ]
    app.close()
    app = App(settings_with(home, HOSTS[: HOSTS.index('[[docker.hosts]]\nname = "gpu-box-2"')]))
    assert [place.name for place in app.places()[1:]] == ["gpu-box-1"]
    with app.store.read() as session:
        found = {one.name: one for one in list_hosts(session, now=app.clock.now())}
    app.close()
    assert (found["gpu-box-1"].reach, found["gpu-box-1"].engine) == ("unknown", "ssh://bench@gpu-box-1")
    assert (found["gpu-box-2"].reach, found["gpu-box-2"].engine) == ("away", "")
    assert "it is no longer in the settings" in (found["gpu-box-2"].obstacle or "")
