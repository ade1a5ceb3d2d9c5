"""A tunnel to a socket behind a real sshd: made once, made again when broken, gone with its owner."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.ssh import HostAway, HostRefused, Tunnel, open_tunnel, read_login
from tests.fakes.ssh_server import SshServer, serve_ssh

pytestmark = pytest.mark.real("ssh server")


@pytest.fixture
def greeter(tmp_path: Path) -> Iterator[str]:
    """The path of a socket that says hello to whoever connects."""
    path = str(tmp_path / "hello.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    yield path
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def tunnel(ssh_server: SshServer, greeter: str) -> Iterator[Tunnel]:
    made = tunnel_to(ssh_server, greeter)
    yield made
    made.close()


def tunnel_to(server: SshServer, path: str, identity: Path | None = None) -> Tunnel:
    login = read_login(server.url, known_hosts=server.known_hosts, identity=identity or server.identity)
    return open_tunnel(login, path)


def heard(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        return connection.recv(10)


def ssh_of(path: Path) -> list[int]:
    """Return the processes, keeper and ssh, whose words name the tunnel's socket or its folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if str(path.parent).encode() in words:
            found.append(int(name))
    return found


def wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_one_login_serves_many_connections_and_nothing_is_left_when_it_is_closed(
    ssh_server: SshServer, tunnel: Tunnel
) -> None:
    before = ssh_server.logins()
    for _ in range(5):
        tunnel.ensure()
        assert heard(tunnel.path) == b"hello"
    assert ssh_server.logins() == before + 1
    assert tunnel.path.parent.stat().st_mode & 0o777 == 0o700
    tunnel.close()
    assert not tunnel.path.parent.exists()
    assert ssh_of(tunnel.path) == []


@pytest.mark.parametrize("which", [0, -1])
def test_a_tunnel_whose_processes_are_killed_is_made_again_at_the_same_path(tunnel: Tunnel, which: int) -> None:
    tunnel.ensure()
    path, processes = tunnel.path, sorted(ssh_of(tunnel.path))
    assert len(processes) == 2
    os.kill(processes[which], signal.SIGKILL)
    wait(lambda: len(ssh_of(path)) < 2, "the kill to be seen")
    wait(lambda: not ssh_of(path), "the other one to end too")
    tunnel.ensure()
    assert tunnel.path == path
    assert heard(path) == b"hello"
    assert tunnel.times_made == 2


def test_a_host_that_comes_back_is_found_again(tmp_path: Path, greeter: str) -> None:
    with serve_ssh(tmp_path / "server") as server:
        tunnel = tunnel_to(server, greeter)
        tunnel.ensure()
        server.kill()
        wait(lambda: not ssh_of(tunnel.path), "ssh to see that its host is gone")
        with pytest.raises(HostAway, match="Connection refused"):
            tunnel.ensure()
        server.start()
        wait(lambda: _can(tunnel), "the tunnel to be made again")
        assert heard(tunnel.path) == b"hello"
        tunnel.close()


def _can(tunnel: Tunnel) -> bool:
    try:
        tunnel.ensure()
    except HostAway:
        return False
    return True


def test_a_refused_key_is_not_tried_again_at_once(ssh_server: SshServer, greeter: str) -> None:
    tunnel = tunnel_to(ssh_server, greeter, identity=ssh_server.stranger)
    tried = ssh_server.log().count("Connection closed by authenticating user")
    for _ in range(5):
        with pytest.raises(HostRefused, match="refuses this login"):
            tunnel.ensure()
    wait(lambda: ssh_server.log().count("Connection closed by authenticating user") > tried, "sshd to write it down")
    assert ssh_server.log().count("Connection closed by authenticating user") == tried + 1
    assert not tunnel.path.parent.exists()


def test_as_many_tunnels_as_a_machine_has_slots_may_be_made_at_once(ssh_server: SshServer, greeter: str) -> None:
    tunnels = [tunnel_to(ssh_server, greeter) for _ in range(9)]
    try:
        with ThreadPoolExecutor(len(tunnels)) as threads:
            list(threads.map(Tunnel.ensure, tunnels))
        assert [heard(tunnel.path) for tunnel in tunnels] == [b"hello"] * len(tunnels)
    finally:
        for tunnel in tunnels:
            tunnel.close()


OWNER = """
import sys, time
from pathlib import Path
from jobs.ssh import open_tunnel, read_login
url, known, identity, remote = sys.argv[1:]
tunnel = open_tunnel(read_login(url, known_hosts=Path(known), identity=Path(identity)), remote)
tunnel.ensure()
print(tunnel.path, flush=True)
time.sleep(600)
"""


def test_a_killed_owner_leaves_neither_ssh_nor_socket(ssh_server: SshServer, greeter: str) -> None:
    words = [ssh_server.url, str(ssh_server.known_hosts), str(ssh_server.identity), greeter]
    root = str(Path(__file__).parents[3])
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *words], stdout=subprocess.PIPE, text=True, cwd=root)
    assert owner.stdout is not None
    with owner.stdout:
        path = Path(owner.stdout.readline().strip())
    assert heard(path) == b"hello"
    owner.kill()
    owner.wait()
    wait(lambda: not path.parent.exists(), "the folder to be removed")
    wait(lambda: not ssh_of(path), "ssh to end")


def test_a_folder_that_nobody_could_remove_goes_with_the_next_tunnel(tunnel: Tunnel) -> None:
    left = tunnel.path.parent.parent / "left-over"
    tunnel.path.parent.parent.mkdir(mode=0o700, exist_ok=True)
    left.mkdir()
    (left / "s").touch()
    tunnel.ensure()
    assert not left.exists()


def test_only_a_plain_absolute_path_is_forwarded(ssh_server: SshServer) -> None:
    for path in ("relative.sock", "/a:b", "/a b", "", "/$HOME", "/%h"):
        with pytest.raises(UserError, match="absolute path of a socket"):
            tunnel_to(ssh_server, path)
