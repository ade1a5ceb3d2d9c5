"""Price and power books as files: those that ship with the product, and a team's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from baselines.cost.books import Book, parse_book
from tracker.errors import UserError
from tracker.settings import Settings

LARGEST_FILE_BYTES = 1_000_000


def load_books(settings: Settings) -> tuple[Book, ...]:
    """Return the team's own books, then those that ship; UserError with one line for each mistake in them."""
    own = [read_book(file) for file in own_files(settings)]
    books = (*own, *shipped_books())
    for place, book in enumerate(books):
        for other in books[:place]:
            if (book.kind, book.name) == (other.kind, other.name):
                raise UserError(
                    f"{other.file}: name: expected a name of its own for each {book.kind} book, found {book.name!r},"
                    f" which {book.file} has too; rename it"
                )
    return books


def own_files(settings: Settings) -> list[Path]:
    """Return the book files of the team: `books` in the home folder, then the folders of the settings."""
    for folder in settings.book_folders:
        if not folder.is_dir():
            raise UserError(f"book_folders: expected a folder with books, found none at {folder}; make it or remove it")
    return [file for folder in (settings.home / "books", *settings.book_folders) for file in _list_files(folder)]


def _list_files(folder: Path) -> Iterable[Path]:
    return sorted(file for file in folder.glob("*.toml") if file.is_file())


def shipped_books() -> tuple[Book, ...]:
    """Return the books that ship with the product."""
    folder = resources.files("baselines.cost.books")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".toml")), key=lambda one: one.name)
    return tuple(parse_book(file.read_text(encoding="utf-8"), file.name) for file in files)


def read_book(file: Path) -> Book:
    """Return one of the team's books; UserError with every mistake in it."""
    try:
        if file.stat().st_size > LARGEST_FILE_BYTES:
            raise UserError(f"{file}: expected a book of at most {LARGEST_FILE_BYTES:,} bytes; split it")
        return parse_book(file.read_text(encoding="utf-8-sig"), str(file), own=True)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or '').lower()}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file}: expected UTF-8 text, found another byte at {error.start}; save it as UTF-8"
        ) from error
    except ValueError as error:
        raise UserError(str(error)) from error


def find_named(books: Sequence[Book], named: str) -> list[Book]:
    """Return the books meant by their name, or by the id of one of their editions; UserError where none is."""
    found = [book for book in books if named == book.name or any(named == one.id for one in book.editions)]
    if not found:
        known = ", ".join(one.id for book in books for one in book.editions)
        raise UserError(f"{named!r}: expected a book or an edition; known: {known}")
    return found
