"""Where and how things are measured: hosts, environments, runs, attempts and what they left."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class HardwareClassRow(SQLModel, table=True):
    __tablename__ = "hardware_class"
    id: int | None = Field(default=None, primary_key=True)
    fingerprint: str = Field(unique=True)
    slug: str
    labels: str


class HostRow(SQLModel, table=True):
    __tablename__ = "host"
    id: int | None = Field(default=None, primary_key=True)
    slug: str = Field(unique=True)
    hardware_class_id: int = Field(foreign_key="hardware_class.id")
    seen_at: datetime = instant()
    slots: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
    """Benchmarks that may run on it at once."""
    pools: str = Field(default="[]", sa_column_kwargs={"server_default": "[]"})
    """Names that suites may ask for, as a JSON list in order."""
    state: str = Field(default="ready", sa_column_kwargs={"server_default": "ready"})
    """ready, cordoned or draining."""
    state_why: str = Field(default="", sa_column_kwargs={"server_default": ""})
    state_by: str | None = None
    state_at: datetime | None = instant(default=None)
    health: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    """What the last look at it found, as JSON."""
    health_at: datetime | None = instant(default=None)
    refusal: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Why it last refused a run; stays when it is healthy again."""
    refused_at: datetime | None = instant(default=None)
    held_until: datetime | None = instant(default=None)
    """Until then it starts nothing, after a refusal."""
    engine: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Where its container engine listens, of a host that a service reaches from another machine."""
    served_by: str | None = None
    """The service that hands runs to that engine."""
    answered_at: datetime | None = instant(default=None)
    away_since: datetime | None = instant(default=None)
    away_why: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Since when engine or machine do not answer, and why; it starts nothing then."""


class MaintenanceRow(SQLModel, table=True):
    """A stretch of time in which a host starts nothing; lifted, it is as if it had never been."""

    __tablename__ = "maintenance"
    __table_args__ = (
        Index(
            "uq_maintenance_window",
            "host_id",
            "starts_at",
            "ends_at",
            unique=True,
            sqlite_where=text("lifted_at IS NULL"),
            postgresql_where=text("lifted_at IS NULL"),
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    host_id: int = Field(foreign_key="host.id")
    starts_at: datetime = instant()
    ends_at: datetime = instant()
    why: str
    who: str
    at: datetime = instant()
    lifted_by: str | None = None
    lifted_at: datetime | None = instant(default=None)


class EnvironmentRow(SQLModel, table=True):
    """Facts of where an attempt ran and of the software under test, as canonical JSON."""

    __tablename__ = "environment"
    id: int | None = Field(default=None, primary_key=True)
    fingerprint: str = Field(unique=True)
    facts: str


class RunRow(SQLModel, table=True):
    """One repeat of one config on one build on one hardware class.

    States: queued -> running -> measured -> done, or failed / cancelled. `measured` means that the benchmark has
    ended well and its output waits to be read.
    """

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_claim", "state", "priority", "repeat", "id"),
        Index("ix_run_build_config", "build_id", "config_id", "hardware_class_id"),
        Index(
            "uq_run_one_per_slot",
            "host_id",
            "slot",
            unique=True,
            sqlite_where=text("state = 'running'"),
            postgresql_where=text("state = 'running'"),
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    public_id: str = Field(unique=True)
    key: str = Field(unique=True)
    build_id: int = Field(foreign_key="build.id")
    config_id: int = Field(foreign_key="config.id")
    suite_revision_id: int = Field(foreign_key="suite_revision.id")
    hardware_class_id: int = Field(foreign_key="hardware_class.id")
    repeat: int
    priority: int
    requested_by: str | None = None
    """None for a planned run; who asked, for a triggered one or a rerun."""
    state: str = "queued"
    reason: str = ""
    host_id: int | None = Field(default=None, foreign_key="host.id")
    slot: int | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = instant(default=None)
    fence: int = 0
    failures: int = 0
    """How often the infrastructure failed it; a run that was interrupted has not failed."""
    refusals: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How often in a row a host refused to start it."""
    not_before: datetime | None = instant(default=None)
    cancel_requested_by: str | None = None
    unseen_since: datetime | None = instant(default=None)
    """Since when whoever watches it cannot see it: its engine or its cluster does not answer. None while it is seen."""
    unseen_why: str = Field(default="", sa_column_kwargs={"server_default": ""})
    unseen_tells: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How often the log has told of it."""
    created_at: datetime = instant()
    finished_at: datetime | None = instant(default=None)


class AttemptRow(SQLModel, table=True):
    """One try at a run. `key` names it to the executor and is stored before anything starts."""

    __tablename__ = "attempt"
    __table_args__ = (UniqueConstraint("run_id", "number"),)
    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    number: int
    key: str = Field(unique=True)
    fence: int
    host_id: int = Field(foreign_key="host.id")
    environment_id: int | None = Field(default=None, foreign_key="environment.id")
    outcome: str | None = None
    detail: str = ""
    exit_code: int | None = None
    flags: str = ""
    facts: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    """What the results said of the run and is no identity, as canonical JSON."""
    created_at: datetime = instant()
    started_at: datetime | None = instant(default=None)
    ended_at: datetime | None = instant(default=None)
    parsed_at: datetime | None = instant(default=None)


class OutputRow(SQLModel, table=True):
    """A file an attempt left; `path` is relative to the service's folder."""

    __tablename__ = "output"
    __table_args__ = (UniqueConstraint("attempt_id", "kind", "name"), Index("ix_output_sha256", "sha256"))
    id: int | None = Field(default=None, primary_key=True)
    attempt_id: int = Field(foreign_key="attempt.id")
    kind: str
    name: str
    path: str
    size_bytes: int
    sha256: str
