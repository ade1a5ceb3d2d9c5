"""Hosts: what each may take, how it was at the last look, what runs there; and why a queued run waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from tracker.store.audit import latest
from tracker.store.standing import DRAINING, Standing, list_standings
from tracker.store.tables import HostRow
from tracker.store.views.plain import read_json, table
from tracker.store.views.runs import RunItem, list_runs

RUN, ATTEMPT, HARDWARE = table("run"), table("attempt"), table("hardware_class")
HOST, ENVIRONMENT, MAINTENANCE = table("host"), table("environment"), table("maintenance")
EVENTS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HostItem:
    """One host as lists show it."""

    name: str
    state: str
    """ready, cordoned, draining, drained (nothing runs there any more), maintenance, held (after a refusal), away."""
    obstacle: str | None
    """Why it starts nothing now."""
    why: str
    by: str | None
    since: datetime | None
    """Who put it into its state, when and why."""
    hardware: str
    labels: Mapping[str, Any]
    slots: int
    running: int
    waiting: int
    """Queued runs for hosts of its hardware class."""
    pools: tuple[str, ...]
    health: str | None
    """ok, unknown, refused at the last look; None where nobody has looked."""
    health_at: datetime | None
    refusal: str
    """Why it last refused a run."""
    refused_at: datetime | None
    held_until: datetime | None
    last_run_at: datetime | None
    engine: str
    """Where its container engine listens; empty of a machine that no service reaches from another one."""
    reach: str | None
    """answers, away, unknown (not asked yet); None of a machine that no service reaches from another one."""
    reach_since: datetime | None
    """When it last answered; of one that is away, since when."""
    away_why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A maintenance that stands: going on or to come."""

    number: int
    starts_at: datetime
    ends_at: datetime
    why: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """One thing that the last look saw."""

    name: str
    state: str
    found: str
    wanted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvent:
    """Something that was done to a host, or that it did."""

    at: datetime
    who: str
    event: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDetail:
    """A host with everything its page shows."""

    host: HostItem
    driver: str | None
    findings: tuple[HostFinding, ...]
    windows: tuple[Window, ...]
    running: tuple[RunItem, ...]
    events: tuple[HostEvent, ...]


def list_hosts(session: Session, *, now: datetime) -> tuple[HostItem, ...]:
    """Return all hosts, by name."""
    running = _count(session, RUN.c.host_id, "running")
    waiting = _count(session, RUN.c.hardware_class_id, "queued")
    hardware = {row.id: row for row in session.execute(select(HARDWARE))}
    ended = select(ATTEMPT.c.host_id, func.max(ATTEMPT.c.started_at)).group_by(ATTEMPT.c.host_id)
    last = dict(session.execute(ended).all())
    return tuple(
        _make_host(
            row,
            standing,
            hardware[row.hardware_class_id],
            running=running.get(row.id or 0, 0),
            waiting=waiting.get(row.hardware_class_id, 0),
            last_run_at=last.get(row.id or 0),
            now=now,
        )
        for row, standing in list_standings(session, now=now)
    )


def show_host(session: Session, name: str, *, now: datetime) -> HostDetail | None:
    """Return a host with what it was like, what runs and what was done; None where there is none of this name."""
    item = next((one for one in list_hosts(session, now=now) if one.name == name), None)
    if item is None:
        return None
    row = session.execute(select(HOST.c.id, HOST.c.health).where(HOST.c.slug == name)).one()
    health = read_json(row.health)
    windows = session.execute(
        select(MAINTENANCE)
        .where(MAINTENANCE.c.host_id == row.id, MAINTENANCE.c.lifted_at.is_(None), MAINTENANCE.c.ends_at > now)
        .order_by(MAINTENANCE.c.starts_at)
    )
    return HostDetail(
        host=item,
        driver=health.get("driver"),
        findings=tuple(_make_finding(one) for one in health.get("findings", ())),
        windows=tuple(
            Window(number=one.id, starts_at=one.starts_at, ends_at=one.ends_at, why=one.why, who=one.who)
            for one in windows
        ),
        running=list_runs(session, state="running", host=name, now=now).items,
        events=tuple(
            HostEvent(at=one.at, who=one.who, event=one.event, detail=read_json(one.detail))
            for one in latest(session, EVENTS_SHOWN, name)
        ),
    )


def why_waiting(session: Session, run: RunItem, *, now: datetime) -> str | None:
    """Return why no host of its hardware starts a queued run now; None where one may, or the run is not queued.

    Hosts that this service never looked at, as those of handed-in results, start nothing anyway.
    """
    if run.state != "queued":
        return None
    hosts = [one for one in list_hosts(session, now=now) if one.hardware == run.hardware]
    if not hosts:
        return f"no host has {run.hardware} now; it waits until one has, or is cancelled"
    if any(one.obstacle is None and one.health_at is not None for one in hosts):
        return None
    return "; ".join(one.obstacle for one in hosts if one.obstacle) or None


def captured_there(session: Session, name: str) -> tuple[datetime | None, Mapping[str, Any]] | None:
    """Return when an attempt last captured the environment of a host, and what; None where none has."""
    row = session.execute(
        select(ATTEMPT.c.started_at, ENVIRONMENT.c.facts)
        .join(ENVIRONMENT, ENVIRONMENT.c.id == ATTEMPT.c.environment_id)
        .join(HOST, HOST.c.id == ATTEMPT.c.host_id)
        .where(HOST.c.slug == name)
        .order_by(ATTEMPT.c.id.desc())
        .limit(1)
    ).first()
    return (row.started_at, read_json(row.facts)) if row else None


def _count(session: Session, column: Any, state: str) -> dict[int, int]:
    rows = session.execute(select(column, func.count()).where(RUN.c.state == state).group_by(column)).all()
    return dict(rows)


def _make_host(
    row: HostRow,
    standing: Standing,
    hardware: Any,
    *,
    running: int,
    waiting: int,
    last_run_at: datetime | None,
    now: datetime,
) -> HostItem:
    state = standing.state_at(now)
    return HostItem(
        name=row.slug,
        state="drained" if state == DRAINING and not running else state,
        obstacle=standing.obstacle(now),
        why=row.state_why,
        by=row.state_by,
        since=row.state_at,
        hardware=hardware.slug,
        labels=read_json(hardware.labels),
        slots=row.slots,
        running=running,
        waiting=waiting,
        pools=standing.pools,
        health=read_json(row.health).get("state"),
        health_at=row.health_at,
        refusal=row.refusal,
        refused_at=row.refused_at,
        held_until=row.held_until,
        last_run_at=last_run_at,
        engine=row.engine,
        reach=_reach(row),
        reach_since=row.away_since or row.answered_at,
        away_why=row.away_why,
    )


def _reach(row: HostRow) -> str | None:
    if row.away_since is not None:
        return "away"
    if not row.engine:
        return None
    return "answers" if row.answered_at else "unknown"


def _make_finding(one: Mapping[str, Any]) -> HostFinding:
    return HostFinding(name=one["name"], state=one["state"], found=one["found"], wanted=one["wanted"])
