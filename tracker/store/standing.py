"""What a host may take now: its state, its maintenance, its slots; who said so, when and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import update
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from tracker.errors import UserError
from tracker.store import audit
from tracker.store.tables import HostRow, MaintenanceRow

READY, CORDONED, DRAINING = "ready", "cordoned", "draining"
MOST_SLOTS = 64
LONGEST_REASON = 500
LONGEST_HOLD = timedelta(minutes=30)
"""After a refusal; one that ends later was set by another clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A host as whoever hands out runs sees it."""

    host_id: int
    slug: str
    slots: int
    pools: tuple[str, ...]
    state: str
    why: str
    by: str | None
    held_until: datetime | None
    refusal: str
    window: MaintenanceRow | None
    """The maintenance that is going on."""
    away_since: datetime | None = None
    away_why: str = ""
    """Since when it does not answer, and why."""

    def state_at(self, now: datetime) -> str:
        """Return its state in one word: that it was put into, else why it starts nothing: maintenance, held, away."""
        if self.state != READY:
            return self.state
        if self.window is not None:
            return "maintenance"
        return "held" if self._held(now) else READY if self.away_since is None else "away"

    def _held(self, now: datetime) -> datetime | None:
        """Return until when it is held; None where it is not, or where the clock was set back since."""
        until = self.held_until
        return until if until is not None and now < until <= now + LONGEST_HOLD else None

    def obstacle(self, now: datetime) -> str | None:
        """Return why it starts nothing now; None where it does."""
        if self.state != READY:
            by = f" by {self.by}" if self.by else ""
            return f"host {self.slug} is {self.state}{by}" + (f": {self.why}" if self.why else "")
        if self.window is not None:
            ends = f"{self.window.ends_at:%Y-%m-%d %H:%M} UTC"
            return f"host {self.slug} is in maintenance until {ends}: {self.window.why}"
        if until := self._held(now):
            again = f"{until:%Y-%m-%d %H:%M:%S} UTC"
            return f"host {self.slug} refused a run and is looked at again at {again}: {self.refusal}"
        if self.away_since is not None:
            return f"host {self.slug} is away since {self.away_since:%Y-%m-%d %H:%M:%S} UTC: {self.away_why}"
        return None


def standing_of(session: Session, host_id: int, *, now: datetime, lock: bool = False) -> Standing:
    """Return how a host stands; with `lock`, claims on it and changes of it wait for one another."""
    statement = select(HostRow).where(HostRow.id == host_id).execution_options(populate_existing=True)
    row = session.exec(statement.with_for_update(key_share=True) if lock else statement).one()
    window = session.exec(_going_on(now).where(MaintenanceRow.host_id == host_id).limit(1)).first()
    return make_standing(row, window)


def list_standings(session: Session, *, now: datetime) -> list[tuple[HostRow, Standing]]:
    """Return every host with how it stands, by name."""
    windows: dict[int, MaintenanceRow] = {}
    for window in session.exec(_going_on(now)).all():
        windows.setdefault(window.host_id, window)
    rows = session.exec(select(HostRow).order_by(col(HostRow.slug))).all()
    return [(row, make_standing(row, windows.get(row.id or 0))) for row in rows]


def _going_on(now: datetime) -> SelectOfScalar[MaintenanceRow]:
    """Return the query of the windows that are going on, the one that ends last first."""
    return (
        select(MaintenanceRow)
        .where(
            col(MaintenanceRow.lifted_at).is_(None),
            col(MaintenanceRow.starts_at) <= now,
            col(MaintenanceRow.ends_at) > now,
        )
        .order_by(col(MaintenanceRow.ends_at).desc())
    )


def make_standing(row: HostRow, window: MaintenanceRow | None) -> Standing:
    """Return how the host of a row stands, with the maintenance that is going on."""
    return Standing(
        host_id=row.id or 0,
        slug=row.slug,
        slots=row.slots,
        pools=tuple(json.loads(row.pools)),
        state=row.state,
        why=row.state_why,
        by=row.state_by,
        held_until=row.held_until,
        refusal=row.refusal,
        window=window,
        away_since=row.away_since,
        away_why=row.away_why,
    )


def find_host(session: Session, named: str) -> HostRow:
    """Return the host of this name; UserError where there is none."""
    row = session.exec(select(HostRow).where(HostRow.slug == named)).first()
    if row is None:
        raise UserError(f"no host {named[:100]!r}; `tracker hosts list` shows them, `tracker hosts add` adds one")
    return row


def set_state(session: Session, named: str, state: str, *, why: str, who: str, now: datetime) -> bool:
    """Put a host into a state, with an audit event; return whether that changed anything.

    A host that is made ready is looked at at once, whatever it refused before.
    """
    check_reason(why)
    row = find_host(session, named)
    as_before = row.state == state and (state == READY or row.state_why == why)
    if as_before and row.held_until is None:
        return False
    before = row.state
    row.state, row.state_why, row.state_by, row.state_at = state, why, who, now
    row.held_until = None
    session.add(row)
    audit.record(session, at=now, who=who, event=f"host:{state}", subject=row.slug, before=before, why=why)
    return True


def set_shape(
    session: Session, named: str, *, slots: int | None, pools: Sequence[str] | None, who: str, now: datetime
) -> None:
    """Keep how many benchmarks a host runs at once and which pools it is in; None leaves it as it is."""
    row = find_host(session, named)
    if slots is not None and not 1 <= slots <= MOST_SLOTS:
        raise UserError(f"slots: expected 1 to {MOST_SLOTS}, found {slots}")
    shape = (row.slots if slots is None else slots, row.pools if pools is None else json.dumps(sorted(set(pools))))
    if shape == (row.slots, row.pools):
        return
    row.slots, row.pools = shape
    session.add(row)
    audit.record(
        session, at=now, who=who, event="host:shaped", subject=row.slug, slots=row.slots, pools=json.loads(row.pools)
    )


def plan_maintenance(
    session: Session, named: str, *, starts_at: datetime, ends_at: datetime, why: str, who: str, now: datetime
) -> int:
    """Return the number of a new maintenance window; UserError where it is over, ends before it starts, or stands."""
    check_reason(why)
    if not why.strip():
        raise UserError("why: expected a reason for the maintenance, found none")
    if ends_at <= starts_at:
        raise UserError(f"to: expected a time after {starts_at.isoformat()}, found {ends_at.isoformat()}")
    if ends_at <= now:
        raise UserError(f"to: expected a time to come, found {ends_at.isoformat()}, which is over")
    row = find_host(session, named)
    same = select(MaintenanceRow.id).where(
        MaintenanceRow.host_id == row.id,
        MaintenanceRow.starts_at == starts_at,
        MaintenanceRow.ends_at == ends_at,
        col(MaintenanceRow.lifted_at).is_(None),
    )
    if (number := session.exec(same).first()) is not None:
        raise UserError(f"host {named} has this window already, as number {number}; lift that first to change it")
    window = MaintenanceRow(host_id=row.id or 0, starts_at=starts_at, ends_at=ends_at, why=why, who=who, at=now)
    session.add(window)
    session.flush()
    times = {"from": starts_at.isoformat(), "to": ends_at.isoformat()}
    audit.record(session, at=now, who=who, event="host:maintenance", subject=named, number=window.id, why=why, **times)
    return window.id or 0


def lift_maintenance(session: Session, named: str, number: int, *, who: str, now: datetime) -> None:
    """Take a maintenance window back; UserError where the host has none of this number that stands."""
    row = find_host(session, named)
    lifted: int = session.execute(
        update(MaintenanceRow)
        .where(
            col(MaintenanceRow.id) == number,
            col(MaintenanceRow.host_id) == row.id,
            col(MaintenanceRow.lifted_at).is_(None),
        )
        .values(lifted_by=who, lifted_at=now)
    ).rowcount
    if not lifted:
        raise UserError(f"host {named} has no maintenance {number} to lift; `tracker hosts show {named}` lists them")
    audit.record(session, at=now, who=who, event="host:maintenance_lifted", subject=named, number=number)


def save_health(session: Session, host_id: int, health: str, *, healthy: bool, now: datetime) -> None:
    """Keep what a look at a host found, as JSON; a healthy one is held no longer."""
    row = session.exec(select(HostRow).where(HostRow.id == host_id)).one()
    row.health, row.health_at = health, now
    row.held_until = None if healthy else row.held_until
    session.add(row)


def hold_host(session: Session, host_id: int, *, refusal: str, until: datetime | None, now: datetime) -> None:
    """Keep why a host refused a run; it starts nothing until then."""
    row = session.exec(select(HostRow).where(HostRow.id == host_id)).one()
    row.refusal, row.refused_at, row.held_until = refusal, now, until
    session.add(row)


def check_reason(why: str) -> None:
    """Raise UserError for a reason that is too long to be read."""
    if len(why) > LONGEST_REASON:
        raise UserError(f"why: expected at most {LONGEST_REASON} characters, found {len(why)}")
