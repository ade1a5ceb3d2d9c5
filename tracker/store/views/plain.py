"""Views as JSON values, lists in pages, and the search words of a list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Table, or_

from tracker.errors import UserError
from tracker.store.tables import metadata

Item = TypeVar("Item")
MAX_LIMIT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """Part of a list; `next` is the cursor that gives the part after it, None at the end."""

    items: tuple[Item, ...]
    next: str | None = None


def table(name: str) -> Table:
    """Return the table of that name."""
    return metadata.tables[name]


def to_plain(value: Any) -> Any:
    """Return a view as JSON values; times as ISO 8601 in UTC."""
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_plain(one) for one in value]
    return value


def read_cursor(cursor: str | None) -> int:
    """Return the number a cursor stands for, 0 for none; UserError when it was not made here."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise UserError(f"cursor: expected what an earlier answer gave as 'next', found {cursor[:40]!r}; leave it out")
    return int(cursor)


def check_limit(limit: int) -> int:
    """Return the limit; UserError unless it is between 1 and the largest page."""
    if not 1 <= limit <= MAX_LIMIT:
        raise UserError(f"limit: expected 1 to {MAX_LIMIT}, found {limit}")
    return limit


def slice_page(items: Sequence[Item], limit: int, cursor: str | None) -> Page[Item]:
    """Return the part of a whole list that starts at the cursor, which counts items."""
    start = read_cursor(cursor)
    end = start + check_limit(limit)
    return Page(items=tuple(items[start:end]), next=str(end) if end < len(items) else None)


def match_words(text: str | None, columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[bool]]:
    """Return the conditions that each word of `text` stands in one of the columns."""
    words = (text or "").split()[:8]
    return [or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in words]


def defuse(cell: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula; anything else as it is."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def read_json(text: str | None) -> dict[str, Any]:
    """Return the object a column holds, empty where it holds none."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
