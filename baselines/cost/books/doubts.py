"""Figures of a team's book that are far from those of other books for the same GPU: most often another unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from baselines.cost.books.book import Book, Entry

FAR = 4
"""A figure so many times above or below all that other books say is doubted."""


def doubt_book(book: Book, others: Sequence[Book]) -> list[str]:
    """Return, one line each, the figures of a book that lie far from all figures of other books for their GPU."""
    found = []
    for edition in book.editions:
        for entry in edition.entries:
            known = list(_known_of(entry, book, others))
            low, high = min(known, default=None), max(known, default=None)
            for column, value in entry.values.items():
                if low is not None and high is not None and not low / FAR < value < high * FAR:
                    told = f"{float(low):.4g}" if low == high else f"{float(low):.4g} to {float(high):.4g}"
                    found.append(
                        f"{edition.id}: {entry.gpu}.{column} is {float(value):.6g} {book.kind.unit}, other books say"
                        f" {told}; is it in this unit, for one GPU?"
                    )
    return found


def _known_of(entry: Entry, book: Book, others: Sequence[Book]) -> Iterator[Fraction]:
    for other in others:
        if other.kind is book.kind and other.name != book.name:
            for edition in other.editions:
                if (same := edition.entry_of(entry.gpu)) is not None:
                    yield from same.values.values()
