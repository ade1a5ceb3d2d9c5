"""Published figures: the editions that ship and those that were imported, a page taken in, what a vendor changed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from importlib import resources

from baselines.references import (
    EditionChange,
    Page,
    Reference,
    compare_editions,
    content_hash,
    from_record,
    read_csv,
    read_page,
    share_in_common,
    to_record,
)
from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.store import audit, references
from tracker.store.engine import Session
from tracker.store.references import ImportedEdition

SAME_PAGE_SHARE = 0.5
"""A page that has so many of its rows in common with a known source is taken for a newer copy of it."""
_SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_PLAIN = re.compile(r"[^a-z0-9._]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One copy of a page of published figures, shipped or imported."""

    name: str
    """`nvidia-inference-performance/2026-04-30`; `.2` at its end for a second copy of one day."""
    source: str
    dated: date
    title: str
    address: str
    note: str
    tables: int
    figures: int
    content: str
    imported_at: datetime | None = None
    """None for one that ships."""
    imported_by: str | None = None
    row_id: int | None = None

    @property
    def shipped(self) -> bool:
        """Return whether it came with the service."""
        return self.row_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a page: the edition it is, whether that is new, and how it differs from the one before."""

    edition: str
    new: bool
    page: Page
    shipped: bool = False
    """Whether the edition came with the service."""
    against: str | None = None
    changes: Sequence[EditionChange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shipped:
    edition: Edition
    figures: tuple[Reference, ...]


@cache
def _shipped() -> tuple[_Shipped, ...]:
    """Return the editions that ship, read once."""
    folder = resources.files("baselines.references") / "data"
    listed = tomllib.loads((folder / "editions.toml").read_text(encoding="utf-8"))
    found = []
    for entry in listed["edition"]:
        figures = tuple(read_csv((folder / entry["file"]).read_text(encoding="utf-8")))
        edition = Edition(
            name=f"{entry['source']}/{entry['dated']}",
            source=entry["source"],
            dated=entry["dated"],
            title=entry["title"],
            address=entry.get("address", ""),
            note=entry.get("note", ""),
            tables=len({one.printed.table for one in figures}),
            figures=len(figures),
            content=content_hash(figures),
        )
        found.append(_Shipped(edition=edition, figures=figures))
    return tuple(found)


def list_editions(session: Session) -> list[Edition]:
    """Return all editions, by source, the newest of each last; one that ships is left out where it was imported too."""
    imported = [
        Edition(
            name=f"{row.source}/{row.dated}",
            source=row.source,
            dated=date.fromisoformat(row.dated),
            title=row.title,
            address=row.address,
            note=f"read from {row.file}",
            tables=row.tables,
            figures=row.figures,
            content=row.content,
            imported_at=row.imported_at,
            imported_by=row.imported_by,
            row_id=row.id,
        )
        for row in references.list_editions(session)
    ]
    known = {(one.source, one.content) for one in imported}
    shipped = [one.edition for one in _shipped() if (one.edition.source, one.edition.content) not in known]
    return _name_apart(sorted([*shipped, *imported], key=lambda one: (one.source, one.dated, one.row_id or 0)))


def _name_apart(editions: Sequence[Edition]) -> list[Edition]:
    """Return the editions with names that differ also where two are of one day."""
    seen: dict[str, int] = {}
    found = []
    for one in editions:
        seen[one.name] = seen.get(one.name, 0) + 1
        found.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name}.{seen[one.name]}"))
    return found


def newest_of_each(editions: Sequence[Edition]) -> list[Edition]:
    """Return the newest edition of each source."""
    return list({one.source: one for one in editions}.values())


def find_edition(editions: Sequence[Edition], named: str) -> Edition:
    """Return the edition of this name, the newest of this source, or the one of this day; UserError when it is none."""
    text = named.strip()
    for one in editions:
        if one.name == text:
            return one
    newest = {one.source: one for one in editions}
    if text in newest:
        return newest[text]
    begin = [one for one in editions if text and (one.name.startswith(text) or str(one.dated).startswith(text))]
    if len(begin) == 1:
        return begin[0]
    told = ", ".join(one.name for one in begin or editions)
    problem = f"{named!r} is said of {len(begin)} editions: {told}" if begin else f"no edition {named!r}; known: {told}"
    raise UserError(f"{problem}. `tracker references list` shows them")


def load_figures(session: Session, edition: Edition) -> tuple[Reference, ...]:
    """Return the rows of an edition in its order, their meaning derived by the present code."""
    if edition.row_id is not None:
        return tuple(from_record(record) for record in references.records_of(session, edition.row_id))
    return next(one.figures for one in _shipped() if one.edition.content == edition.content)


def read_text(text: str, file: str) -> Page:
    """Return what a page publishes; UserError says why nothing can be read of it."""
    try:
        return read_page(text)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error


def check_source(source: str | None) -> str | None:
    """Return the name of a source; UserError where it is no such name."""
    if source is not None and not _SOURCE.fullmatch(source):
        raise UserError(f"--source: expected small letters, digits and . _ - (at most 80), found {source!r}")
    return source


def check_date(text: str | None, today: date) -> date | None:
    """Return the day of a copy; UserError for what is no day, or one that has not come yet."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise UserError(f"--date: expected a day such as 2026-04-30, found {text!r}") from None
    if day > today:
        raise UserError(
            f"--date: expected the day that the copy was saved, found {day}, which is after today ({today})"
        )
    return day


def weigh_page(
    session: Session, page: Page, *, file: str, source: str | None, dated: date | None, today: date
) -> tuple[Imported, str, date]:
    """Return what importing a page would do, with its source and day; nothing is stored."""
    editions = list_editions(session)
    content = content_hash(page.references)
    source = source or _find_source(session, editions, page, content, file)
    own = [one for one in editions if one.source == source]
    same = [one for one in own if one.content == content]
    newest = own[-1] if own else None
    if same and newest and (dated is None or newest.content == content or dated <= newest.dated):
        known = same[-1]
        return Imported(edition=known.name, new=False, page=page, shipped=known.shipped), source, known.dated
    day = dated or today
    number = sum(one.dated == day for one in own) + 1
    name = f"{source}/{day}" + (f".{number}" if number > 1 else "")
    before = next((one for one in reversed(own) if one.dated <= day), None)
    changes = compare_editions(load_figures(session, before), page.references) if before else []
    against = before.name if before else None
    return Imported(edition=name, new=True, page=page, against=against, changes=changes), source, day


def _find_source(session: Session, editions: Sequence[Edition], page: Page, content: str, file: str) -> str:
    """Return the known source that the page is a copy of; else a name from its address, or from its file."""
    same = [one.source for one in editions if one.content == content]
    if same:
        return same[-1]
    shares = {
        one.source: share_in_common(load_figures(session, one), page.references) for one in newest_of_each(editions)
    }
    best = max(shares, key=lambda name: shares[name], default=None)
    if best is not None and shares[best] >= SAME_PAGE_SHARE:
        return best
    address = re.sub(r"^https?://(?:www\.)?|[?#].*$", "", page.address or "")
    stem = file.rpartition("/")[2].partition(".")[0]
    name = _PLAIN.sub("-", (address or stem).casefold()).strip("-._")[:80]
    return name if _SOURCE.fullmatch(name) else "page"


def import_page(
    context: Context, page: Page, *, file: str, source: str | None = None, dated: date | None = None, who: str
) -> Imported:
    """Keep a page as an edition, unless its source has it already; older editions stay."""
    now = context.clock.now()
    with context.store.write() as session:
        found, name, day = weigh_page(session, page, file=file, source=source, dated=dated, today=now.date())
        if not found.new:
            return found
        edition = ImportedEdition(
            source=name,
            dated=day,
            content=content_hash(page.references),
            file=file[-300:],
            tables=page.tables,
            figures=len(page.references),
            imported_at=now,
            imported_by=who,
            address=page.address or "",
        )
        if not references.save_edition(session, edition, [to_record(one) for one in page.references]):
            return replace(found, new=False)  # somebody else kept the same in this moment
        audit.record(
            session,
            at=now,
            who=who,
            event="reference:imported",
            subject=found.edition,
            figures=edition.figures,
            file=edition.file,
            against=found.against,
            changes=count_kinds(found.changes),
        )
    return found


def count_kinds(changes: Sequence[EditionChange]) -> Mapping[str, int]:
    """Return kind of change -> how many rows, those that occur."""
    counted: dict[str, int] = {}
    for change in changes:
        counted[change.kind.value] = counted.get(change.kind.value, 0) + 1
    return counted


def choose_pair(
    editions: Sequence[Edition], old: str | None, new: str | None, source: str | None
) -> tuple[Edition, Edition] | None:
    """Return the two editions to compare, by default the newest two of the one source that has two.

    None where no source has two; UserError where it is not clear which are meant.
    """
    if old is not None:
        first = find_edition(editions, old)
        second = find_edition(editions, new if new is not None else first.source)
        if first == second:
            raise UserError(f"{old!r} and {new or 'the newest'} are one edition, {first.name}; name two")
        return first, second
    sources = {one.source for one in editions}
    if source is not None and source not in sources:
        raise UserError(f"no source {source!r}; known: {', '.join(sorted(sources))}")
    several = [name for name in sorted(sources) if sum(one.source == name for one in editions) > 1]
    wanted = [name for name in several if source in (None, name)]
    if not wanted:
        return None
    if len(wanted) > 1:
        raise UserError(f"{', '.join(wanted)} have several editions each; say which with --source")
    own = [one for one in editions if one.source == wanted[0]]
    return own[-2], own[-1]
