"""Who one is at a registry: from the service's settings, or else from the files that docker and podman keep.

A password is never shown: not in `repr`, not in an error, not in a command line.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.sources._registry_names import HUB, Repository

HELPER_LIMIT_S = 30.0
_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A user name and a password or token."""

    username: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of an Authorization header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAccess:
    """How one registry is reached, as the service's settings say."""

    host: str
    login: Login | None = None
    plain_http: bool = False
    ca_file: Path | None = None


def find_login(
    repository: Repository, access: RegistryAccess | None, environment: Mapping[str, str] | None = None
) -> Login | None:
    """Return the login for a repository, None where there is none: then one asks as anybody.

    Order: the service's settings; docker's config file (its credential helpers first); podman's login file. UserError
    where such a file cannot be read, TryLater where a helper does not answer.
    """
    if access is not None and access.login is not None:
        return access.login
    for file in _login_files(os.environ if environment is None else environment):
        if login := _read_login_file(file, repository):
            return login
    return None


def _login_files(environment: Mapping[str, str]) -> Iterable[Path]:
    """Yield where docker and podman keep logins."""
    home = Path(environment.get("HOME") or "/nonexistent")
    yield Path(environment.get("DOCKER_CONFIG") or home / ".docker") / "config.json"
    if named := environment.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "containers" / "auth.json"
    yield home / ".config" / "containers" / "auth.json"


def _read_login_file(file: Path, repository: Repository) -> Login | None:
    """Return the login that one file has for a repository, None if it has none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(f"login file {file}: cannot be read: {error.strerror}; correct its permissions") from error
    except (ValueError, RecursionError):
        raise UserError(f"login file {file}: is not JSON; correct it, or log in again") from None
    tables = {key: _table(content, key) for key in ("auths", "credHelpers")}
    keys = _keys_of(repository)
    for key in keys:
        if isinstance(helper := tables["credHelpers"].get(key), str):
            return _ask_helper(helper, key, file)
    for key in keys:
        if isinstance(entry := tables["auths"].get(key), dict) and (login := _read_entry(entry, file, key)):
            return login
    store = content.get("credsStore") if isinstance(content, dict) else None
    if not isinstance(store, str) or not store:
        return None
    kept = (_ask_helper(store, key, file) for key in keys if key in tables["auths"])
    return next(filter(None, kept), None)


def _table(content: object, key: str) -> dict[str, object]:
    value = content.get(key) if isinstance(content, dict) else None
    return value if isinstance(value, dict) else {}


def _keys_of(repository: Repository) -> list[str]:
    """Return what a repository's login may be kept under, the most exact first: podman knows one a folder."""
    parts = repository.name.split("/")
    exact = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
    if repository.host == HUB:
        return [*exact, *(key for key in _HUB_KEYS if key not in exact)]
    host = repository.host
    return [
        *exact,
        f"https://{host}",
        f"https://{host}/",
        f"http://{host}",
        f"https://{host}/v1/",
        f"https://{host}/v2/",
    ]


def _read_entry(entry: Mapping[str, object], file: Path, key: str) -> Login | None:
    """Return the login of one entry: its `auth`, or `username` and `password`; an empty one means a helper's."""
    if entry.get("identitytoken"):
        raise UserError(
            f"login file {file}: the login of {key} is an identity token, which is not understood; log in with a user "
            "name and an access token, or give them in [[registries]]"
        )
    packed = entry.get("auth")
    if not isinstance(packed, str) or not packed:
        name, password = entry.get("username"), entry.get("password")
        return Login(username=name, password=password) if isinstance(name, str) and isinstance(password, str) else None
    try:
        name, colon, password = base64.b64decode(packed, validate=True).decode().rstrip("\0").partition(":")
    except (binascii.Error, ValueError):
        name, colon, password = "", "", ""
    if not colon:
        raise UserError(f"login file {file}: the login of {key} cannot be read; log in again")
    return Login(username=name, password=password)


def _ask_helper(helper: str, key: str, file: Path) -> Login | None:
    """Return the login that a credential helper keeps under a key; None where it says that it has none."""
    if not _HELPER_NAME.fullmatch(helper):
        raise UserError(f"login file {file}: {helper!r} is no name of a credential helper")
    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run([program, "get"], input=key.encode(), capture_output=True, timeout=HELPER_LIMIT_S)
    except FileNotFoundError as error:
        raise UserError(
            f"login file {file}: it names the credential helper {program}, which is not on PATH; install it, or give "
            "the login in [[registries]]"
        ) from error
    except subprocess.TimeoutExpired:
        raise TryLater(f"credential helper {program}: no answer within {HELPER_LIMIT_S:.0f} s") from None
    except OSError as error:
        raise UserError(f"credential helper {program}: cannot be started: {error.strerror}") from error
    if done.returncode:
        if b"credentials not found" in done.stdout + done.stderr:
            return None
        raise UserError(f"credential helper {program}: ended with exit code {done.returncode}; try it by hand")
    return _read_helper(done.stdout, program)


def _read_helper(answer: bytes, program: str) -> Login:
    try:
        found = json.loads(answer)
        name, password = found["Username"], found["Secret"]
    except (ValueError, TypeError, KeyError, RecursionError):
        name = password = None
    if not isinstance(name, str) or not isinstance(password, str):
        raise UserError(f"credential helper {program}: its answer is not JSON with Username and Secret")
    if name == "<token>":
        raise UserError(
            f"credential helper {program}: it keeps an identity token, which is not understood; log in with a user "
            "name and an access token, or give them in [[registries]]"
        )
    return Login(username=name, password=password)
