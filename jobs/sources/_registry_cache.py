"""What was fetched from registries before: contents by their digest, which never change, and lists by their ETag.

A cache in a folder outlives the process; one without a folder forgets. Losing it costs requests, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jobs.sources._registry_client import hash_content
from jobs.waiting import read_etag


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One page of a list of tags, as the registry gave it."""

    etag: str
    tags: tuple[str, ...]
    next_query: str | None
    """The query of the page after it; None on the last one."""


class RegistryCache:
    """Contents and pages, one small file each."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[str, bytes] = {}

    def find(self, digest: str) -> bytes | None:
        """Return a manifest or config with that digest, None if there is none or it is damaged."""
        body = self._read(digest.removeprefix("sha256:"))
        return body if body is not None and hash_content(body) == digest else None

    def keep(self, digest: str, body: bytes) -> None:
        """Keep a content that was checked against its digest."""
        self._write(digest.removeprefix("sha256:"), body)

    def find_page(self, url: str) -> ListPage | None:
        """Return the page last kept for an address, None if there is none."""
        body = self._read(_page_name(url))
        if body is None:
            return None
        try:
            found = json.loads(body)
            query = None if found["next"] is None else str(found["next"])
            return ListPage(etag=read_etag(str(found["etag"])), tags=tuple(map(str, found["tags"])), next_query=query)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep_page(self, url: str, page: ListPage) -> None:
        """Keep a page of a list."""
        content = {"etag": page.etag, "tags": page.tags, "next": page.next_query}
        self._write(_page_name(url), json.dumps(content).encode())

    def _read(self, name: str) -> bytes | None:
        if self._folder is None:
            return self._held.get(name)
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None

    def _write(self, name: str, body: bytes) -> None:
        """Keep a content, whole or not at all; a disk that is full or read-only only makes the next look slower."""
        if self._folder is None:
            self._held[name] = body
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            number, partial = tempfile.mkstemp(prefix=".part-", dir=self._folder)
            with os.fdopen(number, "wb") as file:
                file.write(body)
            os.replace(partial, self._folder / name)
        except OSError:
            return


def _page_name(url: str) -> str:
    return "list-" + hashlib.sha256(url.encode()).hexdigest()
