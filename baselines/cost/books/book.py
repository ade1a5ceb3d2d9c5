"""A book: editions of one kind of figure, each valid for a time and with its source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction

from jobs.names import gpu_key

POWER_COLUMN = "kw"
"""The one column of a power book: kW of one GPU with its share of everything around it."""


class BookKind(StrEnum):
    """What a book says of a GPU."""

    PRICE = "price"
    POWER = "power"

    @property
    def unit(self) -> str:
        return "USD/GPU-hour" if self is BookKind.PRICE else "kW/GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What an edition says of one GPU: column (`own`, `rental` ...; `kw`) -> value, exactly as written."""

    gpu: str
    values: Mapping[str, Fraction]
    aliases: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Figures that hold from one day to another, both counted in."""

    book: str
    name: str
    kind: BookKind
    valid_from: date
    valid_to: date | None
    source: str
    entries: tuple[Entry, ...]
    note: str = ""
    own: bool = False
    """Written by the team, not shipped."""

    @property
    def id(self) -> str:
        """The name that every figure made with it carries: `inferencex/2026-07`."""
        return f"{self.book}/{self.name}"

    @property
    def digest(self) -> str:
        """A short mark of the figures, so that an edit under the same name shows."""
        figures = [f"{e.gpu}\0{column}\0{value}" for e in self.entries for column, value in sorted(e.values.items())]
        text = "\n".join([f"{self.valid_from}", f"{self.valid_to}", *sorted(figures)])
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def is_valid(self, day: date) -> bool:
        return self.valid_from <= day and (self.valid_to is None or day <= self.valid_to)

    def entry_of(self, gpu: str) -> Entry | None:
        """Return what is said of a GPU, by name or alias; None where nothing is."""
        wanted = gpu_key(gpu)
        for entry in self.entries:
            if wanted and wanted in {gpu_key(name) for name in (entry.gpu, *entry.aliases)}:
                return entry
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The editions of one file, oldest first; no two of them hold on the same day."""

    kind: BookKind
    name: str
    file: str
    editions: tuple[Edition, ...]
    title: str = ""
    own: bool = False
