"""What people handle: alerts, what they decided, what was sent, summaries, notes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class AlertRow(SQLModel, table=True):
    """The change points of one release, component, hardware class and direction under one rule."""

    __tablename__ = "alert"
    __table_args__ = (UniqueConstraint("rule", "component_id", "release_id", "hardware_class_id", "direction"),)
    id: int | None = Field(default=None, primary_key=True)
    public_id: str = Field(unique=True)
    rule: str
    component_id: int = Field(foreign_key="component.id")
    release_id: int = Field(foreign_key="release.id")
    hardware_class_id: int = Field(foreign_key="hardware_class.id")
    direction: str
    state: str = "new"
    headline: str
    content: str
    """The alert's facts as canonical JSON: what is told is made from it, and a change of it is a new revision."""
    revision: int = 1
    created_at: datetime = instant()
    changed_at: datetime = instant()


class AlertChangeRow(SQLModel, table=True):
    """Which change points an alert has gathered."""

    __tablename__ = "alert_change"
    alert_id: int = Field(foreign_key="alert.id", primary_key=True)
    change_point_id: int = Field(foreign_key="change_point.id", primary_key=True)


class TriageRow(SQLModel, table=True):
    """A decision about an alert: append-only."""

    __tablename__ = "triage"
    id: int | None = Field(default=None, primary_key=True)
    alert_id: int = Field(foreign_key="alert.id", index=True)
    state: str
    who: str
    note: str = ""
    at: datetime = instant()


class DeliveryRow(SQLModel, table=True):
    """One message to one sink: the outbox. States: due -> sent, or failed (given up, with the reason)."""

    __tablename__ = "delivery"
    __table_args__ = (
        UniqueConstraint("subject", "sink", "target", "kind", "revision"),
        Index("ix_delivery_due", "state", "not_before"),
    )
    id: int | None = Field(default=None, primary_key=True)
    public_id: str = Field(unique=True)
    subject: str
    """`alert:<id>` or `summary:<release id>:<hardware class id>`."""
    sink: str
    target: str
    kind: str
    revision: int
    state: str = "due"
    attempts: int = 0
    not_before: datetime = instant()
    receipt: str | None = None
    problem: str | None = None
    created_at: datetime = instant()
    sent_at: datetime | None = instant(default=None)


class SummaryRow(SQLModel, table=True):
    """A release against another, as it stood at one revision."""

    __tablename__ = "summary"
    __table_args__ = (UniqueConstraint("release_id", "against_id", "hardware_class_id", "revision"),)
    id: int | None = Field(default=None, primary_key=True)
    release_id: int = Field(foreign_key="release.id")
    against_id: int | None = Field(default=None, foreign_key="release.id")
    hardware_class_id: int = Field(foreign_key="hardware_class.id")
    revision: int
    content: str
    created_at: datetime = instant()


class AnnotationRow(SQLModel, table=True):
    """A note that stands at a place in a chart."""

    __tablename__ = "annotation"
    __table_args__ = (UniqueConstraint("subject", "at"),)
    id: int | None = Field(default=None, primary_key=True)
    subject: str
    at: datetime = instant()
    who: str
    text: str
