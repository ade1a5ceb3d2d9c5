"""A page that somebody saved: its bytes, found and decoded."""

from __future__ import annotations

import codecs
import re
import sys
from pathlib import Path

from tracker.errors import UserError

MOST_BYTES = 64_000_000
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_WHERE_CHARSET_STANDS = 4096
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_saved_page(file: str) -> str:
    """Return the text of a file, of standard input for `-`; UserError when it cannot be read as text."""
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or '').lower()}; check the path") from error
    if len(content) > MOST_BYTES:
        raise UserError(f"{file}: has more than {MOST_BYTES:,} bytes; expected one saved page")
    if not content.strip():
        raise UserError(f"{file}: is empty; expected a saved page with tables of figures")
    return _decode(content, file)


def _decode(content: bytes, file: str) -> str:
    """Return the text: by its mark, by what the page says of itself, else as UTF-8."""
    name = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    if name is None and (said := _CHARSET.search(content[:_WHERE_CHARSET_STANDS])):
        name = said[1].decode("ascii")
    try:
        return content.decode(name or "utf-8")
    except (UnicodeDecodeError, LookupError):
        pass
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"{name} as it says of itself, nor " if name else ""
        raise UserError(
            f"{file}: is no text in {found}UTF-8 (byte {error.start}); save the page again as text, Markdown or HTML"
        ) from error
