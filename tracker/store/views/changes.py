"""Change points and verdicts as pages show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlmodel import Session

from tracker.store.views.levels import ReleaseName
from tracker.store.views.plain import table

CHANGE, VERDICT, RELEASE = table("change_point"), table("verdict"), table("release")
_FROM, _TO = RELEASE.alias("possible_from"), RELEASE.alias("possible_to")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of level that stands."""

    id: str
    release: ReleaseName
    possible_from: ReleaseName
    possible_to: ReleaseName
    direction: str
    """`up` or `down`: what the value did."""
    verdict: str
    kind: str
    confirmed: bool
    before: float
    after: float
    effect_ratio: float
    effect_low: float
    effect_high: float
    p: float
    q: float
    confidence: float
    reason: str
    detector: str
    first_seen_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A series at a release against one reference."""

    verdict: str
    reference_kind: str
    against: ReleaseName | None
    effect_ratio: float | None
    effect_low: float | None
    effect_high: float | None
    p: float | None
    q: float | None
    reason: str


def load_changes(session: Session, series_ids: Collection[int]) -> dict[int, tuple[Change, ...]]:
    """Return the changes that stand, by series id, in release order."""
    rows = session.execute(
        select_changes()
        .where(CHANGE.c.series_id.in_(series_ids), CHANGE.c.withdrawn_at.is_(None))
        .order_by(RELEASE.c.sort_key)
    )
    found: dict[int, list[Change]] = defaultdict(list)
    for row in rows:
        found[row.series_id].append(make_change(row))
    return {series_id: tuple(changes) for series_id, changes in found.items()}


def select_changes() -> Select[Any]:
    """Return the statement whose rows `make_change` reads."""
    return (
        select(
            CHANGE,
            RELEASE.c.identity,
            RELEASE.c.display,
            _FROM.c.identity.label("from_identity"),
            _FROM.c.display.label("from_display"),
            _TO.c.identity.label("to_identity"),
            _TO.c.display.label("to_display"),
        )
        .join(RELEASE, RELEASE.c.id == CHANGE.c.release_id)
        .join(_FROM, _FROM.c.id == CHANGE.c.possible_from_id)
        .join(_TO, _TO.c.id == CHANGE.c.possible_to_id)
    )


def make_change(row: Any) -> Change:
    """Return the change of one row."""
    return Change(
        id=row.public_id,
        release=ReleaseName(identity=row.identity, display=row.display),
        possible_from=ReleaseName(identity=row.from_identity, display=row.from_display),
        possible_to=ReleaseName(identity=row.to_identity, display=row.to_display),
        direction=row.direction,
        verdict=row.verdict,
        kind=row.kind,
        confirmed=row.confirmed,
        before=row.before,
        after=row.after,
        effect_ratio=row.effect_ratio,
        effect_low=row.effect_low,
        effect_high=row.effect_high,
        p=row.p,
        q=row.q,
        confidence=row.confidence,
        reason=row.reason,
        detector=row.detector,
        first_seen_at=row.first_seen_at,
        changed_at=row.changed_at,
    )


def load_verdicts(
    session: Session, series_ids: Collection[int] | None = None, release_ids: Collection[int] | None = None
) -> dict[tuple[int, int], Verdict]:
    """Return the verdicts by (series id, release id); against the previous release where there are several."""
    against = RELEASE.alias("against")
    statement = select(VERDICT, against.c.identity, against.c.display).outerjoin(
        against, against.c.id == VERDICT.c.reference_release_id
    )
    if series_ids is not None:
        statement = statement.where(VERDICT.c.series_id.in_(series_ids))
    if release_ids is not None:
        statement = statement.where(VERDICT.c.release_id.in_(release_ids))
    rows = session.execute(statement.order_by(VERDICT.c.reference_kind == "previous", VERDICT.c.computed_at))
    return {(row.series_id, row.release_id): _make_verdict(row) for row in rows}


def _make_verdict(row: Any) -> Verdict:
    name = ReleaseName(identity=row.identity, display=row.display) if row.identity is not None else None
    return Verdict(
        verdict=row.verdict,
        reference_kind=row.reference_kind,
        against=name,
        effect_ratio=row.effect_ratio,
        effect_low=row.effect_low,
        effect_high=row.effect_high,
        p=row.p,
        q=row.q,
        reason=row.reason,
    )
