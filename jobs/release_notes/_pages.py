"""Pages of releases as GitHub lists them: what is kept of each, and the pages that were kept from the last look."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.release_notes.note import ReleaseNote, clean_title, cut_notes, is_address, read_time
from jobs.waiting import read_etag

RULE = 1
"""Raised whenever more or other things are kept of a release; pages kept before are fetched again."""
LONGEST_TAG = 255


class NotAPage(ValueError):
    """The answer is no list of releases; the message says what it is instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesPage:
    """One page of a list of releases."""

    etag: str
    next_url: str | None
    """Where the page after it is; None on the last one."""
    notes: tuple[ReleaseNote, ...]
    unreadable: tuple[tuple[str, str], ...] = ()


def read_page(body: bytes, *, etag: str, next_url: str | None) -> NotesPage:
    """Return a page as GitHub sends it, without its drafts; NotAPage where it is something else."""
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAPage(f"its answer is no complete JSON: {error}") from error
    if not isinstance(entries, list):
        said = clean_title(str(entries.get("message", ""))) if isinstance(entries, dict) else type(entries).__name__
        raise NotAPage(f"expected a list of releases, found {said!r}")
    notes: list[ReleaseNote] = []
    unreadable: list[tuple[str, str]] = []
    for number, entry in enumerate(entries):
        found = _read_entry(entry) if isinstance(entry, dict) else "is no object"
        if isinstance(found, ReleaseNote):
            notes.append(found)
        elif found is not None:
            unreadable.append((f"entry {number}", found))
    return NotesPage(etag=etag, next_url=next_url, notes=tuple(notes), unreadable=tuple(unreadable))


def _read_entry(entry: dict[str, Any]) -> ReleaseNote | str | None:
    """Return one release's notes, what is wrong with the entry, or None for a draft, which is nobody's business."""
    if entry.get("draft") is not False:
        return None if entry.get("draft") is True else "does not say whether it is a draft"
    tag, url, title, text = (entry.get(key) for key in ("tag_name", "html_url", "name", "body"))
    if not isinstance(tag, str) or not 0 < len(tag) <= LONGEST_TAG or not tag.isprintable():
        return "has no tag that can be read"
    if not isinstance(url, str) or not is_address(url):
        return f"{tag}: has no https address"
    return ReleaseNote(
        tag=tag,
        url=url,
        title=clean_title(title) if isinstance(title, str) else "",
        excerpt=cut_notes(text) if isinstance(text, str) else "",
        prerelease=entry.get("prerelease") is True,
        published_at=read_time(entry.get("published_at")),
    )


class PageCache:
    """The pages of the last look by address; one without a folder forgets. Losing it costs requests, nothing else."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, url: str) -> NotesPage | None:
        """Return the page last kept for an address, None if there is none that can be used."""
        if self._folder is None:
            return None
        try:
            found = json.loads((self._folder / _file_name(url)).read_bytes())
            if found["rule"] != RULE:
                return None
            notes = tuple(_read_kept(one) for one in found["notes"])
            unreadable = tuple((str(name), str(reason)) for name, reason in found["unreadable"])
            next_url = None if found["next"] is None else str(found["next"])
            return NotesPage(etag=read_etag(str(found["etag"])), next_url=next_url, notes=notes, unreadable=unreadable)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep(self, url: str, page: NotesPage) -> None:
        """Keep a page whole or not at all; a disk that is full or read-only only makes the next look slower."""
        if self._folder is None:
            return
        notes = [dataclasses.asdict(note) for note in page.notes]
        content = {
            "rule": RULE,
            "etag": page.etag,
            "next": page.next_url,
            "unreadable": page.unreadable,
            "notes": notes,
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            number, partial = tempfile.mkstemp(prefix=".part-", dir=self._folder)
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(content, file, default=str)
            os.replace(partial, self._folder / _file_name(url))
        except OSError:
            return


def _read_kept(one: dict[str, Any]) -> ReleaseNote:
    return ReleaseNote(**{**one, "published_at": read_time(one["published_at"])})


def _file_name(url: str) -> str:
    return "page-" + hashlib.sha256(url.encode()).hexdigest()
