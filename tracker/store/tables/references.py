"""Published figures: editions of pages and their rows, as they were printed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class ReferenceEditionRow(SQLModel, table=True):
    """One copy of a page as somebody imported it; a changed copy is another edition, and older ones stay."""

    __tablename__ = "reference_edition"
    __table_args__ = (UniqueConstraint("source", "dated", "content"),)
    id: int | None = Field(default=None, primary_key=True)
    source: str
    dated: str
    """The day that the copy is of, `YYYY-MM-DD`."""
    content: str
    """Name of what its rows say."""
    title: str = ""
    address: str = ""
    """Where the page stands, if the copy says so."""
    file: str = ""
    tables: int
    figures: int
    imported_at: datetime = instant()
    imported_by: str


class ReferenceFigureRow(SQLModel, table=True):
    """One row of an edition. What it means is derived on reading; `record` holds what was printed and its doubts."""

    __tablename__ = "reference_figure"
    __table_args__ = (UniqueConstraint("edition_id", "place"),)
    id: int | None = Field(default=None, primary_key=True)
    edition_id: int = Field(foreign_key="reference_edition.id")
    place: int
    """Its place in the edition, from 0."""
    record: str
