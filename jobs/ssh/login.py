"""Who logs in where: an `ssh://` address read, checked, and as the words that `ssh` takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from jobs.errors import UserError

_ADDRESS = re.compile(r"ssh://(?:(?P<user>.*)@)?(?P<host>\[[^\[\]@]*\]|[^:@\[\]]*)(?::(?P<port>[^@:]*))?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]{0,100}\$?")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_PATH = re.compile(r"(?:/[A-Za-z0-9_.,+=@-]+)+")
_EXPECTED = "expected ssh://user@host, ssh://user@host:port or ssh://user@host/path/to/the.sock"


@dataclass(frozen=True, slots=True, kw_only=True)
class SshLogin:
    """One login on one machine; made by `read_login`, which checks it."""

    user: str | None
    """None leaves it to `~/.ssh/config`, and to the name of this user."""
    host: str
    """A name, an address, or a `Host` of `~/.ssh/config`."""
    port: int | None
    known_hosts: Path | None = None
    """Where the keys of hosts are; None for ssh's own files."""
    identity: Path | None = None
    """The private key; None leaves it to `~/.ssh/config`, the agent and the usual files."""

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self._bracketed()}" + (f":{self.port}" if self.port else "")

    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def words(self) -> list[str]:
        """Return what `ssh` is told about whom to log in as, and where; the host comes last."""
        words = []
        if self.known_hosts is not None:
            words += ["-o", f"UserKnownHostsFile={_quoted(self.known_hosts)}"]
        if self.identity is not None:
            words += ["-o", "IdentitiesOnly=yes", "-o", f"IdentityFile={_quoted(self.identity)}"]
        if self.user is not None:
            words += ["-l", self.user]
        if self.port is not None:
            words += ["-p", str(self.port)]
        return [*words, "--", self.host]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        files = {"known_hosts": self.known_hosts, "identity": self.identity}
        named = {name: str(path) if path else None for name, path in files.items()}
        return {"user": self.user, "host": self.host, "port": self.port, **named}


def login_from_json(values: Mapping[str, Any]) -> SshLogin:
    """Return the login that `to_json` gave."""
    files = {name: Path(values[name]) if values[name] else None for name in ("known_hosts", "identity")}
    return SshLogin(user=values["user"], host=values["host"], port=values["port"], **files)


def read_login(address: str, *, known_hosts: Path | None = None, identity: Path | None = None) -> SshLogin:
    """Return the login that an address names; a path in it is left to `read_path`.

    UserError for an address that cannot be one, holds a password, or could be taken for an option or for two words;
    and for a file that is not there.
    """
    user, host, port, _ = _split(address)
    for name, file in (("known_hosts", known_hosts), ("identity", identity)):
        if file is not None:
            _check_file(address, name, file)
    return SshLogin(user=user, host=host, port=port, known_hosts=known_hosts, identity=identity)


def read_path(address: str, default: str) -> str:
    """Return the absolute path on the other machine that an address ends with, `default` where it has none."""
    path = _split(address)[3]
    if path in ("", "/"):
        return default
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        raise UserError(f"address {address!r}: {path!r} is no path of a socket there; {_EXPECTED}")
    return path


def _split(address: str) -> tuple[str | None, str, int | None, str]:
    """Return user, host, port and path."""
    if not address.isascii() or not address.isprintable() or " " in address:
        raise UserError(f"address {_hidden(address)!r}: found white space or an odd character; {_EXPECTED}")
    rest = address.removeprefix("ssh://")
    authority, slash, path = rest.partition("/")
    match = _ADDRESS.fullmatch("ssh://" + authority)
    if rest == address or match is None:
        raise UserError(f"address {_hidden(address)!r}: {_EXPECTED}")
    user, host, port = match["user"], match["host"], match["port"]
    if user is not None and ":" in user:
        raise UserError(f"address {_hidden(address)!r}: a password has no place in it; log in with a key")
    if user is not None and not _USER.fullmatch(user):
        raise UserError(f"address {address!r}: {user!r} is no user name; {_EXPECTED}")
    number = int(port) if port and port.isdecimal() and len(port) < 6 else 0
    if port is not None and not 1 <= number <= 65_535:
        raise UserError(f"address {address!r}: {port!r} is no port from 1 to 65535; {_EXPECTED}")
    return user, _host(address, host), number or None, slash + path


def _host(address: str, text: str) -> str:
    if text.startswith("["):
        try:
            return str(IPv6Address(text[1:-1]))
        except ValueError as error:
            raise UserError(f"address {address!r}: {text!r} is no IPv6 address: {error}") from error
    if not _HOST.fullmatch(text):
        raise UserError(f"address {address!r}: {text!r} is no name of a host; {_EXPECTED}")
    return text


def _hidden(address: str) -> str:
    """Return the address with what may be a password left out."""
    return re.sub(r"(:/*[^/@:]*):.*@", r"\1:***@", address)


def _check_file(address: str, name: str, file: Path) -> None:
    if not file.is_absolute() or any(character in str(file) for character in '"\\$\n\r\0'):
        raise UserError(f"address {address!r}: {name}: expected an absolute path without quotes or $, found {file}")
    try:
        with file.open("rb"):
            return
    except OSError as error:
        raise UserError(f"address {address!r}: {name}: {file} cannot be read: {error.strerror}") from error


def _quoted(file: Path) -> str:
    """Return a path as one word of ssh's configuration, in which % begins a token."""
    return '"' + str(file).replace("%", "%%") + '"'
