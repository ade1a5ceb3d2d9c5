"""One release's notes: an address, a name, a date and the first lines, as text that is safe to keep and to show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

LONGEST_TITLE = 200
LONGEST_LINE = 300
MOST_LINES = 12
LONGEST_ADDRESS = 500
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# Control characters, marks that turn the direction of writing, half characters.
_UNSHOWN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_ADDRESS = re.compile(r"https://[!-~]+")
_MARKUP = re.compile(r"[\"'<>\\^`{|}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNote:
    """What a publisher says of one release."""

    tag: str
    """The tag it was published under; which release that is, `jobs.releases` says, and never the title."""
    url: str
    """Where the whole text is: https, without characters that could end a link."""
    title: str = ""
    excerpt: str = ""
    """The first lines as they were written; plain text, whatever markup it looks like."""
    prerelease: bool = False
    published_at: datetime | None = None

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise ValueError(f"release notes need an https address, found {self.url[:100]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesAnswer:
    """The notes of a repository's releases as they are now."""

    notes: tuple[ReleaseNote, ...]
    unreadable: tuple[tuple[str, str], ...] = ()
    """Entries that could not be used, with the reason."""
    is_whole: bool = True
    """Whether nothing older was left out."""


def is_address(text: str) -> bool:
    """Return whether a text is an https address that can stand in any page or message as it is."""
    if len(text) > LONGEST_ADDRESS or not _ADDRESS.fullmatch(text) or _MARKUP.search(text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False


def clean_title(text: str) -> str:
    """Return a title on one line, cut to a length that can be shown."""
    return _cut(" ".join(_UNSHOWN.sub(" ", text).split()), LONGEST_TITLE)


def cut_notes(text: str) -> str:
    """Return the first lines of a text without its HTML comments; `…` at the end of what goes on."""
    plain = _UNSHOWN.sub(" ", _COMMENT.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    lines: list[str] = []
    for line in (one.rstrip() for one in plain.strip().split("\n")):
        if not line and lines and not lines[-1]:
            continue
        if len(lines) == MOST_LINES:
            return "\n".join(lines).rstrip() + "\n…"
        lines.append(_cut(line, LONGEST_LINE))
    return "\n".join(lines).rstrip()


def read_time(value: object) -> datetime | None:
    """Return a moment written in ISO 8601, UTC where it names no zone; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
