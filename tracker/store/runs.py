"""Runs and attempts: planned once, claimed by one owner at a time, ended once.

A claim is a lease with a fence: every claim raises the run's `fence`, and every later write names the fence it was
claimed under, so an owner that lost its lease can change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, func, update
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
    HostRow,
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
class Claim:
    """A run that this owner may work on while its lease lasts, with all that starting it needs."""

    run_id: int
    public_id: str
    fence: int
    lease_until: datetime | None
    attempt_id: int
    attempt_key: str
    attempt_number: int
    cancel_requested_by: str | None
    suite_name: str
    suite_file: str
    suite_text: str
    labels: dict[str, Label]
    component: str
    release: str
    version: str
    build_kind: str
    build_location: str
    build_digest: str
    repeat: int
    failures: int


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


def planned_keys(session: Session) -> set[str]:
    """Return the keys of all planned runs, so that planning again costs one query."""
    return set(session.exec(select(RunRow.key).where(col(RunRow.requested_by).is_(None))).all())


def claim_next(
    session: Session, *, owner: str, host_id: int, slots: int, hardware_class_id: int, lease: timedelta, now: datetime
) -> Claim | None:
    """Give the most urgent queued run to `owner` and make its next attempt; None without a run or a free slot.

    Order: priority, then repeat (so that the repeats of several releases are interleaved), then age.
    """
    slot = _free_slot(session, host_id, slots)
    if slot is None:
        return None
    candidate = (
        select(RunRow.id)
        .where(*_may_start(hardware_class_id, now))
        .order_by(col(RunRow.priority).desc(), col(RunRow.repeat), col(RunRow.id))
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    claimed = session.execute(
        update(RunRow)
        .where(col(RunRow.id) == candidate)
        .values(
            state="running",
            host_id=host_id,
            slot=slot,
            lease_owner=owner,
            lease_until=now + lease,
            fence=col(RunRow.fence) + 1,
        )
        .returning(col(RunRow.id), col(RunRow.fence))
    ).first()
    if claimed is None:
        return None
    run_id, fence = claimed
    number = (session.execute(select(func.max(AttemptRow.number)).where(AttemptRow.run_id == run_id)).scalar() or 0) + 1
    key = f"run-{run_id}-{number}"
    session.add(AttemptRow(run_id=run_id, number=number, key=key, fence=fence, host_id=host_id, created_at=now))
    session.flush()
    return _claims(session, RunRow.id == run_id)[0]


def something_waits(session: Session, *, hardware_class_id: int, now: datetime) -> bool:
    """Return whether a queued run may start now; cheaper than a claim."""
    return session.execute(select(RunRow.id).where(*_may_start(hardware_class_id, now)).limit(1)).first() is not None


def _may_start(hardware_class_id: int, now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a run that may start now on this hardware class."""
    waited = col(RunRow.not_before).is_(None) | (col(RunRow.not_before) <= now)
    return col(RunRow.state) == "queued", col(RunRow.hardware_class_id) == hardware_class_id, waited


def _free_slot(session: Session, host_id: int, slots: int) -> int | None:
    """Return a slot of the host that nothing runs in; claims on one host wait for one another, so it stays free."""
    session.execute(select(HostRow.id).where(HostRow.id == host_id).with_for_update(key_share=True))
    statement = select(RunRow.slot).where(RunRow.host_id == host_id, RunRow.state == "running")
    taken = set(session.execute(statement).scalars())
    return next((slot for slot in range(slots) if slot not in taken), None)


def owned_claims(session: Session, *, owner: str) -> list[Claim]:
    """Return the runs that `owner` holds, each with its newest attempt."""
    return _claims(session, (RunRow.lease_owner == owner) & (RunRow.state == "running"))


def take_over(session: Session, *, owner: str, host_id: int, lease: timedelta, now: datetime) -> int:
    """Take the host's running runs whose owner is this one's earlier life or whose lease has run out."""
    taken: int = session.execute(
        update(RunRow)
        .where(
            col(RunRow.state) == "running",
            col(RunRow.host_id) == host_id,
            (col(RunRow.lease_owner) == owner) | (col(RunRow.lease_until) < now),
        )
        .values(lease_owner=owner, lease_until=now + lease, fence=col(RunRow.fence) + 1)
    ).rowcount
    return taken


def renew(session: Session, claims: Sequence[Claim], *, lease: timedelta, now: datetime) -> None:
    """Extend the leases that are still held."""
    for claim in claims:
        session.execute(
            update(RunRow)
            .where(col(RunRow.id) == claim.run_id, col(RunRow.fence) == claim.fence)
            .values(lease_until=now + lease)
        )


def end_attempt(
    session: Session,
    claim: Claim,
    *,
    attempt: dict[str, Any],
    outputs: Sequence[dict[str, Any]],
    state: str,
    reason: str,
    now: datetime,
    failures: int = 0,
    not_before: datetime | None = None,
) -> bool:
    """Record how an attempt ended and where its run goes next; False when the lease was lost meanwhile."""
    values: dict[str, Any] = {"state": state, "reason": reason, "not_before": not_before, "lease_until": None}
    values |= {"failures": claim.failures + failures}
    values |= {"lease_owner": None, "slot": None, "finished_at": now if state in FINAL_STATES else None}
    changed = session.execute(
        update(RunRow)
        .where(col(RunRow.id) == claim.run_id, col(RunRow.fence) == claim.fence, col(RunRow.state) == "running")
        .values(**values)
    ).rowcount
    if not changed:
        return False
    session.execute(update(AttemptRow).where(col(AttemptRow.id) == claim.attempt_id).values(**attempt, ended_at=now))
    insert_new(session, OutputRow, [{"attempt_id": claim.attempt_id, **output} for output in outputs])
    return True


def request_cancel(session: Session, run: RunRow, *, who: str, now: datetime) -> None:
    """Cancel a queued run at once; ask the owner of a running one to; UserError when it has ended."""
    if run.state in FINAL_STATES or run.state == "measured":
        raise UserError(f"run {run.public_id} has ended ({run.state}); only a queued or running one can be cancelled")
    run.cancel_requested_by = who
    if run.state == "queued":
        run.state, run.reason, run.finished_at = "cancelled", f"cancelled by {who}", now
    session.add(run)


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


def unsettled(session: Session) -> set[tuple[str, int]]:
    """Return (suite, release id) pairs whose planned runs are not all final: too early to judge."""
    rows = session.execute(
        select(SuiteRevisionRow.name, BuildRow.release_id)
        .join(RunRow, col(RunRow.suite_revision_id) == SuiteRevisionRow.id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .where(col(RunRow.state).in_(OPEN_STATES), col(RunRow.requested_by).is_(None))
        .distinct()
    ).all()
    return {(name, release) for name, release in rows}


def is_settled(session: Session, run_id: int) -> tuple[str, int, bool]:
    """Return the run's suite and release, and whether all their planned runs are final."""
    suite, release = session.execute(
        select(SuiteRevisionRow.name, BuildRow.release_id)
        .join(RunRow, col(RunRow.suite_revision_id) == SuiteRevisionRow.id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .where(RunRow.id == run_id)
    ).one()
    still_open = session.execute(
        select(RunRow.id)
        .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .where(
            SuiteRevisionRow.name == suite,
            BuildRow.release_id == release,
            col(RunRow.state).in_(OPEN_STATES),
            col(RunRow.requested_by).is_(None),
        )
        .limit(1)
    ).first()
    return suite, release, still_open is None


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


def _claims(session: Session, condition: Any) -> list[Claim]:
    rows = session.execute(
        select(RunRow, AttemptRow, SuiteRevisionRow, ConfigRow, BuildRow, ReleaseRow, ComponentRow)
        .join(AttemptRow, col(AttemptRow.run_id) == RunRow.id)
        .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
        .join(ConfigRow, col(ConfigRow.id) == RunRow.config_id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .join(ReleaseRow, col(ReleaseRow.id) == BuildRow.release_id)
        .join(ComponentRow, col(ComponentRow.id) == ReleaseRow.component_id)
        .where(condition, col(AttemptRow.number) == newest_attempt())
        .order_by(col(RunRow.id))
        .execution_options(populate_existing=True)
    ).all()
    return [
        Claim(
            run_id=run.id,
            public_id=run.public_id,
            fence=run.fence,
            lease_until=run.lease_until,
            attempt_id=attempt.id,
            attempt_key=attempt.key,
            attempt_number=attempt.number,
            cancel_requested_by=run.cancel_requested_by,
            suite_name=suite.name,
            suite_file=suite.file,
            suite_text=suite.text,
            labels=json.loads(config.labels),
            component=component.slug,
            release=release.identity,
            version=release.version or build.tag,
            build_kind=build.kind,
            build_location=build.location,
            build_digest=build.digest,
            repeat=run.repeat,
            failures=run.failures,
        )
        for run, attempt, suite, config, build, release, component in rows
    ]
