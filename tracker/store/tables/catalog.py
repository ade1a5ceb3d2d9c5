"""What exists to be measured: components, their releases and builds, suites and configs, where a source stands."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class ComponentRow(SQLModel, table=True):
    __tablename__ = "component"
    id: int | None = Field(default=None, primary_key=True)
    slug: str = Field(unique=True)


class ReleaseRow(SQLModel, table=True):
    """A version of a component. `sort_key` orders; `identity` names; `display` is what people read."""

    __tablename__ = "release"
    __table_args__ = (
        UniqueConstraint("component_id", "identity"),
        Index("ix_release_order", "component_id", "sort_key"),
    )
    id: int | None = Field(default=None, primary_key=True)
    component_id: int = Field(foreign_key="component.id")
    identity: str
    display: str
    version: str | None = None
    track: str
    sort_key: str | None = None
    sort_rule: int
    no_place_reason: str | None = None
    published_at: datetime | None = instant(default=None)
    first_seen_at: datetime = instant()
    historic: bool = False
    """Already published when its source was first asked: it is measured, but pages nobody."""


class BuildRow(SQLModel, table=True):
    """What was published of a release; of two builds of one platform and variant the newest is the point."""

    __tablename__ = "build"
    __table_args__ = (
        UniqueConstraint("release_id", "digest", "platform"),
        Index("ix_build_release", "release_id"),
    )
    id: int | None = Field(default=None, primary_key=True)
    release_id: int = Field(foreign_key="release.id")
    kind: str
    digest: str
    platform: str
    variant: str = ""
    tag: str
    location: str
    published_at: datetime | None = instant(default=None)
    size_bytes: int | None = None
    yanked: str | None = None
    misfit: str | None = None
    first_seen_at: datetime = instant()
    superseded_at: datetime | None = instant(default=None)
    replaces: str | None = None
    """The digest that the same tag named before it was pushed again; None for a first build."""
    facts: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    """What it says of itself, as JSON: versions inside, the commit it was made from."""


class ContainsRow(SQLModel, table=True):
    """A version of another component inside a build, as the build itself says."""

    __tablename__ = "contains"
    __table_args__ = (
        UniqueConstraint("build_id", "component"),
        Index("ix_contains_component", "component", "version"),
    )
    id: int | None = Field(default=None, primary_key=True)
    build_id: int = Field(foreign_key="build.id")
    component: str
    version: str


class ReleaseNoteRow(SQLModel, table=True):
    """What a publisher writes about a release, which need not be known (yet): the link and how it begins."""

    __tablename__ = "release_note"
    __table_args__ = (UniqueConstraint("component_id", "identity"),)
    id: int | None = Field(default=None, primary_key=True)
    component_id: int = Field(foreign_key="component.id")
    identity: str
    """The release's, as its tag says."""
    tag: str
    url: str
    title: str = ""
    excerpt: str = ""
    """The first lines as plain text, whatever markup it looks like."""
    prerelease: bool = False
    published_at: datetime | None = instant(default=None)
    seen_at: datetime = instant()
    gone_at: datetime | None = instant(default=None)
    """No longer published; None while it is."""


class SuiteRevisionRow(SQLModel, table=True):
    """A suite's text as it stood when runs were planned from it."""

    __tablename__ = "suite_revision"
    id: int | None = Field(default=None, primary_key=True)
    content_hash: str = Field(unique=True)
    name: str = Field(index=True)
    component_id: int = Field(foreign_key="component.id")
    title: str
    file: str
    text: str
    created_at: datetime = instant()


class ConfigRow(SQLModel, table=True):
    """Identity labels, as canonical JSON."""

    __tablename__ = "config"
    id: int | None = Field(default=None, primary_key=True)
    fingerprint: str = Field(unique=True)
    labels: str


class CursorRow(SQLModel, table=True):
    """Where a source stood when it was last asked, and what went wrong if anything did."""

    __tablename__ = "cursor"
    id: int | None = Field(default=None, primary_key=True)
    source: str = Field(unique=True)
    cursor: str | None = None
    asked_at: datetime | None = instant(default=None)
    answered_at: datetime | None = instant(default=None)
    problem: str | None = None
    ask_after: datetime | None = instant(default=None)
    """It asked not to be asked before; None where it did not."""
