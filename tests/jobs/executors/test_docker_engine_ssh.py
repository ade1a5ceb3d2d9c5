"""A real Podman behind a real sshd: what breaks between the two ends no run, and is told with what to do."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import TryLater, UserError
from jobs.executors import docker_engine
from jobs.protocols import Executor, JobOutcome, JobSpec, JobState, JobStatus
from jobs.ssh import close_tunnels
from tests.fakes.podman import Podman
from tests.fakes.ssh_server import SshServer, make_key, serve_ssh

pytestmark = [pytest.mark.real("podman"), pytest.mark.real("ssh server"), pytest.mark.timeout(180)]

SLOW = "for i in 1 2 3; do echo $i; sleep 1; done; echo '{}' > result.json"
Until = Callable[..., Any]
Ended = Callable[[Executor, str], JobStatus]


@dataclass(frozen=True, kw_only=True)
class Remote:
    """An executor whose engine is reached by ssh, and jobs for it."""

    podman: Podman
    server: SshServer
    folder: Path
    digest: str

    def options(self, **changed: Any) -> dict[str, Any]:
        files = {"known_hosts": str(self.server.known_hosts), "identity": str(self.server.identity)}
        return {"engine": self.server.url + self.podman.socket, "min_free_gb": 0.01, **files, **changed}

    def executor(self, **changed: Any) -> Executor:
        return docker_engine.create(self.options(**changed), folder=self.folder, cache=self.folder.parent / "cache")

    def job(self, script: str, **fields: Any) -> JobSpec:
        named = {"component": "thing", "version": "1.0", "build_kind": "image", "build_digest": self.digest}
        named |= {"key": "run-1-1", "build_location": "localhost/bench:1.0", "program": "sh"}
        return JobSpec(**{**named, "arguments": ("-c", script), **fields})

    def carrier(self) -> int:
        return int(json.loads((self.folder / "run-1-1" / "carrier.json").read_text())["pid"])

    def log(self) -> str:
        return (self.folder / "run-1-1" / "run.log").read_text()

    def times_started(self) -> int:
        home = json.loads((self.folder / ".engine.json").read_text())["home"]
        return sum(home in name for name in self.podman.started())

    def processes(self) -> dict[int, str]:
        """Return the processes that keep up this server's tunnels, with their words."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if str(self.server.port) in words and "StreamLocalBindUnlink=yes" in words:
                found[int(name)] = words[0]
        return found


@pytest.fixture
def remote(podman: Podman, shell_image: str, folder: Path, tmp_path: Path) -> Iterator[Remote]:
    with serve_ssh(tmp_path / "ssh") as server:
        made = Remote(podman=podman, server=server, folder=folder, digest=shell_image)
        yield made
        close_tunnels()
        if (folder / ".engine.json").exists():
            made.executor().sweep(frozenset())
        close_tunnels()
        assert made.processes() == {}


def why_away(executor: Executor) -> str:
    """Return why nothing is known of the attempt; empty where it is seen."""
    try:
        executor.poll("run-1-1")
    except TryLater as error:
        return str(error)
    return ""


def run(executor: Executor, job: JobSpec, until: Until) -> None:
    executor.start(job)
    until(lambda: executor.poll(job.key).state is JobState.RUNNING, "the job to run")


def test_a_host_that_is_away_during_a_run_fails_nothing_and_is_measured_once(
    remote: Remote, until: Until, ended: Ended
) -> None:
    executor = remote.executor()
    run(executor, remote.job(SLOW), until)
    remote.server.kill()
    until(lambda: "Connection refused" in why_away(executor), "the host to be missed")
    remote.server.start()
    until(lambda: not why_away(executor), "the host to be back")
    assert ended(executor, "run-1-1").outcome is JobOutcome.OK
    assert remote.log() == "1\n2\n3\n"
    assert remote.times_started() == 1


def test_a_tunnel_that_is_killed_is_made_again_and_the_run_goes_on(remote: Remote, until: Until, ended: Ended) -> None:
    executor = remote.executor()
    run(executor, remote.job(SLOW), until)
    for number in remote.processes():
        os.kill(number, signal.SIGKILL)
    assert ended(Seen(executor), "run-1-1").outcome is JobOutcome.OK
    assert remote.log() == "1\n2\n3\n"
    assert remote.times_started() == 1


def test_a_carrier_that_is_killed_leaves_no_ssh_behind_and_its_container_to_the_next(
    remote: Remote, until: Until, ended: Ended
) -> None:
    executor = remote.executor()
    run(executor, remote.job(SLOW), until)
    first = remote.processes()
    assert len(first) == 2
    os.kill(remote.carrier(), signal.SIGKILL)
    until(lambda: not first.keys() & remote.processes().keys(), "its tunnel to end")
    assert ended(remote.executor(), "run-1-1").outcome is JobOutcome.OK
    assert remote.log() == "1\n2\n3\n"
    assert remote.times_started() == 1


def test_a_run_logs_in_for_its_tunnel_and_for_a_look_at_the_machine_and_never_for_a_request(
    remote: Remote, ended: Ended
) -> None:
    executor = remote.executor()
    executor.start(remote.job("echo '{}' > result.json"))
    assert ended(executor, "run-1-1").outcome is JobOutcome.OK
    assert remote.server.logins() == 2


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("unknown", "expected its host key .of"), ("changed", "is not the machine that it was")],
)
def test_a_host_key_that_is_not_right_is_told_at_once(remote: Remote, tmp_path: Path, trouble: str, words: str) -> None:
    line = f"[127.0.0.1]:{remote.server.port} {make_key(tmp_path / 'other')}\n" if trouble == "changed" else ""
    remote.server.known_hosts.write_text(line)
    with pytest.raises(TryLater, match=words):
        docker_engine.describe_engine(remote.options())


def test_a_login_that_is_refused_is_why_a_run_waits_until_it_is_accepted(
    remote: Remote, until: Until, ended: Ended
) -> None:
    keys = remote.server.folder / "authorized_keys"
    right = keys.read_text()
    keys.write_text("")
    executor = remote.executor()
    executor.start(remote.job("echo '{}' > result.json"))
    until(lambda: "Put its public part into authorized_keys" in why_away(executor), "the reason to be told")
    keys.write_text(right)
    assert ended(Seen(executor), "run-1-1").outcome is JobOutcome.OK
    assert remote.times_started() == 1


class Seen:
    """An executor that calls an attempt prepared while nothing is known of it."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def poll(self, key: str) -> JobStatus:
        try:
            return self.executor.poll(key)
        except TryLater:
            return JobStatus(state=JobState.PREPARING)


def test_a_socket_that_is_not_there_or_no_socket_is_named(remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(TryLater, match=r"there is no /nowhere/x\.sock that"):
        docker_engine.describe_engine(remote.options(engine=f"{remote.server.url}/nowhere/x.sock"))
    (tmp_path / "plain").touch()
    with pytest.raises(TryLater, match="is no socket"):
        docker_engine.describe_engine(remote.options(engine=f"{remote.server.url}{tmp_path}/plain"))


def test_a_server_that_forwards_to_no_socket_is_told_with_its_setting(remote: Remote) -> None:
    remote.server.kill()
    remote.server.start("AllowStreamLocalForwarding no")
    with pytest.raises(TryLater, match="sshd_config allows AllowStreamLocalForwarding"):
        docker_engine.describe_engine(remote.options())


def test_without_the_ssh_program_the_cure_is_told(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TryLater, match="apt-get install openssh-client"):
        docker_engine.describe_engine(remote.options())


@pytest.mark.parametrize(
    "engine",
    [
        "ssh://-oProxyCommand=reboot",
        "ssh://a;reboot",
        "ssh://a\nb",
        "ssh://u:pw@a",
        "ssh://a/x:y",
        "ssh://a/../x",
        "ssh://",
    ],
)
def test_an_address_that_is_none_is_refused_when_it_is_read(tmp_path: Path, engine: str) -> None:
    with pytest.raises(UserError, match="address"):
        docker_engine.create({"engine": engine}, folder=tmp_path, cache=tmp_path)


def test_the_disk_of_the_other_machine_is_looked_at_before_a_pull(remote: Remote, ended: Ended) -> None:
    assert "GB free in /" in docker_engine.describe_engine(remote.options())
    with pytest.raises(TryLater, match="min_free_gb"):
        docker_engine.describe_engine(remote.options(min_free_gb=10**6))
    executor = remote.executor(min_free_gb=10**6)
    nowhere = {"build_location": "127.0.0.1:1/bench/away:1.0", "build_digest": "sha256:" + "0" * 64}
    executor.start(remote.job("true", **nowhere))
    status = ended(executor, "run-1-1")
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "and a pull is begun only with 1e+06 GB" in status.detail


def test_a_login_that_may_only_forward_leaves_the_room_unknown(remote: Remote) -> None:
    keys = remote.server.folder / "authorized_keys"
    keys.write_text('command="false" ' + keys.read_text())
    assert "room not looked at: " in docker_engine.describe_engine(remote.options())
