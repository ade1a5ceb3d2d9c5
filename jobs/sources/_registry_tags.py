"""The whole list of a repository's tags, page by page, however the registry says that there is more."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx

from jobs.errors import TryLater, UserError
from jobs.sources._registry_cache import ListPage, RegistryCache
from jobs.sources._registry_client import MIB, Answer, RegistryClient
from jobs.sources._registry_names import Repository
from jobs.waiting import read_etag

PAGE_TAGS = 100
PAGE_LIMIT_BYTES = 16 * MIB
MOST_PAGES = 2_000
MOST_TAGS = 100_000
IDLE_PAGES = 3
"""Pages in a row without a new tag, after which the list is held to go round in a circle."""
_NEXT = re.compile(r'<([^<>]*)>\s*;[^<]*?\brel\s*=\s*"?next\b', re.IGNORECASE)


def list_tags(client: RegistryClient, repository: Repository, cache: RegistryCache) -> list[str]:
    """Return all tags of a repository, in no order that means anything.

    UserError where there is no such repository or it is empty, TryLater where the list has no end.
    """
    tags: dict[str, None] = {}
    query: str | None = f"n={PAGE_TAGS}"
    asked: set[str] = set()
    idle = 0
    while query is not None:
        if query in asked or idle >= IDLE_PAGES:
            raise TryLater(f"registry {repository.host}: its list of the tags of {repository.path} goes in a circle")
        if len(asked) >= MOST_PAGES or len(tags) > MOST_TAGS:
            raise TryLater(
                f"registry {repository.host}: its list of the tags of {repository.path} has no end: {len(tags)} tags "
                f"on {len(asked)} pages"
            )
        asked.add(query)
        page = _get_page(client, repository, cache, query)
        before = len(tags)
        tags.update(dict.fromkeys(page.tags))
        idle = idle + 1 if len(tags) == before else 0
        query = page.next_query
    if not tags:
        raise UserError(f"{repository.name} has no tags: nothing was published under this name; check it")
    return list(tags)


def _get_page(client: RegistryClient, repository: Repository, cache: RegistryCache, query: str) -> ListPage:
    """Return one page, from the cache where the registry says that it has not changed."""
    path = f"tags/list?{query}"
    known = cache.find_page(f"{repository.name}/{path}")
    asking = {"Accept": "application/json", **({"If-None-Match": known.etag} if known and known.etag else {})}
    answer = client.get_page(path, limit_bytes=PAGE_LIMIT_BYTES, headers=asking)
    if answer.status == httpx.codes.NOT_MODIFIED:
        if known is None:
            raise TryLater(f"registry {repository.host}: it says that nothing changed, but nothing is known yet")
        return known
    page = ListPage(
        etag=read_etag(answer.headers.get("etag", "")),
        tags=_read_tags(answer, repository),
        next_query=_read_next(answer.headers.get_list("link")),
    )
    if page.etag:
        cache.keep_page(f"{repository.name}/{path}", page)
    return page


def _read_tags(answer: Answer, repository: Repository) -> tuple[str, ...]:
    """Return the tags on a page; TryLater where it is no page."""
    try:
        document = json.loads(answer.body)
        tags = document["tags"] or []
    except (ValueError, TypeError, KeyError, RecursionError):
        tags = None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise TryLater(
            f"registry {repository.host}: expected the tags of {repository.path} as JSON, found something else (a "
            "login page, or an answer that broke off?)"
        )
    return tuple(tags)


def _read_next(headers: Sequence[str]) -> str | None:
    """Return the query of the next page, None where there is none.

    Only the query counts: behind a proxy the address of a Link is often relative, or names a host that is not reached.
    """
    for header in headers:
        for match in _NEXT.finditer(header):
            try:
                query = urlsplit(match[1]).query
            except ValueError:
                continue
            if query:
                return query
    return None
