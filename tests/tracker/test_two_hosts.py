"""One daemon, two hosts: a real Podman behind a real sshd, and one on a socket; killed at work, it adopts on both."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.nvidia_tools import host_nvidia_smi
from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import make_image, serve_registry
from tests.fakes.ssh_server import SshServer, serve_ssh
from tests.tracker.test_pushed_tag import BENCHMARK, REPOSITORY, SUITE, Service

pytestmark = [
    pytest.mark.real("container registry"),
    pytest.mark.real("podman"),
    pytest.mark.real("ssh server"),
    pytest.mark.timeout(600),
]

REPEATS = 1
SETTINGS = """
suites = ["engine-in-containers"]
suite_folders = ["{folder}"]
[docker]
min_free_gb = 0.01
mounts = {{"/gate" = "{folder}/gate"}}
[[docker.hosts]]
name = "box-a"
engine = "{ssh_url}{socket_a}"
known_hosts = "{folder}/ssh/known_hosts"
identity = "{folder}/ssh/identity"
[[docker.hosts]]
name = "box-b"
engine = "unix://{socket_b}"
"""


WAIT = "\nuntil [ -e /gate/open ]; do sleep 0.1; done\n"


@dataclass(kw_only=True)
class Hosts:
    """A service, and the two engines that it uses."""

    service: Service
    server: SshServer
    podmen: dict[str, Podman]

    def started(self) -> dict[str, int]:
        """Return how many containers were ever started on each host."""
        return {name: len(podman.started()) for name, podman in self.podmen.items()}

    def running(self) -> dict[str, str]:
        """Return host -> the run that is under way there."""
        return dict(
            self.service.ask(
                "SELECT host.slug, run.public_id FROM run JOIN host ON host.id = host_id WHERE run.state = 'running'"
            )
        )

    def open_gate(self) -> None:
        """Let benchmarks go on, which wait for it."""
        (self.service.folder / "gate" / "open").touch()

    def tracker(self, *words: str) -> str:
        command = [sys.executable, "-m", "tracker.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def values(self) -> set[tuple[str, str, int]]:
        """Return (hardware class, host that measured it, values) of the series that is gated."""
        return set(
            self.service.ask(
                "SELECT hardware_class.slug, host.slug, count(*) FROM measurement JOIN host ON host.id = host_id "
                "JOIN series ON series.id = series_id "
                "JOIN hardware_class ON hardware_class.id = series.hardware_class_id "
                "WHERE series.gated GROUP BY 1, 2"
            )
        )

    def done(self) -> int:
        """Return how many runs have been read."""
        ((count,),) = self.service.ask("SELECT count(*) FROM run WHERE state = 'done'")
        return int(count)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    driver = tmp_path / "driver"
    driver.mkdir()
    (driver / "nvidia-smi").write_text(host_nvidia_smi(8))
    (driver / "nvidia-smi").chmod(0o755)
    with ExitStack() as stack:
        registry = stack.enter_context(serve_registry(tmp_path / "registry"))
        server = stack.enter_context(serve_ssh(tmp_path / "ssh"))
        server.kill()
        server.start(f"SetEnv PATH={driver}:/usr/bin:/bin")
        podmen = {name: stack.enter_context(serve_podman()) for name in ("box-a", "box-b")}
        service = Service(tmp_path, registry)
        service.home.mkdir()
        sockets = {"socket_a": podmen["box-a"].socket, "socket_b": podmen["box-b"].socket}
        (service.home / "tracker.toml").write_text(SETTINGS.format(folder=tmp_path, ssh_url=server.url, **sockets))
        repository = f"{registry.address}/{REPOSITORY}"
        text = SUITE.format(repository=repository, executor="docker_engine", repeats=REPEATS)
        (tmp_path / "engine-in-containers.toml").write_text(text)
        (tmp_path / "gate").mkdir()
        files = {"bin/trtexec": BENCHMARK.format(level=10).replace("\n", WAIT, 1)}
        registry.push(make_image(tmp_path / "images", files), REPOSITORY, "1.0.0")
        stack.callback(service.stop)
        yield Hosts(service=service, server=server, podmen=podmen)


def test_runs_of_two_hosts_survive_the_daemon_each_on_its_engine(hosts: Hosts) -> None:
    added = hosts.tracker("hosts", "add", "box-b", "--gpu", "NVIDIA H200", "--gpus", "4")
    assert added.startswith("box-b: known, 4x-nvidia-h200")
    service = hosts.service
    service.start()
    service.wait_for(lambda: set(hosts.running()) == {"box-a", "box-b"})
    service.wait_for(lambda: all(podman.containers() for podman in hosts.podmen.values()))
    assert service.daemon is not None
    service.daemon.kill()
    service.daemon.wait()

    hosts.open_gate()
    service.start()
    service.wait_for(lambda: hosts.done() == 2 * REPEATS)
    service.stop()
    assert hosts.values() == {("4x-nvidia-h200", "box-b", REPEATS), ("8x-nvidia-b200", "box-a", REPEATS)}
    assert hosts.started() == {"box-a": REPEATS, "box-b": REPEATS}
    assert {name: podman.containers() for name, podman in hosts.podmen.items()} == {"box-a": [], "box-b": []}
    assert Counter(row[0] for row in service.ask("SELECT outcome FROM attempt")) == {"ok": 2 * REPEATS}


def test_a_first_doctor_looks_at_the_hardware_of_hosts_that_it_reaches_by_ssh(hosts: Hosts) -> None:
    checks = {one["name"]: one for one in json.loads(hosts.tracker("doctor", "--json"))["items"]}
    suite = checks["suite engine-in-containers"]
    assert (suite["state"], "box-a" in suite["found"]) == ("ok", True), suite
    assert "8x-nvidia-b200" in hosts.tracker("hosts", "list")


def test_a_host_that_is_away_is_shown_as_such_and_the_other_one_measures(hosts: Hosts) -> None:
    assert "8x-nvidia-b200" in hosts.tracker("hosts", "check", "box-a")
    hosts.server.kill()
    hosts.open_gate()
    hosts.service.start()
    hosts.service.wait_for(lambda: hosts.done() == REPEATS)
    items = {one["name"]: one for one in json.loads(hosts.tracker("hosts", "list", "--json"))["items"]}
    assert (items["box-a"]["reach"], items["box-b"]["reach"]) == ("away", "answers")
    assert "Connection refused" in items["box-a"]["away_why"]
    assert hosts.started() == {"box-a": 0, "box-b": REPEATS}
    assert hosts.values() == {("unknown-hardware-of-box-b", "box-b", REPEATS)}
