"""An engine on another machine by ssh: its socket at a path here, and why it does not answer where it does not.

All that is asked of one engine by one process goes through one tunnel, so a request is no login. ssh itself says only
that a connection failed; a look at the socket there, once a minute at most, tells why.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from jobs.errors import JobsError
from jobs.ssh import Tunnel, read_login, read_path, run, share_tunnel

DEFAULT_SOCKET = "/var/run/docker.sock"
_LOOK_WITHIN_S = 20.0
_LOOK_AGAIN_S = 60.0
_NOT_OPENED = "open failed"
_LOOK = """\
if [ -S "$1" ]; then
    if [ -r "$1" ] && [ -w "$1" ]; then echo tracker:there; else echo "tracker:no-right $(id -un)"; fi
elif [ -e "$1" ]; then echo tracker:no-socket; else echo "tracker:missing $(id -un)"; fi
"""


@dataclass(slots=True, kw_only=True, eq=False)
class Way:
    """How one engine is reached."""

    tunnel: Tunnel
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _looked_at: float = float("-inf")
    _found: str = ""

    def explain(self) -> str:
        """Return why the engine did not answer by its tunnel; empty where ssh has nothing to say about that."""
        heard = self.tunnel.listen()
        if _NOT_OPENED not in heard:
            last = " ".join((heard.splitlines() or [""])[-1].split())
            return f"the connection by ssh broke: {last}" if last else ""
        with self._lock:
            if time.monotonic() - self._looked_at > _LOOK_AGAIN_S:
                self._found, self._looked_at = self._look(), time.monotonic()
            return self._found

    def _look(self) -> str:
        """Return in words what stands where the socket should be."""
        socket = self.tunnel.remote
        try:
            said = run(self.tunnel.login, ["sh", "-s", socket], script=_LOOK, timeout_s=_LOOK_WITHIN_S)
        except JobsError:
            said = ""
        found, _, user = said.rpartition("tracker:")[2].strip().partition(" ")
        who = user or self.tunnel.login.user or "the user"
        return {
            "missing": f"there is no {socket} that {who} can see: start the engine, or name its socket in the address",
            "no-socket": f"{socket} is no socket: name the engine's in the address, ssh://user@host/path/to/the.sock",
            "no-right": f"{who} may not use {socket} there: add that user to the socket's group (docker)",
        }.get(
            found,
            f"its sshd opened no connection to {socket}: start the engine there, and see that sshd_config allows "
            "AllowStreamLocalForwarding and authorized_keys does not forbid forwarding",
        )


def open_way(url: str, *, known_hosts: str | None, identity: str | None) -> Way:
    """Return how the engine of an `ssh://` address is reached; UserError where that cannot be one. Nothing is sent."""
    files = {"known_hosts": known_hosts, "identity": identity}
    login = read_login(url, **{name: Path(file) if file else None for name, file in files.items()})
    return Way(tunnel=share_tunnel(login, read_path(url, DEFAULT_SOCKET)))
