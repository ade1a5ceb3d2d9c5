"""What was published of a release: its builds, and what is inside each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlmodel import Session

from tracker.store.views.plain import read_json, table

BUILD, CONTAINS = table("build"), table("contains")


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What was published of a release."""

    kind: str
    tag: str
    digest: str
    platform: str
    variant: str
    published_at: datetime | None
    size_bytes: int | None
    yanked: str | None
    misfit: str | None
    superseded: bool
    replaces: str | None
    """The digest its tag named before it was pushed again."""
    facts: Mapping[str, str]
    """What it says of itself: versions inside, the commit it was made from."""
    contains: Mapping[str, str]
    """Other components inside it, with their versions."""


def load_builds(session: Session, release_id: int) -> tuple[Build, ...]:
    """Return all builds of a release, the first seen first."""
    rows = session.execute(select(BUILD).where(BUILD.c.release_id == release_id).order_by(BUILD.c.id)).all()
    contents = _load_contents(session, [row.id for row in rows])
    return tuple(
        Build(
            kind=row.kind,
            tag=row.tag,
            digest=row.digest,
            platform=row.platform,
            variant=row.variant,
            published_at=row.published_at,
            size_bytes=row.size_bytes,
            yanked=row.yanked,
            misfit=row.misfit,
            superseded=row.superseded_at is not None,
            replaces=row.replaces,
            facts=read_json(row.facts),
            contains=contents[row.id],
        )
        for row in rows
    )


def _load_contents(session: Session, build_ids: Collection[int]) -> Mapping[int, dict[str, str]]:
    """Return build id -> component inside it -> its version."""
    found: dict[int, dict[str, str]] = {build_id: {} for build_id in build_ids}
    rows = session.execute(select(CONTAINS).where(CONTAINS.c.build_id.in_(build_ids)).order_by(CONTAINS.c.component))
    for row in rows:
        found[row.build_id][row.component] = row.version
    return found
