"""A small GitHub of our own on loopback: the releases of repositories, page by page, with ETags, limits and renames.

with serve_github() as github:
    github.publish("owner/thing", "v1.0.0", body="What is new")
    github.replies["GET /repos/owner/thing/releases"] = Reply(status=503)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.odd_registry import Reply, Request, serve


@dataclass
class GitHub:
    """Repositories with their releases, the newest first; change `replies` and `page_releases` to break it."""

    address: str = ""
    releases: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    page_releases: int = 100
    token: str = ""
    """Asked for where it is set."""
    renamed: dict[str, str] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    """`METHOD /path` without a query -> what it is answered with."""
    requests: list[Request] = field(default_factory=list)

    @property
    def api(self) -> str:
        return f"http://{self.address}"

    def publish(self, repository: str, tag: str, **more: Any) -> dict[str, Any]:
        """Publish a release; return its entry, which may be changed."""
        entry = {
            "tag_name": tag,
            "html_url": f"https://github.example.com/{repository}/releases/tag/{tag}",
            "name": f"Release {tag}",
            "body": f"What is new in {tag}",
            "draft": False,
            "prerelease": False,
            "published_at": "2026-01-02T03:04:05Z",
            **more,
        }
        self.releases.setdefault(repository, []).insert(0, entry)
        return entry

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Reply:
        """Return the answer to one request."""
        parts = urlsplit(target)
        self.requests.append(Request(method, target, headers))
        reply = self.replies.get(f"{method} {parts.path}")
        if reply is not None and reply.times != 0:
            reply.times = None if reply.times is None else reply.times - 1
            return reply
        if self.token and headers.get("authorization") not in (None, f"Bearer {self.token}"):
            return _say(401, "Bad credentials")
        name = parts.path.removeprefix("/repos/").removesuffix("/releases")
        if name in self.renamed:
            return Reply(
                status=301, headers={"Location": f"{self.api}/repos/{self.renamed[name]}/releases?{parts.query}"}
            )
        if name not in self.releases:
            return _say(404, "Not Found")
        return self._list(name, parse_qs(parts.query), headers)

    def _list(self, name: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply:
        page = int(query.get("page", ["1"])[0])
        entries = self.releases[name]
        body = json.dumps(entries[(page - 1) * self.page_releases : page * self.page_releases]).encode()
        etag = f'W/"{sha256(body).hexdigest()[:16]}"'
        if headers.get("if-none-match") == etag:
            return Reply(status=304, headers={"ETag": etag})
        told = {"Content-Type": "application/json; charset=utf-8", "ETag": etag}
        if page * self.page_releases < len(entries):
            told["Link"] = f'<{self.api}/repos/{name}/releases?per_page=50&page={page + 1}>; rel="next"'
        return Reply(headers=told, body=body)


@contextmanager
def serve_github() -> Iterator[GitHub]:
    """Yield a running GitHub without any repository."""
    state = GitHub()
    with serve(state):
        yield state


def _say(status: int, message: str) -> Reply:
    return Reply(status=status, body=json.dumps({"message": message}).encode())
