"""books: what a GPU-hour costs and what a GPU draws, in dated editions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, examples
from tracker.cli.output import Column, note, write, write_json, write_table
from tracker.errors import UserError

if TYPE_CHECKING:
    from baselines.cost.books import Book, Edition

COLUMNS = (
    Column(title="edition"),
    Column(title="kind"),
    Column(title="from"),
    Column(title="to"),
    Column(title="GPUs", right=True),
    Column(title="figures", drop=True),
    Column(title="whose"),
    Column(title="source", give=True, drop=True),
)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    text = "Price and power books: what a GPU costs and draws."
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    group.command("list", epilog=examples("tracker books list", "tracker books list --json"))(list_)
    group.command(epilog=examples("tracker books show inferencex", "tracker books show inferencex/2026-07 --json"))(
        show
    )
    group.command(epilog=examples("tracker books check", "tracker books check prices.toml"))(check)
    app.add_typer(group, name="books")


def list_(as_json: Json = False) -> None:
    """Show the editions, your own first.

    Books of your own are TOML files in the folder `books` of TRACKER_HOME, or in `book_folders` of the settings.
    """
    with opened() as app:
        from tracker.pipeline.books import load_books

        books = load_books(app.settings)
    editions = [(book, edition) for book in books for edition in book.editions]
    if as_json:
        write_json({"items": [_plain(book, edition, entries=False) for book, edition in editions], "next": None})
        return
    rows = [_row(book, edition) for book, edition in editions]
    write_table(COLUMNS, rows, empty="no book")
    if not any(book.own for book in books):
        note("no book of your own: put one into the folder `books` of TRACKER_HOME, as the guide page on cost shows")


def _row(book: Book, edition: Edition) -> tuple[object, ...]:
    span = edition.valid_from, _end(book, edition)
    whose = "own" if edition.own else "shipped"
    return edition.id, edition.kind, *span, len(edition.entries), ", ".join(_tiers(edition)), whose, edition.source


def show(
    book: Annotated[str, typer.Argument(help="A book, or one edition of it: inferencex/2026-07.")],
    as_json: Json = False,
) -> None:
    """Show every figure of a book or of one edition, with its source."""
    with opened() as app:
        from tracker.pipeline.books import find_named, load_books

        found = find_named(load_books(app.settings), book)
    chosen = [(one, edition) for one in found for edition in one.editions if book in (one.name, edition.id)]
    if as_json:
        write_json({"items": [_plain(one, edition, entries=True) for one, edition in chosen], "next": None})
        return
    for place, (one, edition) in enumerate(chosen):
        tiers = _tiers(edition)
        write(("\n" if place else "") + f"{edition.id}, {edition.kind}, {edition.kind.unit}: {one.title or one.name}")
        write(f"valid from {edition.valid_from}{_until(one, edition)}; mark {edition.digest}; source: {edition.source}")
        if edition.note:
            write(f"note: {edition.note}")
        columns = (
            Column(title="GPU"),
            *(Column(title=tier, right=True) for tier in tiers),
            Column(title="note", give=True),
        )
        rows = [(e.gpu, *(_number(e.values.get(tier)) for tier in tiers), e.note) for e in edition.entries]
        write_table(columns, rows, empty="")


def check(
    files: Annotated[list[Path] | None, typer.Argument(help="Book files.", show_default="your own books")] = None,
    as_json: Json = False,
) -> None:
    """Read books and say every mistake.

    With file, key, what was expected and what was found. A figure far from what the shipped books say of the same GPU
    is told as doubtful: it may be in another unit, or for several GPUs.
    """
    with opened() as app:
        from tracker.pipeline.books import load_books, own_files

        paths = files or own_files(app.settings)
        checked = [_check_file(path) for path in paths]
        if not files and not any(one["error"] for one in checked):
            load_books(app.settings)
    problems = [one["error"] for one in checked if one["error"]]
    if as_json:
        write_json({"items": checked, "next": None})
    else:
        for one in checked:
            if one["error"] is None:
                write(f"{one['file']}: {'doubtful' if one['doubts'] else 'good'}, {', '.join(one['editions'])}")
                for doubt in one["doubts"]:
                    write(f"  {doubt}")
    if not checked:
        note("no book of your own to check; name a file, or put one into the folder `books` of TRACKER_HOME")
    if problems:
        raise UserError("\n".join(problems))


def _check_file(path: Path) -> dict[str, Any]:
    from baselines.cost.books import doubt_book
    from tracker.pipeline.books import read_book, shipped_books

    try:
        book = read_book(path)
    except UserError as error:
        return {"file": str(path), "error": str(error), "editions": [], "doubts": []}
    doubts = doubt_book(book, shipped_books())
    return {"file": str(path), "error": None, "editions": [one.id for one in book.editions], "doubts": doubts}


def _tiers(edition: Edition) -> list[str]:
    """Return the columns of an edition, in the order they first stand in it."""
    return list(dict.fromkeys(tier for entry in edition.entries for tier in entry.values))


def _end(book: Book, edition: Edition) -> object:
    """Return the last day of an edition, in words where the next one ends it."""
    if edition.valid_to is not None:
        return edition.valid_to
    place = book.editions.index(edition)
    return f"before {book.editions[place + 1].valid_from}" if place + 1 < len(book.editions) else "open"


def _until(book: Book, edition: Edition) -> str:
    end = _end(book, edition)
    return "" if end == "open" else f", {end}" if str(end).startswith("before") else f" to {end}"


def _number(value: object) -> str:
    return "" if value is None else f"{float(value):.6g}"  # type: ignore[arg-type]


def _plain(book: Book, edition: Edition, *, entries: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "edition": edition.id,
        "kind": edition.kind.value,
        "unit": edition.kind.unit,
        "valid_from": edition.valid_from.isoformat(),
        "valid_to": edition.valid_to.isoformat() if edition.valid_to else None,
        "own": edition.own,
        "file": book.file,
        "digest": edition.digest,
        "source": edition.source,
        "note": edition.note,
    }
    if entries:
        plain["gpus"] = [
            {"gpu": e.gpu, "aliases": e.aliases, "note": e.note} | {t: float(v) for t, v in e.values.items()}
            for e in edition.entries
        ]
    return plain
