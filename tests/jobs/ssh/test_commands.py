"""One command on another machine, by a real sshd: what it prints, and what is said where it cannot be asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jobs.errors import TryLater, UserError
from jobs.ssh import CommandFailed, HostAway, HostRefused, SshLogin, read_login, run
from tests.fakes.ssh_server import SshServer, make_key, serve_ssh

pytestmark = pytest.mark.real("ssh server")


@pytest.fixture
def login(ssh_server: SshServer) -> SshLogin:
    return read_login(ssh_server.url, known_hosts=ssh_server.known_hosts, identity=ssh_server.identity)


def test_words_arrive_as_they_were_given_and_a_script_is_heard(login: SshLogin) -> None:
    assert run(login, ["printf", "%s|", "a b", "$HOME;ls", "it's"]) == "a b|$HOME;ls|it's|"
    assert run(login, ["sh", "-s", "x y"], script='echo "got $1"') == "got x y\n"


def test_a_command_that_fails_says_how(login: SshLogin) -> None:
    with pytest.raises(CommandFailed, match="exit code 3: no luck") as caught:
        run(login, ["sh", "-c", "echo no luck >&2; exit 3"])
    assert caught.value.status == 3


def test_a_command_that_does_not_end_is_given_up_and_its_ssh_ended(login: SshLogin) -> None:
    with pytest.raises(HostAway, match="no end within 2 s"):
        run(login, ["sleep", "61.5"], timeout_s=2)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in listed.splitlines() if "ssh" in line and line.endswith("sleep 61.5")]


def test_a_command_that_prints_without_end_is_given_up_and_its_ssh_ended(login: SshLogin) -> None:
    with pytest.raises(HostRefused, match="expected at most 16 MB, it printed more"):
        run(login, ["yes", "endless-61.6"], timeout_s=30)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in listed.splitlines() if "ssh" in line and line.endswith("yes endless-61.6")]


def test_a_long_script_that_is_not_heard_to_its_end_does_not_hang(login: SshLogin) -> None:
    assert run(login, ["wc", "-c"], script="x" * 300_000).strip() == "300000"
    assert run(login, ["echo", "deaf"], script="x" * 300_000) == "deaf\n"


def test_a_host_without_a_known_key_is_not_logged_in_to(ssh_server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("")
    login = read_login(ssh_server.url, known_hosts=tmp_path / "known", identity=ssh_server.identity)
    with pytest.raises(HostRefused) as caught:
        run(login, ["true"])
    assert f"expected its host key (of [127.0.0.1]:{ssh_server.port}) in {tmp_path}/known, found none" in str(
        caught.value
    )
    assert "only if they are the same" in str(caught.value)
    assert (tmp_path / "known").read_text() == ""


def test_a_host_with_another_key_than_before_is_not_logged_in_to(ssh_server: SshServer, tmp_path: Path) -> None:
    other = make_key(tmp_path / "other")
    (tmp_path / "known").write_text(f"[127.0.0.1]:{ssh_server.port} {other}\n")
    login = read_login(ssh_server.url, known_hosts=tmp_path / "known", identity=ssh_server.identity)
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(ssh_server.folder / "host_key.pub")], capture_output=True, text=True, check=True
    )
    with pytest.raises(HostRefused, match="is not the machine that it was") as caught:
        run(login, ["true"])
    assert shown.stdout.split()[1] in str(caught.value)
    assert f"{tmp_path}/known:1" in str(caught.value)


def test_a_key_that_is_not_accepted_is_told_with_what_to_do(ssh_server: SshServer) -> None:
    login = read_login(ssh_server.url, known_hosts=ssh_server.known_hosts, identity=ssh_server.stranger)
    with pytest.raises(HostRefused, match=r"authorized_keys there") as caught:
        run(login, ["true"])
    assert "Permission denied (publickey)" in str(caught.value)
    assert str(ssh_server.stranger) in str(caught.value)


def test_a_machine_that_is_down_may_be_back_later(tmp_path: Path) -> None:
    with serve_ssh(tmp_path / "server") as server:
        login = read_login(server.url, known_hosts=server.known_hosts, identity=server.identity)
    with pytest.raises(HostAway, match="Connection refused"):
        run(login, ["true"])
    assert issubclass(HostAway, TryLater)
    assert issubclass(HostRefused, UserError)


def test_a_machine_without_ssh_says_how_to_get_it(login: SshLogin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HostRefused, match="apt-get install openssh-client"):
        run(login, ["true"])
