"""Runs: the list, and one run with its attempts, outputs, values and what was put aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlmodel import Session

from tracker.errors import UserError
from tracker.store.runs import is_handed_in
from tracker.store.views.levels import ReleaseName
from tracker.store.views.names import name_series
from tracker.store.views.plain import Page, check_limit, match_words, read_cursor, read_json, table
from tracker.store.views.sightings import OutOfSight, find_unseen

RUN, BUILD, RELEASE, COMPONENT = table("run"), table("build"), table("release"), table("component")
CONFIG, SUITE, HARDWARE, HOST = table("config"), table("suite_revision"), table("hardware_class"), table("host")
ATTEMPT, OUTPUT, ENVIRONMENT = table("attempt"), table("output"), table("environment")
QUARANTINE, MEASUREMENT, SERIES = table("quarantine"), table("measurement"), table("series")

RUN_STATES = ("queued", "running", "measured", "done", "failed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunItem:
    """One run as lists show it."""

    id: str
    state: str
    reason: str
    component: str
    release: ReleaseName
    suite: str
    config: str
    hardware: str
    host: str | None
    repeat: int
    priority: int
    requested_by: str | None
    attempts: int
    cancel_requested_by: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_s: float | None
    """Of the last attempt, once it has ended."""
    unseen: OutOfSight | None = None
    """For a running run whose engine or cluster does not answer, or which no daemon watches: its state is the last
    one known."""
    not_before: datetime | None = None
    """When a queued run that failed is tried again, at the earliest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file an attempt left; `path` is relative to the service's folder."""

    id: int
    kind: str
    name: str
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAside:
    """A value as printed and why it may not enter a series."""

    key: str
    raw: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a run."""

    number: int
    key: str
    host: str
    outcome: str | None
    detail: str
    exit_code: int | None
    flags: str
    facts: Mapping[str, Any]
    """What its results say of the run and is no identity."""
    started_at: datetime | None
    ended_at: datetime | None
    environment: Mapping[str, Any]
    outputs: tuple[Output, ...]
    put_aside: tuple[PutAside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValue:
    """What the run gave to one series."""

    series: str
    name: str
    metric: str
    unit: str
    value: float
    samples: int | None
    spread: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with everything its page shows."""

    run: RunItem
    labels: Mapping[str, Any]
    build_tag: str
    build_kind: str
    build_digest: str
    handed_in: bool
    """Measured elsewhere: it cannot be run again here."""
    attempts: tuple[Attempt, ...]
    values: tuple[RunValue, ...]


def list_runs(
    session: Session,
    *,
    state: str | None = None,
    component: str | None = None,
    release: str | None = None,
    host: str | None = None,
    text: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    now: datetime | None = None,
) -> Page[RunItem]:
    """Return the runs that match, newest first; with `now`, one whose daemon is gone is known to be out of sight."""
    if state and state not in RUN_STATES:
        raise UserError(f"state: expected one of {', '.join(RUN_STATES)}, found {state[:40]!r}")
    statement = _select_runs().order_by(RUN.c.id.desc()).limit(check_limit(limit) + 1)
    asked = ((RUN.c.state, state), (COMPONENT.c.slug, component), (RELEASE.c.identity, release), (HOST.c.slug, host))
    for column, value in asked:
        if value:
            statement = statement.where(column == value)
    if before := read_cursor(cursor):
        statement = statement.where(RUN.c.id < before)
    searched = (RELEASE.c.display, COMPONENT.c.slug, SUITE.c.name, HOST.c.slug, RUN.c.reason, RUN.c.public_id)
    rows = session.execute(statement.where(*match_words(text, searched))).all()
    following = str(rows[limit - 1].id) if len(rows) > limit else None
    return Page(items=tuple(make_run(row, now) for row in rows[:limit]), next=following)


def count_states(session: Session, *, release_id: int | None = None) -> dict[str, int]:
    """Return the number of runs in each state, 0 included: of all there are, or of one release."""
    statement = select(RUN.c.state, func.count().label("runs")).group_by(RUN.c.state)
    if release_id is not None:
        statement = statement.join(BUILD, BUILD.c.id == RUN.c.build_id).where(BUILD.c.release_id == release_id)
    rows = session.execute(statement)
    return dict.fromkeys(RUN_STATES, 0) | {row.state: row.runs for row in rows}


def _select_runs() -> Select[Any]:
    last = (
        select(
            ATTEMPT.c.run_id,
            ATTEMPT.c.number,
            ATTEMPT.c.started_at,
            ATTEMPT.c.ended_at,
            func.row_number().over(partition_by=ATTEMPT.c.run_id, order_by=ATTEMPT.c.number.desc()).label("place"),
        )
    ).subquery()
    return (
        select(
            RUN,
            COMPONENT.c.slug.label("component"),
            RELEASE.c.identity,
            RELEASE.c.display,
            SUITE.c.name.label("suite"),
            CONFIG.c.labels,
            HARDWARE.c.slug.label("hardware"),
            HOST.c.slug.label("host"),
            BUILD.c.tag,
            BUILD.c.kind,
            BUILD.c.digest,
            last.c.number,
            last.c.started_at,
            last.c.ended_at,
        )
        .join(BUILD, BUILD.c.id == RUN.c.build_id)
        .join(RELEASE, RELEASE.c.id == BUILD.c.release_id)
        .join(COMPONENT, COMPONENT.c.id == RELEASE.c.component_id)
        .join(SUITE, SUITE.c.id == RUN.c.suite_revision_id)
        .join(CONFIG, CONFIG.c.id == RUN.c.config_id)
        .join(HARDWARE, HARDWARE.c.id == RUN.c.hardware_class_id)
        .outerjoin(HOST, HOST.c.id == RUN.c.host_id)
        .outerjoin(last, (last.c.run_id == RUN.c.id) & (last.c.place == 1))
    )


def make_run(row: Any, now: datetime | None = None) -> RunItem:
    """Return the run of one row."""
    timed = row.started_at is not None and row.ended_at is not None
    return RunItem(
        id=row.public_id,
        state=row.state,
        reason=row.reason,
        component=row.component,
        release=ReleaseName(identity=row.identity, display=row.display),
        suite=row.suite,
        config=name_series(read_json(row.labels)),
        hardware=row.hardware,
        host=row.host,
        repeat=row.repeat,
        priority=row.priority,
        requested_by=row.requested_by,
        attempts=row.number or 0,
        cancel_requested_by=row.cancel_requested_by,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        duration_s=max(0.0, (row.ended_at - row.started_at).total_seconds()) if timed else None,
        unseen=find_unseen(row, now),
        not_before=row.not_before if row.state == "queued" else None,
    )


def show_run(session: Session, public_id: str, *, now: datetime | None = None) -> RunDetail | None:
    """Return a run with its attempts and values; None where there is no such run."""
    row = session.execute(_select_runs().where(RUN.c.public_id == public_id)).first()
    if row is None:
        return None
    return RunDetail(
        run=make_run(row, now),
        labels=read_json(row.labels),
        build_tag=row.tag,
        build_kind=row.kind,
        build_digest=row.digest,
        handed_in=is_handed_in(row.key),
        attempts=_load_attempts(session, row.id),
        values=_load_values(session, row.id),
    )


def _load_attempts(session: Session, run_id: int) -> tuple[Attempt, ...]:
    rows = session.execute(
        select(ATTEMPT, HOST.c.slug.label("host"), ENVIRONMENT.c.facts.label("environment"))
        .join(HOST, HOST.c.id == ATTEMPT.c.host_id)
        .outerjoin(ENVIRONMENT, ENVIRONMENT.c.id == ATTEMPT.c.environment_id)
        .where(ATTEMPT.c.run_id == run_id)
        .order_by(ATTEMPT.c.number)
    ).all()
    ids = [row.id for row in rows]
    outputs: dict[int, list[Output]] = defaultdict(list)
    for one in session.execute(select(OUTPUT).where(OUTPUT.c.attempt_id.in_(ids)).order_by(OUTPUT.c.id)):
        outputs[one.attempt_id].append(
            Output(id=one.id, kind=one.kind, name=one.name, path=one.path, size_bytes=one.size_bytes, sha256=one.sha256)
        )
    aside: dict[int, list[PutAside]] = defaultdict(list)
    for one in session.execute(select(QUARANTINE).where(QUARANTINE.c.attempt_id.in_(ids)).order_by(QUARANTINE.c.id)):
        aside[one.attempt_id].append(PutAside(key=one.key, raw=one.raw, reason=one.reason))
    return tuple(_make_attempt(row, outputs[row.id], aside[row.id]) for row in rows)


def _make_attempt(row: Any, outputs: list[Output], put_aside: list[PutAside]) -> Attempt:
    return Attempt(
        number=row.number,
        key=row.key,
        host=row.host,
        outcome=row.outcome,
        detail=row.detail,
        exit_code=row.exit_code,
        flags=row.flags,
        facts=read_json(row.facts),
        started_at=row.started_at,
        ended_at=row.ended_at,
        environment=read_json(row.environment),
        outputs=tuple(outputs),
        put_aside=tuple(put_aside),
    )


def _load_values(session: Session, run_id: int) -> tuple[RunValue, ...]:
    rows = session.execute(
        select(MEASUREMENT, SERIES.c.fingerprint, SERIES.c.metric, SERIES.c.unit, SERIES.c.variant, CONFIG.c.labels)
        .join(SERIES, SERIES.c.id == MEASUREMENT.c.series_id)
        .join(CONFIG, CONFIG.c.id == SERIES.c.config_id)
        .where(MEASUREMENT.c.run_id == run_id)
        .order_by(SERIES.c.gated.desc(), CONFIG.c.labels, SERIES.c.metric)
    )
    return tuple(
        RunValue(
            series=row.fingerprint,
            name=name_series(read_json(row.labels), row.variant),
            metric=row.metric,
            unit=row.unit,
            value=row.value,
            samples=row.samples,
            spread=row.spread,
        )
        for row in rows
    )
