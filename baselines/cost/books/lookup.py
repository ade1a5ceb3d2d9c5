"""What a GPU costs or draws on a day, and by which edition; unknown is an answer with its reason, never 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fractions import Fraction

from baselines.cost.books.book import POWER_COLUMN, Book, BookKind, Edition


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One figure of a book."""

    value: Fraction
    kind: BookKind
    gpu: str
    """As the book names it."""
    tier: str
    edition: Edition

    @property
    def words(self) -> str:
        """`$1.73/GPU-hour, own, inferencex/2026-07`."""
        if self.kind is BookKind.PRICE:
            return f"${float(self.value):.4g}/GPU-hour, {self.tier}, {self.edition.id}"
        return f"{float(self.value):.4g} kW/GPU, {self.edition.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Why there is no figure."""

    reason: str


def find_rate(
    books: Sequence[Book], kind: BookKind, gpu: str | None, day: date | None, tier: str = POWER_COLUMN
) -> Rate | Unknown:
    """Return the figure of the first book that has one for the GPU on that day; the reason where none has."""
    if gpu is None:
        return Unknown(reason="it is not known on which GPU it ran")
    if day is None:
        return Unknown(reason=f"no date is known, so no edition of a {kind} book can be chosen")
    for book in _of_kind(books, kind):
        edition = _valid_on(book, day)
        if edition is not None and isinstance(found := _look_up(edition, gpu, tier), Rate):
            return found
    return Unknown(reason=_explain(books, kind, gpu, day, tier))


def held_rate(
    books: Sequence[Book], kind: BookKind, gpu: str | None, tier: str = POWER_COLUMN, held: str | None = None
) -> Rate | Unknown:
    """Return the figure that is held still: of the edition named `held`, else of the oldest that has one.

    Shipped editions come first, since nobody edits them: what a team writes into its own book moves what is priced,
    never what is held.
    """
    if gpu is None:
        return Unknown(reason="it is not known on which GPU it ran")
    if held is not None:
        edition = find_edition(books, kind, held)
        return edition if isinstance(edition, Unknown) else _look_up(edition, gpu, tier)
    editions = [edition for book in _of_kind(books, kind) for edition in book.editions]
    for edition in sorted(editions, key=lambda one: (one.own, one.valid_from, one.id)):
        if isinstance(found := _look_up(edition, gpu, tier), Rate):
            return found
    return Unknown(reason=_explain(books, kind, gpu, None, tier))


def find_edition(books: Sequence[Book], kind: BookKind, named: str) -> Edition | Unknown:
    """Return the edition meant by `book/edition`, or by its own name where only one book has it."""
    editions = [edition for book in _of_kind(books, kind) for edition in book.editions]
    found = [edition for edition in editions if named in (edition.id, edition.name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(edition.id for edition in editions) or "none"
    said = "is said of several editions" if found else "is no edition"
    return Unknown(reason=f"{named!r} {said} of a {kind} book; known: {known}")


def tiers_of(books: Iterable[Book]) -> list[str]:
    """Return the price tiers that any edition has, in alphabetical order."""
    return sorted(
        {
            tier
            for book in books
            if book.kind is BookKind.PRICE
            for edition in book.editions
            for entry in edition.entries
            for tier in entry.values
        }
    )


def _of_kind(books: Sequence[Book], kind: BookKind) -> list[Book]:
    return [book for book in books if book.kind is kind]


def _valid_on(book: Book, day: date) -> Edition | None:
    """Return the edition of that day: of those begun the newest, unless it has ended."""
    begun = [edition for edition in book.editions if edition.valid_from <= day]
    return begun[-1] if begun and begun[-1].is_valid(day) else None


def _look_up(edition: Edition, gpu: str, tier: str) -> Rate | Unknown:
    entry = edition.entry_of(gpu)
    if entry is None:
        near = get_close_matches(gpu, [one.gpu for one in edition.entries], n=2)
        hint = f"; near: {', '.join(near)}" if near else ""
        return Unknown(reason=f"edition {edition.id} does not know the GPU {gpu!r}{hint}")
    if tier not in entry.values:
        known = ", ".join(entry.values)
        return Unknown(reason=f"edition {edition.id} has no {tier!r} figure for {entry.gpu} (it has {known})")
    return Rate(value=entry.values[tier], kind=edition.kind, gpu=entry.gpu, tier=tier, edition=edition)


def _explain(books: Sequence[Book], kind: BookKind, gpu: str, day: date | None, tier: str) -> str:
    """Return why no book has a figure: no book, another time, or a GPU or tier that none knows."""
    editions = [edition for book in _of_kind(books, kind) for edition in book.editions]
    if not editions:
        return f"there is no {kind} book"
    having = [edition for edition in editions if isinstance(_look_up(edition, gpu, tier), Rate)]
    if having and day is not None:
        spans = [f"{one.id} from {one.valid_from}{f' to {one.valid_to}' if one.valid_to else ''}" for one in having]
        return f"no {kind} edition with {gpu} is valid on {day}: {'; '.join(spans)}"
    answers = [_look_up(edition, gpu, tier) for edition in editions]
    told = [one.reason for one in answers if isinstance(one, Unknown)]
    no_tier = [reason for reason in told if "does not know" not in reason]
    return (no_tier or told)[-1] + "; add it to a book of your own"
