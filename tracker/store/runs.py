"""Runs and attempts: planned once, found, read once; who works on them is in `claims`."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ScalarSelect, func, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from jobs.measurements import Label
from tracker.clock import new_public_id
from tracker.errors import UserError
from tracker.store.engine import insert_new
from tracker.store.tables import (
    AttemptRow,
    BuildRow,
    ComponentRow,
    ConfigRow,
    HardwareClassRow,
    MeasurementRow,
    OutputRow,
    ReleaseRow,
    RunRow,
    SeriesRow,
    SuiteRevisionRow,
)

OPEN_STATES = ("queued", "running", "measured")
FINAL_STATES = ("done", "failed", "cancelled")
HANDED_IN = "file-"
"""How the key of a run begins whose result was measured elsewhere and handed in."""


def is_handed_in(key: str) -> bool:
    """Return whether the run of this key was measured elsewhere."""
    return key.startswith(HANDED_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run to be queued; the key makes it once, however often it is planned."""

    key: str
    build_id: int
    config_id: int
    suite_revision_id: int
    hardware_class_id: int
    repeat: int
    priority: int
    requested_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run measures, for whoever reads its output."""

    run_id: int
    component_id: int
    component: str
    release_id: int
    variant: str
    labels: dict[str, Label]
    hardware_class_id: int
    hardware_fingerprint: str
    suite_file: str
    suite_text: str


def queue_runs(session: Session, runs: Sequence[PlannedRun], *, now: datetime) -> int:
    """Queue the runs that are not there yet; return how many that were."""
    rows: list[dict[str, Any]] = [
        {
            "public_id": new_public_id(),
            "key": run.key,
            "build_id": run.build_id,
            "config_id": run.config_id,
            "suite_revision_id": run.suite_revision_id,
            "hardware_class_id": run.hardware_class_id,
            "repeat": run.repeat,
            "priority": run.priority,
            "requested_by": run.requested_by,
            "state": "queued",
            "reason": "",
            "fence": 0,
            "failures": 0,
            "created_at": now,
        }
        for run in runs
    ]
    return insert_new(session, RunRow, rows)


def public_ids(session: Session, keys: Sequence[str]) -> list[str]:
    """Return the public ids of the runs with these keys, in the order they were queued."""
    statement = select(RunRow.public_id).where(col(RunRow.key).in_(keys)).order_by(col(RunRow.id))
    return list(session.exec(statement).all())


def last_repeat(session: Session, *, build_id: int, config_id: int, hardware_class_id: int) -> int:
    """Return the highest repeat of a config on a build that there is on a hardware class; 0 where there is none."""
    same = (RunRow.build_id == build_id, RunRow.config_id == config_id, RunRow.hardware_class_id == hardware_class_id)
    return session.execute(select(func.max(RunRow.repeat)).where(*same)).scalar() or 0


def planned_keys(session: Session) -> set[str]:
    """Return the keys of all planned runs, so that planning again costs one query."""
    return set(session.exec(select(RunRow.key).where(col(RunRow.requested_by).is_(None))).all())


def request_cancel(session: Session, run: RunRow, *, who: str, now: datetime) -> None:
    """Cancel a queued run at once; ask the owner of a running one to; UserError when it has ended."""
    if run.state in FINAL_STATES or run.state == "measured":
        raise UserError(f"run {run.public_id} has ended ({run.state}); only a queued or running one can be cancelled")
    run.cancel_requested_by = who
    if run.state == "queued":
        run.state, run.reason, run.finished_at = "cancelled", f"cancelled by {who}", now
    session.add(run)


def explain_queued(session: Session, *, suite: str, fit: Collection[int], unfit: Collection[int], why: str) -> None:
    """Keep why a suite's queued runs for `unfit` hardware classes wait; take it back for those that are `fit` again."""
    revisions = select(SuiteRevisionRow.id).where(SuiteRevisionRow.name == suite)
    queued = (col(RunRow.state) == "queued", col(RunRow.suite_revision_id).in_(revisions))
    for classes, before, after in ((unfit, "", why), (fit, why, "")):
        if classes:
            changed = (*queued, col(RunRow.hardware_class_id).in_(classes), col(RunRow.reason) == before)
            session.execute(update(RunRow).where(*changed).values(reason=after))


def drop_queued(session: Session, hardware_class_id: int, *, why: str, now: datetime) -> list[int]:
    """Cancel what is queued for a hardware class that nothing has any more; return the runs' ids."""
    queued = select(RunRow).where(RunRow.hardware_class_id == hardware_class_id, RunRow.state == "queued")
    dropped = session.exec(queued).all()
    for run in dropped:
        run.state, run.reason, run.finished_at = "cancelled", why, now
        session.add(run)
    session.flush()
    return [run.id or 0 for run in dropped]


def find_run(session: Session, named: str) -> RunRow:
    """Return the run with this id or beginning of one; UserError when none or several fit."""
    text = named.strip().lower()
    if not text or len(text) > 36:
        raise UserError(f"no run {named!r}; `tracker runs list` shows them")
    found = session.exec(select(RunRow).where(col(RunRow.public_id).startswith(text, autoescape=True)).limit(2)).all()
    if len(found) == 1:
        return found[0]
    if text.isdigit() and (row := session.get(RunRow, int(text))) is not None:
        return row
    problem = "several runs begin with" if found else "no run"
    raise UserError(f"{problem} {named!r}; `tracker runs list` shows them")


def unread_attempts(session: Session) -> list[tuple[RunRow, AttemptRow]]:
    """Return the attempts that ended well and whose output has not been read."""
    rows = session.execute(
        select(RunRow, AttemptRow)
        .join(AttemptRow, col(AttemptRow.run_id) == RunRow.id)
        .where(RunRow.state == "measured", AttemptRow.outcome == "ok", col(AttemptRow.parsed_at).is_(None))
        .order_by(col(AttemptRow.id))
    ).all()
    return [(run, attempt) for run, attempt in rows]


def runs_behind(session: Session, fingerprint: str, release: str) -> list[str]:
    """Return the public ids of the planned runs that gave a series its values at a release."""
    return list(
        session.execute(
            select(RunRow.public_id)
            .join(MeasurementRow, col(MeasurementRow.run_id) == RunRow.id)
            .join(SeriesRow, col(SeriesRow.id) == MeasurementRow.series_id)
            .join(ReleaseRow, col(ReleaseRow.id) == MeasurementRow.release_id)
            .where(
                SeriesRow.fingerprint == fingerprint,
                (ReleaseRow.identity == release) | (ReleaseRow.display == release),
                col(RunRow.requested_by).is_(None),
            )
            .order_by(col(RunRow.repeat), col(RunRow.id))
        ).scalars()
    )


def facts_of(session: Session, run_id: int) -> RunFacts:
    """Return what a run measures."""
    run, suite, config, build, release, component, hardware = session.execute(
        select(RunRow, SuiteRevisionRow, ConfigRow, BuildRow, ReleaseRow, ComponentRow, HardwareClassRow)
        .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
        .join(ConfigRow, col(ConfigRow.id) == RunRow.config_id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .join(ReleaseRow, col(ReleaseRow.id) == BuildRow.release_id)
        .join(ComponentRow, col(ComponentRow.id) == ReleaseRow.component_id)
        .join(HardwareClassRow, col(HardwareClassRow.id) == RunRow.hardware_class_id)
        .where(RunRow.id == run_id)
    ).one()
    return RunFacts(
        run_id=run.id,
        component_id=component.id,
        component=component.slug,
        release_id=release.id,
        variant=build.variant,
        labels=json.loads(config.labels),
        hardware_class_id=hardware.id,
        hardware_fingerprint=hardware.fingerprint,
        suite_file=suite.file,
        suite_text=suite.text,
    )


def good_attempts(session: Session, suite: str) -> list[str]:
    """Return the keys of the attempts that gave a suite's planned runs their values, in the order of the runs."""
    return list(
        session.execute(
            select(AttemptRow.key)
            .join(RunRow, col(RunRow.id) == AttemptRow.run_id)
            .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
            .where(
                SuiteRevisionRow.name == suite,
                RunRow.state == "done",
                AttemptRow.outcome == "ok",
                col(RunRow.requested_by).is_(None),
            )
            .order_by(col(RunRow.id))
        ).scalars()
    )


def outputs_of(session: Session, attempt_id: int) -> list[OutputRow]:
    """Return what an attempt left."""
    statement = select(OutputRow).where(OutputRow.attempt_id == attempt_id).order_by(col(OutputRow.id))
    return list(session.exec(statement).all())


def finish_reading(
    session: Session,
    run_id: int,
    attempt_id: int,
    *,
    state: str,
    reason: str,
    flags: str,
    facts: str,
    outcome: str,
    now: datetime,
    not_before: datetime | None = None,
) -> bool:
    """Send a measured run on its way (final, or queued again); False when another process has done so."""
    finished_at = now if state in FINAL_STATES else None
    changed = session.execute(
        update(RunRow)
        .where(col(RunRow.id) == run_id, col(RunRow.state) == "measured")
        .values(state=state, reason=reason, finished_at=finished_at, not_before=not_before)
    ).rowcount
    if changed:
        values: dict[str, Any] = {"parsed_at": now, "flags": flags, "facts": facts, "outcome": outcome}
        session.execute(update(AttemptRow).where(col(AttemptRow.id) == attempt_id).values(**values))
    return bool(changed)


def newest_attempt() -> ScalarSelect[Any]:
    """Return, for a query over runs, the number of each one's newest attempt."""
    other = aliased(AttemptRow)
    return select(func.max(other.number)).where(other.run_id == RunRow.id).correlate(RunRow).scalar_subquery()
