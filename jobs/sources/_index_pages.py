"""Reading a package's page of an index: JSON (PEP 691, 700) or HTML (PEP 503, 592, 658), into the same files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_JSON = {"application/vnd.pypi.simple.v1+json", "application/vnd.pypi.simple.latest+json", "application/json"}
_HTML = {"application/vnd.pypi.simple.v1+html", "application/vnd.pypi.simple.latest+html", "text/html"}
_FILE = re.compile(r".+\.(?:whl|tar\.gz|zip|tar\.bz2|tgz|egg|exe|msi|rpm)", re.ASCII | re.IGNORECASE)
_LARGEST_BYTES = 2**53
_SHA256 = re.compile(r"[0-9a-f]{64}")


class NotAPage(ValueError):
    """The answer is not a package's page of an index; the message says what it is instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One file as an index lists it; what the index leaves out is None."""

    filename: str
    sha256: str | None = None
    size_bytes: int | None = None
    published_at: datetime | None = None
    requires_python: str | None = None
    yanked: str | None = None


def read_page(content_type: str, body: bytes) -> tuple[list[IndexFile], list[tuple[str, str]]]:
    """Return the files of a page and the entries that could not be read; raise NotAPage for anything else."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _JSON:
        return _read_json(body)
    if kind in _HTML:
        return _read_html(body), []
    raise NotAPage(f"its answer has the content type {kind or 'none'!r}, not a package listing")


def _read_json(body: bytes) -> tuple[list[IndexFile], list[tuple[str, str]]]:
    try:
        page = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAPage(f"its answer is no complete JSON: {error}") from error
    if not isinstance(page, dict) or not isinstance(page.get("files"), list):
        raise NotAPage("its answer is JSON but lists no files")
    meta = page.get("meta")
    version = str(meta.get("api-version", "1.0")) if isinstance(meta, dict) else "1.0"
    if version.partition(".")[0] != "1":
        raise NotAPage(f"it speaks version {version} of the listing format, this program version 1")
    files, unreadable = [], []
    for number, entry in enumerate(page["files"]):
        name = entry.get("filename") if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            files.append(_read_entry(name, entry))
        else:
            unreadable.append((f"entry {number}", "has no file name"))
    return files, unreadable


def _read_entry(name: str, entry: dict[str, object]) -> IndexFile:
    """Return one file of a JSON page; a field of the wrong type counts as left out."""
    hashes, size, requires = entry.get("hashes"), entry.get("size"), entry.get("requires-python")
    yanked = entry.get("yanked")
    return IndexFile(
        filename=name,
        sha256=_sha256(hashes.get("sha256") if isinstance(hashes, dict) else None),
        size_bytes=size if type(size) is int and 0 <= size < _LARGEST_BYTES else None,
        published_at=_moment(entry.get("upload-time")),
        requires_python=requires if isinstance(requires, str) else None,
        yanked=(yanked.strip() if isinstance(yanked, str) else "") or "no reason given" if yanked else None,
    )


def _read_html(body: bytes) -> list[IndexFile]:
    """Return the files of an HTML page; a page without any is taken for a login or error page."""
    parser = _Links()
    try:
        parser.feed(body.decode("utf-8", errors="replace"))
        parser.close()
    except AssertionError as error:  # the library's own answer to a declaration it does not know
        raise NotAPage(f"its answer is no web page that can be read: {error}") from error
    if not parser.files:
        raise NotAPage("its answer is a web page that lists no files (a login or error page?)")
    return parser.files


class _Links(HTMLParser):
    """Collects the links to distribution files."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[IndexFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        try:
            link = urlsplit(values.get("href") or "")
        except ValueError:
            return
        name = unquote(link.path.rpartition("/")[2])
        if tag != "a" or not _FILE.fullmatch(name):
            return
        yanked = (values["data-yanked"] or "").strip() or "no reason given" if "data-yanked" in values else None
        self.files.append(
            IndexFile(
                filename=name,
                sha256=_sha256(link.fragment.removeprefix("sha256=")),
                requires_python=values.get("data-requires-python"),
                yanked=yanked,
            )
        )


def _sha256(value: object) -> str | None:
    return value.lower() if isinstance(value, str) and _SHA256.fullmatch(value.lower()) else None


def _moment(value: object) -> datetime | None:
    """Return the time of an ISO 8601 text, with or without a fraction; UTC where it names no zone, as PEP 700 says."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
