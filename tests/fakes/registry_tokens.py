"""A token server for registries, on loopback: signs what it grants with a key of its own, and keeps what was asked."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


@dataclass
class TokenServer:
    """Grants anybody `pull` on `public` repositories, and its user everything."""

    folder: Path
    url: str = ""
    user: tuple[str, str] = ("tester", "s3cret-word")
    public: set[str] = field(default_factory=set)
    service: str = "tests-registry"
    issuer: str = "tests-issuer"
    lives_s: int = 60
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Every request: its path with the query, and the Authorization header ('' without one)."""

    @property
    def realm(self) -> str:
        return f"{self.url}/token"

    @property
    def certificate(self) -> Path:
        return self.folder / "token.crt"

    def grant_all(self, path: str) -> str:
        """Return a token for anything in the repository that a path of the API names."""
        repository = path.removeprefix("/v2/").rpartition("/manifests/")[0] or path.removeprefix("/v2/")
        return self.sign([{"type": "repository", "name": repository, "actions": ["pull", "push", "delete"]}])

    def answer(self, query: str, authorization: str) -> tuple[int, dict[str, object]]:
        """Return status and body for one request of a token."""
        known = authorization == "Basic " + base64.b64encode(":".join(self.user).encode()).decode()
        if authorization and not known:
            return 401, {"errors": [{"code": "UNAUTHORIZED", "message": "wrong user name or password"}]}
        access = []
        for scope in parse_qs(query).get("scope", []):
            kind, name, actions = scope.split(":", 2)
            allowed = [a for a in actions.split(",") if known or (a == "pull" and name in self.public)]
            access.append({"type": kind, "name": name, "actions": allowed})
        return 200, {"token": self.sign(access), "expires_in": self.lives_s}

    def sign(self, access: list[dict[str, object]]) -> str:
        """Return a token that the registry with this server's certificate believes."""
        now = int(time.time())
        chain = "".join(line for line in self.certificate.read_text().splitlines() if "-----" not in line)
        header = {"typ": "JWT", "alg": "RS256", "x5c": [chain]}
        claims = {
            "iss": self.issuer,
            "sub": self.user[0],
            "aud": self.service,
            "exp": now + self.lives_s,
            "nbf": now - 5,
            "iat": now,
            "jti": secrets.token_hex(8),
            "access": access,
        }
        signed = ".".join(_encode(json.dumps(part).encode()) for part in (header, claims))
        command = ["openssl", "dgst", "-sha256", "-sign", str(self.folder / "token.key")]
        signature = subprocess.run(command, input=signed.encode(), capture_output=True, timeout=60, check=True).stdout
        return f"{signed}.{_encode(signature)}"


@contextmanager
def serve_tokens(folder: Path, *, public: set[str] | None = None) -> Iterator[TokenServer]:
    """Yield a running token server; give it to `serve_registry(..., tokens=...)`."""
    folder.mkdir(parents=True, exist_ok=True)
    state = TokenServer(folder=folder, public=public or set())
    _make_key(folder)
    handler = type("Handler", (_Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def _make_key(folder: Path) -> None:
    """Write a key and a certificate that signs itself."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tests"]
    command += ["-keyout", str(folder / "token.key"), "-out", str(folder / "token.crt")]
    subprocess.run(command, capture_output=True, timeout=60, check=True)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class _Handler(BaseHTTPRequestHandler):
    state: TokenServer

    def do_GET(self) -> None:
        authorization = self.headers.get("Authorization") or ""
        self.state.asked.append((self.path, authorization))
        status, answer = self.state.answer(urlsplit(self.path).query, authorization)
        body = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""
