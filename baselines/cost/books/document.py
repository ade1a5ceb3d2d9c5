"""The text of a book, read strictly: every mistake is told at once with file, key, what was expected and found."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from baselines.cost.books.book import POWER_COLUMN, Book, BookKind, Edition, Entry
from baselines.problems import Problems
from jobs.names import gpu_key

_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,31}")
_BOOK_KEYS = ("kind", "name", "title", "edition")
_EDITION_KEYS = ("name", "valid_from", "valid_to", "source", "note", "gpu")
_LARGEST = {BookKind.PRICE: Decimal(500), BookKind.POWER: Decimal(50)}
"""Above it stands the price of a month or of a rack, or power in W."""
_TEXTS_OF_GPU = ("aliases", "note")


def parse_book(text: str, file: str, *, own: bool = False) -> Book:
    """Return the book that a TOML text holds; ValueError with one line for each mistake."""
    problems = Problems(file)
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{file}: the whole file: expected TOML, found {error}") from error
    problems.refuse_unknown("", document, _BOOK_KEYS)
    kind = _read_kind(problems, document)
    name = problems.text("", document, "name", needed=True, name=True)
    title = problems.text("", document, "title", needed=False)
    tables = document.get("edition")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        problems.add("edition", "one [[edition]] table or more", "nothing" if tables is None else tables)
        tables = []
    editions = [_read_edition(problems, place, table, kind, name, own) for place, table in enumerate(tables, 1)]
    whole = sorted((one for one in editions if one is not None), key=lambda one: one.valid_from)
    _check_together(problems, whole)
    if problems.found:
        raise ValueError("\n".join(problems.found))
    return Book(kind=kind, name=name, file=file, editions=tuple(whole), title=title, own=own)


def _read_kind(problems: Problems, document: Mapping[str, Any]) -> BookKind:
    value = document.get("kind")
    if isinstance(value, str) and value in tuple(BookKind):
        return BookKind(value)
    problems.add("kind", " or ".join(f'"{kind}"' for kind in BookKind), "nothing" if value is None else value)
    return BookKind.PRICE


def _read_edition(
    problems: Problems, place: int, table: Mapping[str, Any], kind: BookKind, book: str, own: bool
) -> Edition | None:
    where = f"edition[{place}]."
    before = len(problems.found)
    problems.refuse_unknown(where, table, _EDITION_KEYS)
    name = problems.text(where, table, "name", needed=True, name=True)
    start = problems.day(where, table, "valid_from", needed=True)
    end = problems.day(where, table, "valid_to", needed=False)
    source = problems.text(where, table, "source", needed=True)
    if start and end and end < start:
        problems.add(f"{where}valid_to", f"a day from valid_from ({start}) on", end)
    entries = _read_entries(problems, where, table.get("gpu"), kind)
    if start is None or len(problems.found) > before:
        return None
    note = problems.text(where, table, "note", needed=False)
    return Edition(
        book=book,
        name=name,
        kind=kind,
        valid_from=start,
        valid_to=end,
        source=source,
        entries=tuple(entries),
        note=note,
        own=own,
    )


def _read_entries(problems: Problems, where: str, tables: object, kind: BookKind) -> list[Entry]:
    if not isinstance(tables, dict) or not tables:
        problems.add(f"{where}gpu", 'one [edition.gpu."NAME"] table or more', "nothing" if tables is None else tables)
        return []
    entries, seen = [], dict[str, str]()
    for gpu, table in tables.items():
        key = f"{where}gpu.{gpu}"
        if not isinstance(table, dict):
            problems.add(key, f"a table such as {{ {_example(kind)} }}", table)
            continue
        aliases = _read_aliases(problems, key, table.get("aliases", []))
        for name in (gpu, *aliases):
            simple = gpu_key(name)
            if not simple:
                problems.add(key, "the name of a GPU", name)
            elif seen.setdefault(simple, gpu) != gpu:
                problems.add(key, f"a GPU that no other entry names ({seen[simple]!r} does)", name)
        values = {
            column: _read_value(problems, f"{key}.{column}", column, value, kind)
            for column, value in table.items()
            if column not in _TEXTS_OF_GPU
        }
        if not values:
            problems.add(key, f"a figure such as {_example(kind)}", "none")
        known = {column: value for column, value in values.items() if value is not None}
        note = problems.text(f"{key}.", table, "note", needed=False)
        entries.append(Entry(gpu=gpu, values=known, aliases=aliases, note=note))
    return entries


def _example(kind: BookKind) -> str:
    return "own = 1.73" if kind is BookKind.PRICE else "kw = 1.71"


def _read_aliases(problems: Problems, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) and one.strip() for one in value):
        return tuple(value)
    problems.add(f"{key}.aliases", "a list of names", value)
    return ()


def _read_value(problems: Problems, key: str, column: str, value: object, kind: BookKind) -> Fraction | None:
    if kind is BookKind.POWER and column != POWER_COLUMN:
        problems.add(key, f"{POWER_COLUMN!r}, the one figure of a power book", column)
        return None
    if not _COLUMN.fullmatch(column):
        problems.add(key, "a tier of lower-case letters, such as own, neocloud or rental", column)
        return None
    number = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(number, Decimal) or not number.is_finite() or not 0 < number <= _LARGEST[kind]:
        wanted = f"a number above 0 up to {_LARGEST[kind]} in {kind.unit}; leave out what is not known"
        problems.add(key, wanted, value)
        return None
    return Fraction(number)


def _check_together(problems: Problems, editions: list[Edition]) -> None:
    """Note editions of one name, and days on which two of them hold; an open edition ends where the next begins."""
    names = [one.name for one in editions]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.add("edition.name", "a name of its own for each edition", name)
    for place, (before, after) in enumerate(pairwise(editions), 2):
        if before.valid_from == after.valid_from or (before.valid_to and before.valid_to >= after.valid_from):
            end = before.valid_to or before.valid_from
            problems.add(
                f"edition[{place}].valid_from",
                f"a day after {end}, the last of edition {before.name}",
                after.valid_from,
            )
