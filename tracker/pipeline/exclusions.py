"""exclude and include: which releases of which series are judged, said by people, undone at will."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.store import audit, catalog, exclusions, series
from tracker.store.engine import Session
from tracker.store.tables import SeriesRow

LONGEST_WHY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """What was done: the release, and the fingerprints of the series for which it was not so before."""

    component: str
    release: str
    series: tuple[str, ...]


def exclude(
    context: Context, release: str, *, fingerprint: str | None = None, suite: str | None = None, who: str, why: str
) -> Excluded:
    """Have a release not judged in a series, or in all of a suite; UserError without a reason or a measurement."""
    if not why.strip() or len(why) > LONGEST_WHY or not why.isprintable():
        raise UserError(f"why: expected a reason of 1 to {LONGEST_WHY} characters on one line, found {why[:80]!r}")
    now = context.clock.now()
    with context.store.write() as session:
        members, release_id, slug, identity = _find(session, release, fingerprint, suite)
        fresh = [one for one in members if not exclusions.standing_exclusion(session, one.id or 0, release_id)]
        for one in fresh:
            exclusions.exclude(session, one.id or 0, release_id, why=why.strip(), who=who, at=now)
            audit.record(
                session, at=now, who=who, event="series:excluded", subject=one.fingerprint, release=identity, why=why
            )
        series.mark_dirty(session, [one.id or 0 for one in fresh])
        return Excluded(component=slug, release=identity, series=tuple(one.fingerprint for one in fresh))


def include(
    context: Context, release: str, *, fingerprint: str | None = None, suite: str | None = None, who: str
) -> Excluded:
    """Have a release judged again in a series, or in all of a suite; UserError where it was never excluded."""
    now = context.clock.now()
    with context.store.write() as session:
        members, release_id, slug, identity = _find(session, release, fingerprint, suite)
        found = [(one, exclusions.standing_exclusion(session, one.id or 0, release_id)) for one in members]
        standing = [(one, row) for one, row in found if row is not None]
        if not standing:
            raise UserError(f"{slug}/{identity} is not excluded there; `tracker series show` marks those that are")
        for one, row in standing:
            row.lifted_at, row.lifted_by = now, who
            session.add(row)
            audit.record(session, at=now, who=who, event="series:included", subject=one.fingerprint, release=identity)
        series.mark_dirty(session, [one.id or 0 for one, _ in standing])
        return Excluded(component=slug, release=identity, series=tuple(one.fingerprint for one, _ in standing))


def _find(
    session: Session, release: str, fingerprint: str | None, suite: str | None
) -> tuple[list[SeriesRow], int, str, str]:
    """Return the series that have the release measured, with its id and name."""
    if (fingerprint is None) == (suite is None):
        raise UserError("expected a series or --suite, one of the two")
    component = series.component_of(session, fingerprint) if fingerprint else None
    found, row = catalog.find_release(session, release, component)
    members = series.measured_at(session, row.id or 0, fingerprint=fingerprint, suite=suite)
    if not members:
        what = f"series {fingerprint}" if fingerprint else f"suite {suite!r}"
        suites = sorted({one.suite for one in series.measured_at(session, row.id or 0)})
        there = f"measured there: suite {', '.join(map(repr, suites))}" if suites else "nothing was measured there"
        raise UserError(f"{what} has no measurement at {found.slug}/{row.identity}; {there}")
    return members, row.id or 0, found.slug, row.identity
