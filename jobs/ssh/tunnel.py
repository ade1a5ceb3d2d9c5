"""A socket of another machine at a path of this one, kept up by one `ssh -N -L` for as long as this process lives.

The socket lies in a folder that only this user can enter. It is gone, with its ssh, when this process ends, also by
kill -9. A tunnel that breaks is made anew by `ensure`, at the same path, after a pause that grows: a key that is
refused is not tried every second.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobs.errors import UserError
from jobs.ssh._program import ssh_words, start_kept
from jobs.ssh.failures import HostAway, HostRefused, explain
from jobs.ssh.login import SshLogin

UP_WITHIN_S = 30.0
_SOCKET_PATH_BYTES = 107
_PLAIN = re.compile(r"[A-Za-z0-9_./+=,@-]+")
_LOOK_EVERY_S = 0.02
_FIRST_PAUSE_S = {HostAway: 0.5, HostRefused: 5.0}
_LONGEST_PAUSE_S = {HostAway: 15.0, HostRefused: 60.0}
_ENDS_WITHIN_S = 5.0
_SAID_BYTES = 8192


@dataclass(slots=True, kw_only=True, eq=False)
class Tunnel:
    """One forwarded socket; may be used by several threads. Made by `open_tunnel`."""

    login: SshLogin
    remote: str
    """The socket's path on the other machine."""
    path: Path
    """The socket's path on this one, from the first `ensure` on."""
    times_made: int = 0
    said: bytes = b""
    """The end of what ssh said since the tunnel was made, or since `forget`."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _keeper: subprocess.Popen[bytes] | None = None
    _lifeline: int = -1
    _listener: int = -1
    _failed: HostAway | HostRefused | None = None
    _pause_s: float = 0.0
    _not_before: float = 0.0

    def ensure(self) -> None:
        """Return when the socket can be used; make the tunnel where it is not there (any more).

        HostAway or HostRefused, which is also said again, without a new try, during the pause after a failure.
        """
        with self._lock:
            if self._is_up():
                return
            if self._failed is not None and time.monotonic() < self._not_before:
                raise self._failed.with_traceback(None)
            try:
                self._make()
            except (HostAway, HostRefused) as error:
                kind = HostRefused if isinstance(error, HostRefused) else HostAway
                self._pause_s = min(max(2 * self._pause_s, _FIRST_PAUSE_S[kind]), _LONGEST_PAUSE_S[kind])
                self._not_before, self._failed = time.monotonic() + self._pause_s, error
                raise
            self._failed, self._pause_s = None, 0.0

    def listen(self) -> str:
        """Return the end of what ssh has said, such as that a connection failed."""
        with self._lock:
            self._hear()
            return self.said.decode("utf-8", errors="replace")

    def forget(self) -> None:
        """Let what ssh has said so far be of no interest, as all is well."""
        with self._lock:
            self._hear()
            self.said = b""

    def close(self) -> None:
        """End the tunnel; nothing of it is left. `ensure` makes it anew."""
        with self._lock:
            self._end()

    def _is_up(self) -> bool:
        self._hear()
        return self._keeper is not None and self._keeper.poll() is None and self.path.exists()

    def _make(self) -> None:
        self._end()
        forward = f"{self.path}:{self.remote}"
        words = ssh_words(self.login, "-N", "-o", "StreamLocalBindUnlink=yes", "-L", forward)
        listener, ssh_side = os.pipe()
        os.set_blocking(listener, False)
        self._listener, self.said = listener, b""
        try:
            with _new_folder(self.path.parent) as held:
                self._keeper, self._lifeline = start_kept(
                    words,
                    folder=self.path.parent,
                    hold=(held.number,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=ssh_side,
                )
        except OSError as error:
            raise HostAway(f"{self.login}: no tunnel can be made on this machine: {error}") from error
        finally:
            os.close(ssh_side)
        self._await()
        self.times_made += 1

    def _await(self) -> None:
        """Return when the socket is there."""
        until = time.monotonic() + UP_WITHIN_S
        while not self.path.exists():
            ended = self._keeper is None or self._keeper.poll() is not None
            late = time.monotonic() > until
            if ended or late:
                said = self.listen()
                self._end()
                if late:
                    raise HostAway(f"{self.login} does not answer: no login within {UP_WITHIN_S:g} s")
                raise explain(self.login, said)
            time.sleep(_LOOK_EVERY_S)

    def _hear(self) -> None:
        """Take in what ssh says, so that it can go on saying it."""
        with suppress(BlockingIOError):
            while self._listener >= 0 and (chunk := os.read(self._listener, _SAID_BYTES)):
                self.said = (self.said + chunk)[-_SAID_BYTES:]

    def _end(self) -> None:
        self._hear()
        if self._lifeline >= 0:
            os.close(self._lifeline)
        if self._keeper is not None:
            _reap(self._keeper)
        if self._listener >= 0:
            os.close(self._listener)
        self._keeper, self._lifeline, self._listener = None, -1, -1
        shutil.rmtree(self.path.parent, ignore_errors=True)


def open_tunnel(login: SshLogin, remote: str) -> Tunnel:
    """Return a tunnel to a socket there; nothing is sent before its first `ensure`."""
    if not _PLAIN.fullmatch(remote) or not remote.startswith("/"):
        raise UserError(f"{login}: expected the absolute path of a socket there, found {remote!r}")
    return Tunnel(login=login, remote=remote, path=_base() / secrets.token_hex(4) / "s")


_shared: dict[tuple[SshLogin, str], Tunnel] = {}
_sharing = threading.Lock()


def share_tunnel(login: SshLogin, remote: str) -> Tunnel:
    """Return the one tunnel of this process to a socket there; it is closed when the process ends."""
    with _sharing:
        if not _shared:
            atexit.register(close_tunnels)
        return _shared.setdefault((login, remote), open_tunnel(login, remote))


def close_tunnels() -> None:
    """End all that `share_tunnel` has given out in this process."""
    with _sharing:
        for tunnel in _shared.values():
            tunnel.close()
        _shared.clear()


def _base() -> Path:
    """Return the folder of all tunnels of this user, short and plain enough for a socket's path."""
    name = f"tracker-ssh-{os.getuid()}"
    for place in (tempfile.gettempdir(), "/tmp"):
        base = Path(place) / name
        if _PLAIN.fullmatch(str(base)) and len(str(base / "01234567" / "s").encode()) <= _SOCKET_PATH_BYTES:
            return base
    raise UserError("no tunnel can be made: expected a folder for temporary files with a short, plain path")


@dataclass(slots=True, kw_only=True)
class _Held:
    """A folder that is marked as used for as long as somebody has `number` open."""

    number: int

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


def _new_folder(folder: Path) -> _Held:
    """Make a tunnel's folder, and remove those that nobody holds any more."""
    base = folder.parent
    base.mkdir(mode=0o700, exist_ok=True)
    found = base.lstat()
    if base.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OSError(f"{base} must belong to this user alone: remove it, or chmod 700")
    with _held(base) as _:
        for old in base.iterdir():
            _remove_if_left(old)
        folder.mkdir(mode=0o700)
        return _held(folder)


def _held(folder: Path) -> _Held:
    """Return the folder marked as used, when nobody else has it marked."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(number, fcntl.LOCK_EX)
    return _Held(number=number)


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(number)


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
