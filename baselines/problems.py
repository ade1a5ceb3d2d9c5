"""What is wrong with a TOML file that people write, all at once: file, key, what was expected and what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Problems:
    """Collects what is wrong with one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[str] = []

    def add(self, key: str, expected: str, found: object) -> None:
        shown = repr(found) if isinstance(found, str) and found != "nothing" else str(found)
        self.found.append(f"{self.file}: {key}: expected {expected}, found {shown[:60]}")

    def refuse_unknown(self, where: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in given:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
                self.found.append(f"{self.file}: {where}{key}: expected a known key, found {key!r}; {hint}")

    def text(self, where: str, table: Mapping[str, Any], key: str, *, needed: bool, name: bool = False) -> str:
        value = table.get(key)
        if value is None and not needed:
            return ""
        if isinstance(value, str) and value.strip() and (not name or _NAME.fullmatch(value)):
            return value.strip()
        wanted = "a name of letters, digits and . _ -" if name else "a text that is not empty"
        self.add(f"{where}{key}", wanted, "nothing" if value is None else value)
        return ""

    def day(self, where: str, table: Mapping[str, Any], key: str, *, needed: bool) -> date | None:
        value = table.get(key)
        if value is None and not needed:
            return None
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        self.add(f"{where}{key}", "a date such as 2026-07-01, without quotes", "nothing" if value is None else value)
        return None
