"""Results that were measured elsewhere and handed in: looked up and written many at once, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, text
from sqlmodel import Session, SQLModel, col, select

from tracker.clock import new_public_id
from tracker.store import quarantine, series
from tracker.store.engine import in_parts, insert_new
from tracker.store.quarantine import SetAside
from tracker.store.runs import newest_attempt
from tracker.store.series import SeriesIdentity
from tracker.store.tables import AttemptRow, MeasurementRow, OutputRow, RunRow, SeriesRow

DEPOSIT_LOCK = 7_237_115
"""Number of the advisory lock on PostgreSQL that one depositing transaction holds at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What all results of one hand-in share."""

    build_id: int
    release_id: int
    host_id: int
    measured_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSeries:
    """A series with its fingerprint, which takes a while to work out."""

    identity: SeriesIdentity
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositedValue:
    """One valid value and the series it belongs to."""

    series: NamedSeries
    value: float
    samples: int | None
    spread: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositedRun:
    """One result of a file as it is to be stored; `state` is done or failed."""

    key: str
    config_id: int
    suite_revision_id: int
    hardware_class_id: int
    repeat: int
    state: str
    reason: str
    flags: str
    facts: str
    output: dict[str, Any]
    values: tuple[DepositedValue, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    unnamed: bool = False
    """Nothing tells what was measured: no model and no name of a benchmark."""


def hold(session: Session) -> None:
    """Have other hand-ins wait until this transaction ends; on SQLite every writer does."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SELECT pg_advisory_xact_lock({DEPOSIT_LOCK})"))


def stored_files(session: Session, keys: Sequence[str]) -> dict[str, str]:
    """Return the key of each run that is there already, with the hash of the file it was last read from."""
    found: dict[str, str] = {}
    for part in in_parts(keys):
        rows = session.execute(
            select(RunRow.key, OutputRow.sha256)
            .join(AttemptRow, col(AttemptRow.run_id) == RunRow.id)
            .join(OutputRow, col(OutputRow.attempt_id) == AttemptRow.id)
            .where(col(RunRow.key).in_(part), col(AttemptRow.number) == newest_attempt())
        ).all()
        found |= dict(rows)
    return found


def same_content(session: Session, where: Where, hashes: Sequence[str]) -> dict[str, str]:
    """Return the hashes of files that are stored for this build and host, with their names; not of replaced ones."""
    found: dict[str, str] = {}
    for part in in_parts(hashes):
        rows = session.execute(
            select(OutputRow.sha256, OutputRow.name)
            .join(AttemptRow, col(AttemptRow.id) == OutputRow.attempt_id)
            .join(RunRow, col(RunRow.id) == AttemptRow.run_id)
            .where(
                col(OutputRow.sha256).in_(part),
                RunRow.build_id == where.build_id,
                AttemptRow.host_id == where.host_id,
                RunRow.state != "cancelled",
                col(AttemptRow.number) == newest_attempt(),
            )
        ).all()
        found |= dict(rows)
    return found


def add(session: Session, where: Where, runs: Sequence[DepositedRun], *, who: str, now: datetime) -> list[str]:
    """Store runs that are not there yet, with their values; return their public ids, in order."""
    if not runs:
        return []
    rows = [_run_row(where, run, who=who, now=now) for run in runs]
    run_ids = _insert_returning(session, RunRow, rows)
    _fill(session, where, runs, run_ids, numbers=[1] * len(runs), now=now)
    return [row["public_id"] for row in rows]


def replace(session: Session, where: Where, runs: Sequence[DepositedRun], *, now: datetime) -> list[str]:
    """Give runs that are there new values in a further attempt; the old values leave their series."""
    known = {row.key: row for row in _runs_of(session, [run.key for run in runs])}
    rows = [known[run.key] for run in runs]
    ids = [row.id or 0 for row in rows]
    numbers: dict[int, int] = {}
    for part in in_parts(ids):
        newest = select(AttemptRow.run_id, func.max(AttemptRow.number)).where(col(AttemptRow.run_id).in_(part))
        numbers |= dict(session.execute(newest.group_by(col(AttemptRow.run_id))).all())
    _take_back(session, ids)
    for run, row in zip(runs, rows, strict=True):
        row.state, row.reason, row.finished_at = run.state, run.reason, now
        row.config_id, row.suite_revision_id = run.config_id, run.suite_revision_id
        session.add(row)
    _fill(session, where, runs, ids, numbers=[numbers.get(run_id, 0) + 1 for run_id in ids], now=now)
    return [row.public_id for row in rows]


def drop_results(session: Session, keys: Sequence[str], *, reason: str, now: datetime) -> None:
    """Take runs out of their series that a replaced file no longer holds."""
    rows = _runs_of(session, keys)
    _take_back(session, [row.id or 0 for row in rows])
    for row in rows:
        row.state, row.reason, row.finished_at = "cancelled", reason, now
        session.add(row)


def keys_of_file(session: Session, file_key: str) -> list[str]:
    """Return the keys of all runs that a file gave."""
    statement = select(RunRow.key).where(col(RunRow.key).startswith(f"{file_key}-", autoescape=True))
    return list(session.exec(statement).all())


def _runs_of(session: Session, keys: Sequence[str]) -> list[RunRow]:
    parts = (session.exec(select(RunRow).where(col(RunRow.key).in_(part))).all() for part in in_parts(keys))
    return [row for part in parts for row in part]


def _take_back(session: Session, run_ids: Sequence[int]) -> None:
    for part in in_parts(run_ids):
        of_part = col(MeasurementRow.run_id).in_(part)
        touched = session.exec(select(MeasurementRow.series_id).where(of_part).distinct()).all()
        session.execute(delete(MeasurementRow).where(of_part))
        series.mark_dirty(session, touched)


def _run_row(where: Where, run: DepositedRun, *, who: str, now: datetime) -> dict[str, Any]:
    return {
        "public_id": new_public_id(),
        "key": run.key,
        "build_id": where.build_id,
        "config_id": run.config_id,
        "suite_revision_id": run.suite_revision_id,
        "hardware_class_id": run.hardware_class_id,
        "repeat": run.repeat,
        "priority": 0,
        "requested_by": who,
        "state": run.state,
        "reason": run.reason,
        "host_id": where.host_id,
        "fence": 0,
        "failures": 0,
        "created_at": now,
        "finished_at": now,
    }


def _fill(
    session: Session,
    where: Where,
    runs: Sequence[DepositedRun],
    run_ids: Sequence[int],
    *,
    numbers: Sequence[int],
    now: datetime,
) -> None:
    """Write the attempts of stored runs with their files, values and what was set aside."""
    attempts = [
        {
            "run_id": run_id,
            "number": number,
            "key": f"{run.key}-{number}",
            "fence": 0,
            "host_id": where.host_id,
            "outcome": "ok" if run.state == "done" else "parse_failed",
            "detail": run.reason,
            "flags": run.flags,
            "facts": run.facts,
            "created_at": now,
            "started_at": where.measured_at,
            "ended_at": where.measured_at,
            "parsed_at": now,
        }
        for run, run_id, number in zip(runs, run_ids, numbers, strict=True)
    ]
    attempt_ids = _insert_returning(session, AttemptRow, attempts)
    paired = list(zip(runs, run_ids, attempt_ids, strict=True))
    _insert(session, OutputRow, [{"attempt_id": attempt_id, **run.output} for run, _, attempt_id in paired])
    _insert_values(session, where, [(run, run_id) for run, run_id, _ in paired])
    quarantine.keep(session, {attempt_id: run.set_aside for run, _, attempt_id in paired})


def _insert_values(session: Session, where: Where, runs: Sequence[tuple[DepositedRun, int]]) -> None:
    named = {value.series.name: value.series.identity for run, _ in runs for value in run.values}
    ids = series_ids(session, named)
    rows: list[dict[str, Any]] = [
        {
            "series_id": ids[value.series.name],
            "run_id": run_id,
            "release_id": where.release_id,
            "host_id": where.host_id,
            "environment_id": None,
            "value": value.value,
            "samples": value.samples,
            "spread": value.spread,
            "contended": False,
            "measured_at": where.measured_at,
        }
        for run, run_id in runs
        for value in run.values
    ]
    _insert(session, MeasurementRow, rows)
    series.mark_dirty(session, {row["series_id"] for row in rows})


def series_ids(session: Session, wanted: Mapping[str, SeriesIdentity]) -> dict[str, int]:
    """Return the ids of series by their fingerprint, made on first sight; one that is there keeps what it has."""
    known = _known_series(session, list(wanted))
    missing = {name: identity for name, identity in wanted.items() if name not in known}
    if missing:
        insert_new(session, SeriesRow, [series.new_row(identity) for identity in missing.values()])
        known |= _known_series(session, list(missing))
    return known


def _known_series(session: Session, names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in in_parts(names):
        rows = session.execute(
            select(SeriesRow.fingerprint, SeriesRow.id).where(col(SeriesRow.fingerprint).in_(part))
        ).all()
        found |= dict(rows)
    return found


def _insert(session: Session, table: type[SQLModel], rows: list[dict[str, Any]]) -> None:
    if rows:
        session.connection().execute(insert(table), rows)


def _insert_returning(session: Session, table: type[RunRow | AttemptRow], rows: list[dict[str, Any]]) -> list[int]:
    statement = insert(table).returning(col(table.id), sort_by_parameter_order=True)
    return list(session.connection().execute(statement, rows).scalars().all())
