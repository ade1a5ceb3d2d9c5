"""A real sshd of one's own on loopback: its own host key, one key that may log in as this user, nothing else.

    with serve_ssh(tmp_path / "ssh") as server:
        login = read_login(server.url, known_hosts=server.known_hosts, identity=server.identity)

Mark such tests `@pytest.mark.real("ssh server")`. It may be killed, with all connections, and started again on the same
port. Nothing of this user's own `~/.ssh` is changed.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.ports import free_port

SSHD = "/usr/sbin/sshd"
_LIMIT_S = 20
_PRIVILEGES = Path("/run/sshd")
"""sshd insists on this empty folder when root runs it; a service manager makes it otherwise."""
_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
MaxStartups 10:30:100
MaxSessions 10
"""


def why_missing() -> str | None:
    """Return why no sshd can be run here, with the cure; None when it can."""
    programs = {"sshd": Path(SSHD).exists(), "ssh": shutil.which("ssh"), "ssh-keygen": shutil.which("ssh-keygen")}
    missing = [name for name, found in programs.items() if not found]
    return f"{', '.join(missing)} not installed (apt-get install openssh-server openssh-client)" if missing else None


def make_key(path: Path) -> str:
    """Make a key pair without a passphrase; return type and public key as known_hosts and authorized_keys have them."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=_LIMIT_S)
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


@dataclass
class SshServer:
    """An sshd in a folder; `identity` may log in, `stranger` may not."""

    folder: Path
    port: int
    user: str
    _process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"ssh://{self.user}@127.0.0.1:{self.port}"

    @property
    def identity(self) -> Path:
        return self.folder / "identity"

    @property
    def stranger(self) -> Path:
        return self.folder / "stranger"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def host_line(self) -> str:
        """The line by which this server is known."""
        return f"[127.0.0.1]:{self.port} {' '.join((self.folder / 'host_key.pub').read_text().split()[:2])}\n"

    def start(self, *more: str) -> None:
        """Start sshd, with more lines of sshd_config that win over the usual ones, and wait until it listens."""
        config = self.folder / "sshd_config"
        config.write_text("".join(f"{line}\n" for line in more) + _CONFIG.format(port=self.port, folder=self.folder))
        with (self.folder / "sshd.log").open("ab") as log:
            words = [SSHD, "-D", "-e", "-f", str(config)]
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)
        deadline = time.monotonic() + _LIMIT_S
        while not self._listens():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"sshd did not start: {self.log()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End sshd and all its connections as a crash would."""
        if self._process is not None:
            for number in [*_below(self._process.pid), self._process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            self._process.wait(timeout=_LIMIT_S)
            self._process = None

    def log(self) -> str:
        """Return what sshd has written down."""
        return (self.folder / "sshd.log").read_text(errors="replace")

    def logins(self) -> int:
        """Return how often somebody has logged in."""
        return self.log().count("Accepted publickey")

    def _listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4).startswith(b"SSH-")
        except OSError:
            return False


def _below(root: int) -> list[int]:
    """Return the processes that sshd has for its connections, the last one first."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            before, _, after = Path(f"/proc/{name}/stat").read_text().rpartition(")")
            if "(sshd" in before:
                parents[int(name)] = int(after.split()[1])
    found, known = [], {root}
    for number in sorted(parents):
        if parents[number] in known:
            known.add(number)
            found.insert(0, number)
    return found


@contextmanager
def serve_ssh(folder: Path) -> Iterator[SshServer]:
    """Yield a running sshd that is ended with all its connections."""
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        _PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
    make_key(folder / "host_key")
    make_key(folder / "stranger")
    (folder / "authorized_keys").write_text(make_key(folder / "identity") + "\n")
    server = SshServer(folder, free_port(), getpass.getuser())
    server.known_hosts.write_text(server.host_line)
    try:
        server.start()
        yield server
    finally:
        server.kill()
