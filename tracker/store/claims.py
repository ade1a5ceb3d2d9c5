"""Who works on a run: claimed by one owner at a time, ended once.

A claim is a lease with a fence: every claim raises the run's `fence`, and every later write names the fence it was
claimed under, so an owner that lost its lease can change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, update
from sqlmodel import Session, col, select

from jobs.measurements import Label
from tracker.store.engine import insert_new
from tracker.store.runs import FINAL_STATES, newest_attempt
from tracker.store.standing import standing_of
from tracker.store.tables import (
    AttemptRow,
    BuildRow,
    ComponentRow,
    ConfigRow,
    OutputRow,
    ReleaseRow,
    RunRow,
    SuiteRevisionRow,
)

LONGEST_WAIT = timedelta(minutes=30)
"""Between two tries of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A run that this owner may work on while its lease lasts, with all that starting it needs."""

    run_id: int
    public_id: str
    host_id: int
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
    unseen_since: datetime | None = None
    unseen_why: str = ""
    unseen_tells: int = 0
    waits_for: str = ""
    """What the run was last said to wait for while it is being prepared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The queued run that a host would start next."""

    run_id: int
    public_id: str
    suite_file: str
    suite_text: str
    refusals: int


def next_waiting(
    session: Session,
    *,
    host_id: int,
    hardware_class_id: int,
    now: datetime,
    suits: Callable[[str, str], bool] | None = None,
) -> Waiting | None:
    """Return the run that a claim would give now; None without one, or where the host takes none. Changes nothing.

    `suits` tells of a suite's text and file whether the host may measure it: not all of a hardware class do all.
    """
    if _free_slot(session, host_id, now, lock=False) is None:
        return None
    wanted = _may_start(hardware_class_id, now)
    if suits is not None:
        wanted += (col(RunRow.suite_revision_id).in_(_suiting(session, wanted, suits)),)
    row = session.execute(
        select(RunRow.id, RunRow.public_id, SuiteRevisionRow.file, SuiteRevisionRow.text, RunRow.refusals)
        .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
        .where(*wanted)
        .order_by(*_urgency())
        .limit(1)
    ).first()
    if row is None:
        return None
    run_id, public_id, file, text, refusals = row
    return Waiting(run_id=run_id, public_id=public_id, suite_file=file, suite_text=text, refusals=refusals)


def _suiting(session: Session, wanted: Sequence[ColumnElement[bool]], suits: Callable[[str, str], bool]) -> list[int]:
    """Return the suite revisions, of the runs that are wanted, that suit."""
    queued = select(RunRow.suite_revision_id).where(*wanted).distinct()
    rows = session.execute(
        select(SuiteRevisionRow.id, SuiteRevisionRow.text, SuiteRevisionRow.file).where(
            col(SuiteRevisionRow.id).in_(queued)
        )
    ).all()
    return [revision for revision, text, file in rows if suits(text, file)]


def claim_next(
    session: Session,
    *,
    owner: str,
    host_id: int,
    hardware_class_id: int,
    lease: timedelta,
    now: datetime,
    run_id: int | None = None,
) -> Claim | None:
    """Give the most urgent queued run to `owner` and make its next attempt; with `run_id`, this one or none.

    None without a run, without a free slot, and while the host is cordoned, draining, in maintenance or held.
    Order: priority, then repeat (so that the repeats of several releases are interleaved), then age.
    """
    slot = _free_slot(session, host_id, now, lock=True)
    if slot is None:
        return None
    candidate = (
        select(RunRow.id)
        .where(*_may_start(hardware_class_id, now), *([] if run_id is None else [col(RunRow.id) == run_id]))
        .order_by(*_urgency())
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
            refusals=0,
            reason="",
        )
        .returning(col(RunRow.id), col(RunRow.fence))
    ).first()
    if claimed is None:
        return None
    run_id, fence = claimed
    _new_attempt(session, run_id, fence=fence, host_id=host_id, now=now)
    session.flush()
    return _claims(session, RunRow.id == run_id)[0]


def _new_attempt(session: Session, run_id: int, *, fence: int, host_id: int, now: datetime) -> AttemptRow:
    number = (session.execute(select(func.max(AttemptRow.number)).where(AttemptRow.run_id == run_id)).scalar() or 0) + 1
    key = f"run-{run_id}-{number}"
    attempt = AttemptRow(run_id=run_id, number=number, key=key, fence=fence, host_id=host_id, created_at=now)
    session.add(attempt)
    return attempt


def refuse(
    session: Session, waiting: Waiting, *, host_id: int, why: str, give_up: bool, counted: bool, now: datetime
) -> bool:
    """Keep why a host did not start a queued run; with `give_up` it fails, as an attempt of the infrastructure's.

    `counted` adds to the refusals in a row. Return False where the run was cancelled or claimed meanwhile.
    """
    values: dict[str, Any] = {"reason": why, "refusals": waiting.refusals + counted}
    if give_up:
        values |= {"state": "failed", "finished_at": now, "host_id": host_id}
    changed = session.execute(
        update(RunRow)
        .where(
            col(RunRow.id) == waiting.run_id,
            col(RunRow.state) == "queued",
            col(RunRow.refusals) == waiting.refusals,
        )
        .values(**values)
    ).rowcount
    if changed and give_up:
        attempt = _new_attempt(session, waiting.run_id, fence=0, host_id=host_id, now=now)
        attempt.outcome, attempt.detail, attempt.ended_at = "infra_failed", why, now
        session.flush()
    return bool(changed)


def _may_start(hardware_class_id: int, now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a run that may start now on this hardware class."""
    due = (col(RunRow.not_before) <= now) | (col(RunRow.not_before) > now + LONGEST_WAIT)  # or the clock was set back
    waited = col(RunRow.not_before).is_(None) | due
    return col(RunRow.state) == "queued", col(RunRow.hardware_class_id) == hardware_class_id, waited


def _urgency() -> tuple[Any, ...]:
    """Return the order in which queued runs start."""
    return col(RunRow.priority).desc(), col(RunRow.repeat), col(RunRow.id)


def _free_slot(session: Session, host_id: int, now: datetime, *, lock: bool) -> int | None:
    """Return a slot that nothing runs in, of a host that starts something now; locked, claims on it wait in turn."""
    host = standing_of(session, host_id, now=now, lock=lock)
    if host.obstacle(now) is not None:
        return None
    statement = select(RunRow.slot).where(RunRow.host_id == host_id, RunRow.state == "running")
    taken = set(session.execute(statement).scalars())
    return next((slot for slot in range(host.slots) if slot not in taken), None)


def owned_claims(session: Session, *, owner: str) -> list[Claim]:
    """Return the runs that `owner` holds, each with its newest attempt."""
    return _claims(session, (RunRow.lease_owner == owner) & (RunRow.state == "running"))


def take_over(session: Session, *, owner: str, host_ids: Collection[int], lease: timedelta, now: datetime) -> int:
    """Take the running runs of this owner's earlier life, and those on these hosts whose lease has run out."""
    taken: int = session.execute(
        update(RunRow)
        .where(
            col(RunRow.state) == "running",
            (col(RunRow.lease_owner) == owner) | (col(RunRow.host_id).in_(host_ids) & (col(RunRow.lease_until) < now)),
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
    values |= {"failures": claim.failures + failures, "unseen_since": None, "unseen_why": "", "unseen_tells": 0}
    values |= {"lease_owner": None, "slot": None, "finished_at": now if state in FINAL_STATES else None}
    changed = session.execute(
        update(RunRow)
        .where(col(RunRow.id) == claim.run_id, col(RunRow.fence) == claim.fence, col(RunRow.state) == "running")
        .values(**values)
    ).rowcount
    if not changed:
        return False
    ended = {"ended_at": now, **attempt}
    session.execute(update(AttemptRow).where(col(AttemptRow.id) == claim.attempt_id).values(**ended))
    insert_new(session, OutputRow, [{"attempt_id": claim.attempt_id, **output} for output in outputs])
    return True


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
            host_id=run.host_id,
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
            unseen_since=run.unseen_since,
            unseen_why=run.unseen_why,
            unseen_tells=run.unseen_tells,
            waits_for=run.reason,
        )
        for run, attempt, suite, config, build, release, component in rows
    ]
