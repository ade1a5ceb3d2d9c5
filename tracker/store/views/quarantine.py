"""What was set aside, as lists show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from tracker.store.engine import Session
from tracker.store.views.plain import Page, check_limit, match_words, read_cursor, table

QUARANTINE, ATTEMPT, RUN = table("quarantine"), table("attempt"), table("run")
BUILD, RELEASE, COMPONENT = table("build"), table("release"), table("component")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldItem:
    """One value that may not enter a series, or that was let in since."""

    id: int
    run: str
    component: str
    release: str
    key: str
    raw: str
    unit: str
    reason: str
    labels: Mapping[str, Any]
    at: datetime | None
    released_as: str | None
    released_by: str | None
    released_at: datetime | None


def list_held(
    session: Session,
    *,
    released: bool | None = False,
    component: str | None = None,
    text: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[HeldItem]:
    """Return what the newest attempts set aside, newest first; `released` None shows also what was let in."""
    statement = (
        select(
            QUARANTINE,
            RUN.c.public_id,
            COMPONENT.c.slug.label("component"),
            RELEASE.c.display,
            ATTEMPT.c.parsed_at,
        )
        .join(ATTEMPT, ATTEMPT.c.id == QUARANTINE.c.attempt_id)
        .join(RUN, RUN.c.id == ATTEMPT.c.run_id)
        .join(BUILD, BUILD.c.id == RUN.c.build_id)
        .join(RELEASE, RELEASE.c.id == BUILD.c.release_id)
        .join(COMPONENT, COMPONENT.c.id == RELEASE.c.component_id)
        .order_by(QUARANTINE.c.id.desc())
        .limit(check_limit(limit) + 1)
    )
    later = ATTEMPT.alias("later")
    newest = select(func.max(later.c.number)).where(later.c.run_id == RUN.c.id).correlate(RUN).scalar_subquery()
    statement = statement.where(ATTEMPT.c.number == newest)
    if released is not None:
        column = QUARANTINE.c.released_at
        statement = statement.where(column.is_not(None) if released else column.is_(None))
    if component:
        statement = statement.where(COMPONENT.c.slug == component)
    if before := read_cursor(cursor):
        statement = statement.where(QUARANTINE.c.id < before)
    searched = (QUARANTINE.c.key, QUARANTINE.c.reason, RELEASE.c.display, COMPONENT.c.slug, RUN.c.public_id)
    rows = session.execute(statement.where(*match_words(text, searched))).all()
    following = str(rows[limit - 1].id) if len(rows) > limit else None
    return Page(items=tuple(_item(row) for row in rows[:limit]), next=following)


def _item(row: Any) -> HeldItem:
    return HeldItem(
        id=row.id,
        run=row.public_id,
        component=row.component,
        release=row.display,
        key=row.key,
        raw=row.raw,
        unit=row.unit,
        reason=row.reason,
        labels=json.loads(row.labels),
        at=row.parsed_at,
        released_as=row.released_as,
        released_by=row.released_by,
        released_at=row.released_at,
    )
