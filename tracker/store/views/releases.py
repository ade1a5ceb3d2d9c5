"""Releases: the list with how far each is measured, and one release with what its page shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Select, cast, func, select, type_coerce
from sqlmodel import Session

from tracker.store.views.alerts import AlertItem, list_alerts
from tracker.store.views.builds import Build, load_builds
from tracker.store.views.levels import ReleaseName, count_builds, explain_obstacle
from tracker.store.views.plain import Page, check_limit, match_words, read_cursor, read_json, table
from tracker.store.views.release_notes import Notes, find_notes
from tracker.store.views.runs import RunItem, list_runs

RELEASE, COMPONENT, BUILD, RUN = table("release"), table("component"), table("build"), table("run")
VERDICT, SERIES, CHANGE, SUMMARY = table("verdict"), table("series"), table("change_point"), table("summary")
MEASUREMENT, ENVIRONMENT = table("measurement"), table("environment")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseItem:
    """One release as lists show it."""

    component: str
    identity: str
    display: str
    track: str
    published_at: datetime | None
    first_seen_at: datetime
    historic: bool
    no_place_reason: str | None
    """Why it stands on no axis; None where it has a place in the order."""
    obstacle: str | None
    """Why no build of it can be measured here."""
    runs: Mapping[str, int]
    """State -> number of runs; states that do not occur are left out."""
    verdicts: Mapping[str, int]
    """Verdict -> number of gated series, against the previous release; of an older release as its summary says."""
    changes: Mapping[str, int]
    """Verdict -> number of change points that stand at this release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDetail:
    """A release with everything its page shows."""

    release: ReleaseItem
    builds: tuple[Build, ...]
    runs: Page[RunItem]
    alerts: tuple[AlertItem, ...]
    environments: tuple[Mapping[str, Any], ...]
    """The different environments it was measured in; more than one makes comparisons doubtful."""
    others: tuple[ReleaseName, ...]
    """Measured releases of the component, newest first: what it can be compared with."""
    summaries: tuple[Mapping[str, Any], ...]
    """The stored summaries, one a hardware class, as `alerts.summary_formats.to_dict` gave them."""
    notes: Notes | None = None
    """What its publisher writes about it, None where nothing is known of that."""


def list_releases(
    session: Session,
    *,
    component: str | None = None,
    text: str | None = None,
    measured: bool | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[ReleaseItem]:
    """Return the releases that match, newest first within each component; those without a place come last."""
    start = read_cursor(cursor)
    statement = (
        _select_releases()
        .order_by(COMPONENT.c.slug, RELEASE.c.sort_key.is_(None), RELEASE.c.sort_key.desc(), RELEASE.c.id.desc())
        .limit(check_limit(limit) + 1)
        .offset(start)
    )
    if component:
        statement = statement.where(COMPONENT.c.slug == component)
    if measured is not None:
        has_runs = RELEASE.c.id.in_(select(BUILD.c.release_id).join(RUN, RUN.c.build_id == BUILD.c.id))
        statement = statement.where(has_runs if measured else ~has_runs)
    searched = (RELEASE.c.display, RELEASE.c.identity, RELEASE.c.track, COMPONENT.c.slug)
    rows = session.execute(statement.where(*match_words(text, searched))).all()
    items = make_releases(session, rows[:limit])
    return Page(items=tuple(items), next=str(start + limit) if len(rows) > limit else None)


def _select_releases() -> Select[Any]:
    builds = count_builds()
    return (
        select(RELEASE, COMPONENT.c.slug.label("component"), builds)
        .join(COMPONENT, COMPONENT.c.id == RELEASE.c.component_id)
        .outerjoin(builds, builds.c.release_id == RELEASE.c.id)
    )


def load_releases(session: Session, *conditions: ColumnElement[bool]) -> list[ReleaseItem]:
    """Return the releases under the conditions, newest first."""
    rows = session.execute(_select_releases().where(*conditions).order_by(RELEASE.c.sort_key.desc())).all()
    return make_releases(session, rows)


def find_releases(session: Session, ids: Collection[int]) -> list[ReleaseItem]:
    """Return the releases with these ids, newest first."""
    return load_releases(session, RELEASE.c.id.in_(ids))


def make_releases(session: Session, rows: Sequence[Any]) -> list[ReleaseItem]:
    """Return the releases of these rows with their counts: four statements."""
    ids = [row.id for row in rows]
    runs, changes = _count_runs(session, ids), _count_changes(session, ids)
    verdicts = {**_count_summarized(session, ids), **_count_verdicts(session, ids)}
    return [
        ReleaseItem(
            component=row.component,
            identity=row.identity,
            display=row.display,
            track=row.track,
            published_at=row.published_at,
            first_seen_at=row.first_seen_at,
            historic=row.historic,
            no_place_reason=row.no_place_reason,
            obstacle=explain_obstacle(row),
            runs=runs.get(row.id, {}),
            verdicts=verdicts.get(row.id, {}),
            changes=changes.get(row.id, {}),
        )
        for row in rows
    ]


def _tally(session: Session, statement: Select[Any]) -> dict[int, dict[str, int]]:
    """Return release id -> word -> number, from rows (release id, word, number)."""
    tally: dict[int, dict[str, int]] = defaultdict(dict)
    for release_id, word, number in session.execute(statement):
        tally[release_id][word] = number
    return tally


def _count_runs(session: Session, ids: Collection[int]) -> dict[int, dict[str, int]]:
    return _tally(
        session,
        select(BUILD.c.release_id, RUN.c.state, func.count())
        .join(RUN, RUN.c.build_id == BUILD.c.id)
        .where(BUILD.c.release_id.in_(ids))
        .group_by(BUILD.c.release_id, RUN.c.state),
    )


def _count_verdicts(session: Session, ids: Collection[int]) -> dict[int, dict[str, int]]:
    return _tally(
        session,
        select(VERDICT.c.release_id, VERDICT.c.verdict, func.count(VERDICT.c.series_id.distinct()))
        .join(SERIES, SERIES.c.id == VERDICT.c.series_id)
        .where(VERDICT.c.release_id.in_(ids), SERIES.c.gated, VERDICT.c.reference_kind == "previous")
        .where(VERDICT.c.reference_release_id.is_not(None))
        .group_by(VERDICT.c.release_id, VERDICT.c.verdict),
    )


def _count_summarized(session: Session, ids: Collection[int]) -> dict[int, dict[str, int]]:
    """Return release id -> verdict -> number of gated series, from the newest summary on each hardware class."""
    newest = (
        select(func.max(SUMMARY.c.id))
        .where(SUMMARY.c.release_id.in_(ids), SUMMARY.c.against_id.is_not(None))
        .group_by(SUMMARY.c.release_id, SUMMARY.c.hardware_class_id)
    )
    postgres = session.get_bind().dialect.name == "postgresql"
    content = cast(SUMMARY.c.content, JSON) if postgres else type_coerce(SUMMARY.c.content, JSON)
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts = select(SUMMARY.c.release_id, content["counts"]).where(SUMMARY.c.id.in_(newest))
    for release_id, tally in session.execute(counts):
        for verdict, number in (tally or {}).items():
            found[release_id][verdict] += number
    return {release_id: dict(tally) for release_id, tally in found.items()}


def _count_changes(session: Session, ids: Collection[int]) -> dict[int, dict[str, int]]:
    return _tally(
        session,
        select(CHANGE.c.release_id, CHANGE.c.verdict, func.count())
        .where(CHANGE.c.release_id.in_(ids), CHANGE.c.withdrawn_at.is_(None))
        .group_by(CHANGE.c.release_id, CHANGE.c.verdict),
    )


def show_release(
    session: Session, component: str, identity: str, *, against: str | None = None
) -> ReleaseDetail | None:
    """Return a release with its stored summary against another; None where there is no such release."""
    row = session.execute(
        _select_releases().where(COMPONENT.c.slug == component, RELEASE.c.identity == identity)
    ).first()
    if row is None:
        return None
    return ReleaseDetail(
        release=make_releases(session, [row])[0],
        builds=load_builds(session, row.id),
        runs=list_runs(session, component=component, release=identity),
        alerts=list_alerts(session, component=component, release=identity).items,
        environments=_load_environments(session, row.id),
        others=tuple(name for name in list_measured(session).get(component, ()) if name.identity != identity),
        summaries=load_summaries(session, component, identity, against=against),
        notes=find_notes(session, component, identity),
    )


def load_summaries(
    session: Session, component: str, identity: str, *, against: str | None = None
) -> tuple[Mapping[str, Any], ...]:
    """Return the newest stored summary of a release for each hardware class.

    Where `against` is named and is not what each of them compares with, none: summaries against an earlier
    reference are not kept up to date.
    """
    other = RELEASE.alias("against")
    statement = (
        select(SUMMARY.c.hardware_class_id, SUMMARY.c.content, other.c.identity.label("against"))
        .join(RELEASE, RELEASE.c.id == SUMMARY.c.release_id)
        .join(COMPONENT, COMPONENT.c.id == RELEASE.c.component_id)
        .outerjoin(other, other.c.id == SUMMARY.c.against_id)
        .where(COMPONENT.c.slug == component, RELEASE.c.identity == identity)
        .order_by(SUMMARY.c.hardware_class_id, SUMMARY.c.id)
    )
    newest = {row.hardware_class_id: row for row in session.execute(statement)}
    if against and any(row.against != against for row in newest.values()):
        return ()
    return tuple(read_json(row.content) for row in newest.values())


def _load_environments(session: Session, release_id: int) -> tuple[Mapping[str, Any], ...]:
    used = select(MEASUREMENT.c.environment_id).where(MEASUREMENT.c.release_id == release_id)
    rows = session.execute(select(ENVIRONMENT.c.facts).where(ENVIRONMENT.c.id.in_(used)).order_by(ENVIRONMENT.c.id))
    return tuple(read_json(facts) for facts in rows.scalars())


def list_measured(session: Session) -> dict[str, tuple[ReleaseName, ...]]:
    """Return the measured releases by component, newest first: what can be compared."""
    rows = session.execute(
        select(COMPONENT.c.slug, RELEASE.c.identity, RELEASE.c.display)
        .join(COMPONENT, COMPONENT.c.id == RELEASE.c.component_id)
        .where(RELEASE.c.id.in_(select(MEASUREMENT.c.release_id)))
        .order_by(COMPONENT.c.slug, RELEASE.c.sort_key.desc())
    )
    found: dict[str, list[ReleaseName]] = defaultdict(list)
    for row in rows:
        found[row.slug].append(ReleaseName(identity=row.identity, display=row.display))
    return {slug: tuple(names) for slug, names in found.items()}
