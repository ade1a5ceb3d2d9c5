"""A small container registry of our own on loopback, for what no real one does on demand: pages, lies, loops, floods.

with serve_odd_registry() as registry:
    registry.add_image("1.0.0")
    registry.replies["GET /v2/bench/runtime/tags/list"] = Reply(status=429, headers={"Retry-After": "30"})
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "bench/runtime"
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


@dataclass
class Reply:
    """What one request is answered with instead."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""
    """Pieces are sent as they come, without a length."""
    raw: Iterable[bytes] | None = None
    """Sent instead of everything else, status line and headers included; then the connection is closed."""
    times: int | None = None
    """None: every time."""


@dataclass
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class OddRegistry:
    """Images of one repository; change `replies`, `page_tags` and `link` to break it."""

    address: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    contents: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    page_tags: int = 1_000_000
    link: Callable[[str], str] = lambda query: f"/v2/{REPOSITORY}/tags/list?{query}"
    etag: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    """`METHOD /path` without a query -> what it is answered with."""
    requests: list[Request] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The repository's whole name."""
        return f"{self.address}/{REPOSITORY}"

    def asked(self, method: str, part: str) -> list[str]:
        """Return the paths of the requests so far with that method and part."""
        return [request.path for request in self.requests if request.method == method and part in request.path]

    def keep(self, document: object, kind: str) -> str:
        """Keep a content; return its digest."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        digest = f"sha256:{sha256(body).hexdigest()}"
        self.contents[digest] = (body, kind)
        return digest

    def add_manifest(
        self,
        *,
        env: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        platform: str = "linux/amd64",
        created: str = "2026-01-02T03:04:05Z",
        mark: str = "",
    ) -> str:
        """Keep an image; return its manifest's digest. `mark` makes it another one."""
        system, processor = platform.split("/")
        settings = {"Env": list(env), "Labels": dict(labels or {}), "Cmd": [mark]}
        config = {"os": system, "architecture": processor, "created": created, "config": settings}
        digest = self.keep(config, CONFIG)
        size = len(self.contents[digest][0])
        layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest, "size": 1000}
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest, "size": size},
            "layers": [layer],
        }
        return self.keep(manifest, MANIFEST)

    def add_image(self, tag: str, *, mark: str | None = None, **more: object) -> str:
        """Publish an image under a tag; return its digest. Without a `mark` each tag has an image of its own."""
        self.tags[tag] = self.add_manifest(mark=tag if mark is None else mark, **more)  # type: ignore[arg-type]
        return self.tags[tag]

    def add_index(self, tag: str, parts: Mapping[str, str]) -> str:
        """Publish an index under a tag: platform -> digest; return the index's digest."""
        entries = []
        for platform, digest in parts.items():
            system, processor = platform.split("/")
            size = len(self.contents[digest][0])
            place = {"os": system, "architecture": processor}
            entries.append({"mediaType": MANIFEST, "digest": digest, "size": size, "platform": place})
        self.tags[tag] = self.keep({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}, INDEX)
        return self.tags[tag]

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Reply:
        """Return the answer to one request."""
        parts = urlsplit(target)
        self.requests.append(Request(method, target, headers))
        reply = self.replies.get(f"{method} {parts.path}")
        if reply is not None and reply.times != 0:
            reply.times = None if reply.times is None else reply.times - 1
            return reply
        base = f"/v2/{REPOSITORY}/"
        if not self.tags or not parts.path.startswith(base):
            return _error(404, "NAME_UNKNOWN")
        rest = parts.path.removeprefix(base)
        if rest == "tags/list":
            return self._list(parse_qs(parts.query), headers)
        kind, _, name = rest.partition("/")
        digest = self.tags.get(name, name)
        if kind not in ("manifests", "blobs") or digest not in self.contents:
            return _error(404, "MANIFEST_UNKNOWN")
        body, media_type = self.contents[digest]
        if kind == "manifests" and media_type not in headers.get("accept", ""):
            return _error(404, "MANIFEST_UNKNOWN")
        return Reply(headers={"Content-Type": media_type, "Docker-Content-Digest": digest}, body=body)

    def _list(self, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply:
        if self.etag and headers.get("if-none-match") == self.etag:
            return Reply(status=304, headers={"ETag": self.etag})
        names = list(self.tags)
        start = int(query.get("last", ["0"])[0])
        end = start + self.page_tags
        body = json.dumps({"name": REPOSITORY, "tags": names[start:end]}).encode()
        told = {"Content-Type": "application/json", **({"ETag": self.etag} if self.etag else {})}
        if end < len(names):
            told["Link"] = f'<{self.link(f"last={end}&n={self.page_tags}")}>; rel="next"'
        return Reply(headers=told, body=body)


@contextmanager
def serve_odd_registry() -> Iterator[OddRegistry]:
    """Yield a running registry without any image."""
    state = OddRegistry()
    with serve(state):
        yield state


class Answering(Protocol):
    """What stands behind a server: where it is, and its answer to each request."""

    address: str

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Reply: ...


@contextmanager
def serve(state: Answering) -> Iterator[None]:
    """Have a server on loopback answer with it while the block runs."""
    handler = type("Handler", (_Handler,), {"state": state})
    with _Server(("127.0.0.1", 0), handler) as server:
        state.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _error(status: int, code: str) -> Reply:
    return Reply(status=status, body=json.dumps({"errors": [{"code": code, "message": "no"}]}).encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet about clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    state: Answering
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def _answer(self, method: str) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.state.answer(method, self.path, headers)
        if reply.raw is not None:
            self._send_raw(reply.raw)
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        whole = isinstance(reply.body, bytes)
        if not whole:
            self.close_connection = True
            self.send_header("Connection", "close")
        elif "Content-Length" not in reply.headers and reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        try:
            for piece in [reply.body] if whole else reply.body:
                if method != "HEAD":
                    self.wfile.write(piece)
                    self.wfile.flush()
        except OSError:
            self.close_connection = True

    def _send_raw(self, pieces: Iterable[bytes]) -> None:
        self.close_connection = True
        with suppress(OSError):
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""
