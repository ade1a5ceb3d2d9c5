"""A package index on loopback, answering what a test puts there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.fakes.odd_registry import OddRegistry, serve_odd_registry

JSON_TYPE = "application/vnd.pypi.simple.v1+json"


@dataclass
class IndexServer:
    """Pages by path; every request is kept with its headers."""

    url: str = ""
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def put(self, path: str, body: bytes | str, content_type: str, status: int = 200, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"Content-Type": content_type, **headers}, data)

    def put_files(self, package: str, files: list[dict[str, object]], base: str = "/simple") -> None:
        page = {"meta": {"api-version": "1.1"}, "name": package, "files": files}
        self.put(f"{base}/{package}/", json.dumps(page), JSON_TYPE)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexServer]:
    """Return a running index that this machine is set up to use."""
    server = IndexServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append((self.path, dict(self.headers)))
            status, headers, body = server.pages.get(self.path, (404, {"Content-Type": "text/html"}, b"not found"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/simple"
    monkeypatch.setenv("PIP_INDEX_URL", server.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    # pip's own configuration of this machine must not reach into the tests
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    yield server
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def no_logins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a home folder without logins of docker or podman; the developer's own are not read."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def odd_registry(no_logins: Path) -> Iterator[OddRegistry]:
    """Return a running registry of our own, to be broken at will."""
    with serve_odd_registry() as registry:
        yield registry
