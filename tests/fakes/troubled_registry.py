"""A registry between an engine and the real one that does to chosen answers what failing registries do.

    with serve_troubled(registry) as troubled:
        troubled.trouble = lambda request: Cut() if "/blobs/" in request.path else None

`Cut` ends an answer in its middle, `Lie` changes its bytes, `Flood` sends so many, `Redirect` names another place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.fakes.odd_registry import Reply, serve
from tests.fakes.registry import Registry

CHUNK = b"x" * 1_000_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request, as far as troubles are chosen by it."""

    method: str
    path: str
    by_engine: bool
    """Whether an engine asks, not the service that watches for tags."""


@dataclass(frozen=True)
class Cut:
    """Half of the answer, then nothing."""


@dataclass(frozen=True)
class Lie:
    """The answer with another last byte."""


@dataclass(frozen=True)
class Flood:
    """So many bytes that mean nothing."""

    size_bytes: int


@dataclass(frozen=True)
class Redirect:
    """Another address."""

    to: str


Trouble = Cut | Lie | Flood | Redirect
KEPT = ("content-type", "docker-content-digest", "link")


class TroubledRegistry:
    """What stands behind the server; `trouble` chooses what becomes of each answer."""

    def __init__(self, registry: Registry) -> None:
        self.address = ""
        self.trouble: Callable[[Asked], Trouble | None] = lambda asked: None
        self._registry = registry

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Reply:
        """Return the answer to one request."""
        engine = headers.get("user-agent", "").startswith("containers/")
        trouble = self.trouble(Asked(method=method, path=target.partition("?")[0], by_engine=engine))
        if isinstance(trouble, Redirect):
            return Reply(status=307, headers={"Location": trouble.to})
        if isinstance(trouble, Flood):
            kind = {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}
            return Reply(headers=kind, body=(CHUNK for _ in range(trouble.size_bytes // len(CHUNK))))
        wanted = {"Accept": ", ".join(ACCEPTED)} if "/manifests/" in target else {}
        real = httpx.request(method, self._registry.url + target, headers=wanted, timeout=60, trust_env=False)
        kept = {name: real.headers[name] for name in KEPT if name in real.headers}
        body = real.content
        if isinstance(trouble, Lie) and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if method == "HEAD" or isinstance(trouble, Cut):
            kept["Content-Length"] = real.headers.get("content-length", str(len(body)))
        if isinstance(trouble, Cut):
            return Reply(status=real.status_code, headers=kept, body=iter([body[: len(body) // 2]]))
        return Reply(status=real.status_code, headers=kept, body=body)


ACCEPTED = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


@contextmanager
def serve_troubled(registry: Registry) -> Iterator[TroubledRegistry]:
    """Yield a running go-between without any trouble."""
    state = TroubledRegistry(registry)
    with serve(state):
        yield state
