"""The service's own records: who did what, and who may."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class AuditRow(SQLModel, table=True):
    """What happened: append-only. `event` is `subject:verb`, such as `run:triggered`."""

    __tablename__ = "audit"
    id: int | None = Field(default=None, primary_key=True)
    at: datetime = instant(index=True)
    who: str
    event: str
    subject: str
    detail: str = "{}"


class TokenRow(SQLModel, table=True):
    """An API token: only its hash is kept."""

    __tablename__ = "token"
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    hash: str = Field(unique=True)
    created_at: datetime = instant()
    used_at: datetime | None = instant(default=None)
    revoked_at: datetime | None = instant(default=None)
