"""What a publisher writes about a release."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlmodel import Session

from tracker.store.views.plain import table

NOTE, COMPONENT = table("release_note"), table("component")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The notes of one release: where they stand and how they begin."""

    url: str
    title: str
    tag: str
    prerelease: bool
    published_at: datetime | None
    excerpt: str
    """Plain text, whatever markup it looks like."""


def find_notes(session: Session, component: str, identity: str) -> Notes | None:
    """Return the notes of a release; None where none are known, or they were taken back."""
    row = session.execute(
        select(NOTE)
        .join(COMPONENT, COMPONENT.c.id == NOTE.c.component_id)
        .where(COMPONENT.c.slug == component, NOTE.c.identity == identity, NOTE.c.gone_at.is_(None))
    ).first()
    if row is None:
        return None
    return Notes(
        url=row.url,
        title=row.title or row.tag,
        tag=row.tag,
        prerelease=row.prerelease,
        published_at=row.published_at,
        excerpt=row.excerpt,
    )
