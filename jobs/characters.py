"""Characters that no database, file or web page can hold: half ones (lone surrogates) and NUL."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def find_unstorable(value: object) -> str | None:
    """Return the first such character in a text, or in any text of nested lists and objects, as `U+D800`; else None."""
    if isinstance(value, str):
        match = _UNSTORABLE.search(value)
        return f"U+{ord(match.group()):04X}" if match else None
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if isinstance(parts, list | tuple):
        return next((found for part in parts if (found := find_unstorable(part))), None)
    return None


def replace_unstorable(text: str) -> str:
    """Return the text with the sign for an unreadable character in place of each."""
    return _UNSTORABLE.sub("\ufffd", text)
