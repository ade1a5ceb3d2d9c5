"""The Docker Engine API as far as runs need it, over a unix socket, TLS or ssh; Podman's compatible API answers it too.

EngineAway (TryLater)     no answer: the engine restarts, or is not there; nothing is known about what was asked
EngineRefused             an answer that says no, with the engine's own words
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from jobs.errors import JobsError, TryLater, UserError
from jobs.executors._engine_ssh import Way, open_way
from jobs.ssh import HostAway, HostRefused

NEWEST_API = (1, 47)
"""The newest version of the API that this client was written against; an older engine is spoken to in its own."""
_ANSWER_WITHIN_S = 60.0
_START_WITHIN_S = 300.0
_SILENCE_S = 600.0
"""How long a stream (a pull, a log) may say nothing before it counts as broken."""
_GONE = re.compile(r"no such (container|image)", re.IGNORECASE)
"""Podman's words, with status 500, about a container that is being removed by somebody else at the same time."""
_EXPECTED = "expected unix:///path/to/the.sock, tcp://host:2376 or ssh://user@host"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class EngineAway(TryLater):
    """The engine does not answer."""


class EngineRefused(JobsError):
    """The engine answered no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """Where an engine listens, and the files that prove who is who where that is another machine."""

    url: str
    """`unix:///run/docker.sock`, `tcp://host:2376` or `ssh://user@host`."""
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    known_hosts: str | None = None
    identity: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether paths and disks that the engine speaks of are those of this machine."""
        return self.url.startswith("unix://")

    @property
    def is_ssh(self) -> bool:
        """Whether the engine is reached by a login on its machine."""
        return self.url.startswith("ssh://")

    def open_way(self) -> Way:
        """Return how an engine is reached by ssh."""
        return open_way(self.url, known_hosts=self.known_hosts, identity=self.identity)


def check_address(address: EngineAddress) -> None:
    """Raise UserError for an address that cannot be one, is not safe, or lacks a file."""
    if address.is_local:
        if not address.url.removeprefix("unix://").startswith("/"):
            raise UserError(f"engine address {address.url!r}: expected unix:///path/to/the.sock")
        return
    if address.is_ssh:
        address.open_way()
        return
    try:
        parts = urlsplit(address.url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or urlsplit(address.url).scheme not in ("tcp", "http"):
        raise UserError(f"engine address {address.url!r}: {_EXPECTED}")
    if urlsplit(address.url).scheme == "http":
        if host not in _LOOPBACK:
            raise UserError(
                f"engine address {address.url!r}: anyone could use it without TLS; give tcp://, ca, key, or ssh://"
            )
        return
    if not (address.ca and address.certificate and address.key):
        raise UserError(
            f"engine address {address.url!r}: an engine on another machine needs TLS: set ca, certificate and key"
        )
    _tls(address)


def _tls(address: EngineAddress) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=address.ca)
        context.load_cert_chain(str(address.certificate), address.key)
    except (OSError, ssl.SSLError) as error:
        files = f"{address.ca}, {address.certificate}, {address.key}"
        raise UserError(f"engine address {address.url!r}: the files {files} cannot be used: {error}") from error
    return context


def connect(address: EngineAddress) -> Engine:
    """Return a client of that engine; nothing is sent yet."""
    way = address.open_way() if address.is_ssh else None
    if way is not None:
        transport, base = httpx.HTTPTransport(uds=str(way.tunnel.path)), "http://engine"
    elif address.is_local:
        transport, base = httpx.HTTPTransport(uds=address.url.removeprefix("unix://")), "http://engine"
    elif address.url.startswith("http://"):
        transport, base = httpx.HTTPTransport(), address.url
    else:
        transport = httpx.HTTPTransport(verify=_tls(address))
        base = "https://" + address.url.removeprefix("tcp://")
    timeout = httpx.Timeout(_ANSWER_WITHIN_S, connect=10.0)
    client = httpx.Client(transport=transport, base_url=base, timeout=timeout, trust_env=False)
    return Engine(client=client, address=address.url, way=way)


@dataclass(slots=True, kw_only=True)
class Engine:
    """One engine. Every call raises EngineAway where there is no answer, EngineRefused where it is no."""

    client: httpx.Client
    address: str
    way: Way | None = None
    """How it is reached where that is by ssh."""
    _version: dict[str, Any] | None = field(default=None)

    def version(self) -> dict[str, Any]:
        """Return what the engine says of its own version."""
        if self._version is None:
            self._version = _object(self._send("GET", "/version", versioned=False))
        return self._version

    def info(self) -> dict[str, Any]:
        """Return what the engine says of its machine."""
        return _object(self._send("GET", "/info"))

    def find_image(self, reference: str) -> dict[str, Any] | None:
        """Return an image that the engine has; None where it has none of that name."""
        return self._find(f"/images/{quote(reference, safe='/:@')}/json")

    @contextmanager
    def pull(self, repository: str, digest: str, login: str | None) -> Iterator[Iterator[dict[str, Any]]]:
        """Yield the progress of a pull, one object a message; `login` is the value of X-Registry-Auth."""
        headers = {"X-Registry-Auth": login} if login else {}
        params = {"fromImage": repository, "tag": digest}
        with self._stream("POST", "/images/create", params=params, headers=headers) as answer:
            yield _messages(answer.iter_lines())

    def remove_image(self, reference: str) -> None:
        """Remove a name of an image, and the image where that was its last name and nothing uses it."""
        self._send("DELETE", f"/images/{quote(reference, safe='/:@')}")

    def create(self, name: str, body: Mapping[str, Any]) -> None:
        """Make a container under a name that is not taken."""
        self._send("POST", "/containers/create", params={"name": name}, json=body, timeout=_START_WITHIN_S)

    def inspect(self, name: str) -> dict[str, Any] | None:
        """Return a container's facts; None where there is none of that name."""
        return self._find(f"/containers/{name}/json")

    def list(self, label: str) -> list[dict[str, Any]]:
        """Return the containers with a label (`name=value`), running or not."""
        params = {"all": "true", "filters": json.dumps({"label": [label]})}
        found = self._send("GET", "/containers/json", params=params)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def put_files(self, name: str, folder: str, tar: Iterable[bytes]) -> None:
        """Unpack a tar stream into a folder of a container that has not been started."""
        words: dict[str, Any] = {"params": {"path": folder}, "headers": {"Content-Type": "application/x-tar"}}
        words["content"] = tar
        self._send("PUT", f"/containers/{name}/archive", timeout=_SILENCE_S, **words)

    def start(self, name: str) -> None:
        """Start a container; nothing happens where it runs already."""
        self._send("POST", f"/containers/{name}/start", timeout=_START_WITHIN_S)

    def stop(self, name: str, grace_s: int) -> None:
        """End a container: politely, and after `grace_s` seconds not; nothing happens where it has ended or is gone."""
        try:
            self._send("POST", f"/containers/{name}/stop", params={"t": grace_s}, timeout=grace_s + _ANSWER_WITHIN_S)
        except EngineRefused as error:
            if error.status != 404 and not _GONE.search(str(error)):
                raise

    def remove(self, name: str) -> None:
        """Remove a container and its volumes, ending it at once where it still runs; one that is gone is fine."""
        try:
            self._send("DELETE", f"/containers/{name}", params={"force": "true", "v": "true"})
        except EngineRefused as error:
            going = error.status == 409 and "in progress" in str(error)
            if error.status != 404 and not going and not _GONE.search(str(error)):
                raise

    @contextmanager
    def log(self, name: str, *, follow: bool) -> Iterator[Iterator[bytes]]:
        """Yield a container's log from its beginning, framed (see `_engine_logs`)."""
        params = {"stdout": "true", "stderr": "true", "follow": "true" if follow else "false"}
        timeout = httpx.Timeout(_ANSWER_WITHIN_S, read=None if follow else _SILENCE_S)
        with self._stream("GET", f"/containers/{name}/logs", params=params, timeout=timeout) as answer:
            yield _chunks(answer)

    @contextmanager
    def get_files(self, name: str, path: str) -> Iterator[Iterator[bytes]]:
        """Yield what lies at a path of a container as a tar stream; EngineRefused 404 where nothing does."""
        with self._stream("GET", f"/containers/{name}/archive", params={"path": path}) as answer:
            yield _chunks(answer)

    def close(self) -> None:
        """Give the connections back."""
        self.client.close()

    def _find(self, path: str) -> dict[str, Any] | None:
        """Return an object; None where there is none. An engine in trouble with a mere question counts as away."""
        try:
            return _object(self._send("GET", path))
        except EngineRefused as error:
            if error.status == 404 or _GONE.search(str(error)):
                return None
            if error.status >= 500:
                raise EngineAway(f"the engine is in trouble: {error}") from error
            raise

    def _prefix(self) -> str:
        spoken = _api(str(self.version().get("ApiVersion", "")))
        return "" if spoken is None else "/v{}.{}".format(*min(spoken, NEWEST_API))

    def _send(self, method: str, path: str, *, versioned: bool = True, **words: Any) -> Any:
        """Return the answer's JSON, None where it has none."""
        with self._translated():
            answer = self.client.request(method, (self._prefix() if versioned else "") + path, **words)
        _check(answer.status_code, answer.content)
        try:
            return answer.json() if answer.content else None
        except ValueError:
            return None

    @contextmanager
    def _stream(self, method: str, path: str, **words: Any) -> Iterator[httpx.Response]:
        words.setdefault("timeout", httpx.Timeout(_ANSWER_WITHIN_S, read=_SILENCE_S))
        prefix = self._prefix()
        with self._translated(), self.client.stream(method, prefix + path, **words) as answer:
            if answer.status_code >= 400:
                _check(answer.status_code, answer.read())
            yield answer

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn every failure to get an answer into EngineAway, its tunnel made (again) first where it has one."""
        try:
            if self.way is not None:
                self.way.tunnel.ensure()
            yield
            if self.way is not None:
                self.way.tunnel.forget()
        except (HostAway, HostRefused) as error:
            raise EngineAway(f"the container engine at {self.address} cannot be reached: {error}") from error
        except (httpx.TransportError, httpx.StreamError, httpx.DecodingError) as error:
            cut_off = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
            said = (self.way.explain() if self.way and cut_off else "") or str(error) or type(error).__name__
            raise EngineAway(f"the container engine at {self.address} does not answer: {said}") from error


def _chunks(answer: httpx.Response) -> Iterator[bytes]:
    yield from answer.iter_raw()


def _messages(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a stream of JSON, one a line; a line that is none is passed on as its text."""
    for line in lines:
        if line.strip():
            try:
                message = json.loads(line)
            except ValueError:
                message = {"status": line.strip()[:300]}
            yield message if isinstance(message, dict) else {}


def _check(status: int, content: bytes) -> None:
    if status < 400:
        return
    try:
        message = json.loads(content)["message"]
    except (ValueError, KeyError, TypeError):
        message = content.decode("utf-8", errors="replace").strip()
    raise EngineRefused(status, str(message)[:1000] or f"status {status}")


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _api(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None
