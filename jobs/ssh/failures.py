"""What ssh says when it does not log in, and what that means for whoever waits. It ends with 255 then (ssh(1))."""

from __future__ import annotations

import re

from jobs.errors import JobsError, TryLater, UserError
from jobs.ssh.login import SshLogin

OWN_TROUBLE = 255
_CHANGED = re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed|REVOKED HOST KEY", re.I)
_UNKNOWN = re.compile(r"no .*host key is known for|host key verification failed", re.IGNORECASE)
_NO_KEY_FOR = re.compile(r"host key is known for (\S+)", re.IGNORECASE)
"""The name that a key is looked for under: ~/.ssh/config may say another than the login's, or go by a third machine."""
_DENIED = re.compile(r"permission denied \(([^)]*)\)|too many authentication failures", re.IGNORECASE)
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/=]{20,}")
_OFFENDING = re.compile(r"Offending .*key in (\S.*:[0-9]+)")
_BAD_KEY = re.compile(r"bad permissions|are too open|not accessible|invalid format|error in libcrypto", re.IGNORECASE)
_CONFIG = re.compile(
    r"bad owner or permissions|bad configuration option|terminating, [0-9]+ bad|missing argument", re.I
)
_NO_AGREEMENT = re.compile(r"unable to negotiate|no matching", re.IGNORECASE)
_FORWARD = re.compile(r"could not request local forwarding|address already in use|cannot listen to port", re.IGNORECASE)
_SAID_LIMIT = 400


class HostAway(TryLater):
    """The other machine does not answer, or the connection broke."""


class HostRefused(UserError):
    """The other machine cannot be logged in to, and waiting does not change that."""


class CommandFailed(JobsError):
    """A command on the other machine ended with another exit code than 0."""

    def __init__(self, status: int, said: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said


def no_program(login: SshLogin) -> HostRefused:
    """Return what to say where this machine has no ssh."""
    return HostRefused(
        f"{login} cannot be reached: expected the program ssh on this machine's PATH, found none; "
        "install it (apt-get install openssh-client)"
    )


def explain(login: SshLogin, said: str) -> HostAway | HostRefused:
    """Return what ssh's own words mean: something that waiting may heal, or what somebody has to put right."""
    last = _last(said)
    if _CHANGED.search(said):
        return HostRefused(_changed(login, said))
    if _UNKNOWN.search(said):
        return HostRefused(_unknown(login, said))
    if match := _DENIED.search(said):
        return HostRefused(_denied(login, said, match.group(0)))
    if _CONFIG.search(said):
        return HostRefused(f"{login} cannot be reached: ssh cannot use its settings: {last}; correct ~/.ssh/config")
    if _FORWARD.search(said):
        return HostRefused(
            f"{login} cannot be reached: {_last(said, _FORWARD)}: ~/.ssh/config forwards ports for this host; "
            "give it a Host entry without LocalForward and RemoteForward"
        )
    if _NO_AGREEMENT.search(said):
        return HostRefused(f"{login}: the two ssh programs have no way to talk in common: {last}; update the older one")
    return HostAway(f"{login} does not answer: {last or 'ssh ended without a word'}")


def _changed(login: SshLogin, said: str) -> str:
    found = match.group(0) if (match := _FINGERPRINT.search(said)) else "another one"
    where = match.group(1) if (match := _OFFENDING.search(said)) else _where(login)
    return (
        f"{login} is not the machine that it was: expected the host key in {where}, found {found}. Nothing was sent "
        "to it. If its key was changed on purpose, compare that fingerprint with what "
        "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` says on the machine itself, and only then replace the line"
    )


def _unknown(login: SshLogin, said: str) -> str:
    name = match.group(1) if (match := _NO_KEY_FOR.search(said)) else login.host
    port = f" -p {login.port}" if login.port else ""
    return (
        f"{login} is not known: expected its host key (of {name}) in {_where(login)}, found none. Compare what "
        f"`ssh-keyscan{port} {login.host} | ssh-keygen -lf -` says here with `ssh-keygen -lf "
        "/etc/ssh/ssh_host_ed25519_key.pub` on the machine itself, and add the scanned line only if they are the same"
    )


def _denied(login: SshLogin, said: str, found: str) -> str:
    key = f"the key {login.identity}" if login.identity else "a key of this user (or of its agent)"
    hint = f" ({_last(said, _BAD_KEY)})" if _BAD_KEY.search(said) else ""
    return (
        f"{login} refuses this login: expected {key} to be accepted, found {found!r}{hint}. Put its public part into "
        "authorized_keys there; it must be a key without a passphrase, or one in an agent, and readable by its owner "
        "only (chmod 600)"
    )


def _where(login: SshLogin) -> str:
    return str(login.known_hosts or "~/.ssh/known_hosts")


def _last(said: str, wanted: re.Pattern[str] | None = None) -> str:
    """Return the last line of what was said, or the last that has what is wanted."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    fitting = [line for line in lines if wanted is None or wanted.search(line)]
    return fitting[-1].rstrip(".")[:_SAID_LIMIT] if fitting else ""
