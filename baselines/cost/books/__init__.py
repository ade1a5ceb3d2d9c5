"""Price books and power books: what a GPU-hour costs and what a GPU draws, in dated editions with a source.

The TOML files beside this module are data that ships with the product. Reading files is not done here: whoever
reads them hands in their text.
"""

from __future__ import annotations

from baselines.cost.books.book import Book, BookKind, Edition
from baselines.cost.books.document import parse_book
from baselines.cost.books.doubts import doubt_book
from baselines.cost.books.lookup import Rate, Unknown, find_edition, find_rate, held_rate

__all__ = [
    "Book",
    "BookKind",
    "Edition",
    "Rate",
    "Unknown",
    "doubt_book",
    "find_edition",
    "find_rate",
    "held_rate",
    "parse_book",
]
