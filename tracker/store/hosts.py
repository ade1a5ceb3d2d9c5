"""Hosts, their hardware classes, and the environments that attempts ran in."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from jobs.fingerprint import canonical_labels, fingerprint
from tracker.store import audit
from tracker.store.engine import insert_new
from tracker.store.tables import EnvironmentRow, HardwareClassRow, HostRow, RunRow

UNKNOWN = "unknown"
"""The label `hardware` of the class of a host of which nobody has said or seen what it has."""
NOT_IN_SETTINGS = "it is no longer in the settings of the service that used it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedHost:
    """A host whose engine a service reaches from another machine."""

    host_id: int
    name: str
    hardware_class_id: int
    hardware_fingerprint: str
    labels: Mapping[str, Any]

    @property
    def is_known(self) -> bool:
        """Whether it was said or seen what hardware it has."""
        return self.labels.get("hardware") != UNKNOWN


def save_hardware_class(session: Session, *, fingerprint: str, slug: str, labels: str) -> int:
    """Return the id of a hardware class, made on first sight."""
    insert_new(session, HardwareClassRow, [{"fingerprint": fingerprint, "slug": slug, "labels": labels}])
    return session.exec(select(HardwareClassRow.id).where(HardwareClassRow.fingerprint == fingerprint)).one() or 0


def save_host(session: Session, *, slug: str, hardware_class_id: int, now: datetime) -> int:
    """Return the id of a host; its hardware class and when it was seen are brought up to date."""
    row = session.exec(select(HostRow).where(HostRow.slug == slug)).first()
    if row is None:
        row = HostRow(slug=slug, hardware_class_id=hardware_class_id, seen_at=now)
    row.hardware_class_id, row.seen_at = hardware_class_id, now
    session.add(row)
    session.flush()
    return row.id or 0


def save_environment(session: Session, *, fingerprint: str, facts: str) -> int:
    """Return the id of an environment, kept on first sight."""
    insert_new(session, EnvironmentRow, [{"fingerprint": fingerprint, "facts": facts}])
    return session.exec(select(EnvironmentRow.id).where(EnvironmentRow.fingerprint == fingerprint)).one() or 0


def environment_facts(session: Session, environment_id: int) -> str | None:
    """Return an environment's facts as JSON; None where there is no such environment."""
    row = session.get(EnvironmentRow, environment_id)
    return row.facts if row else None


def first_seen_host(session: Session, *, slug: str, hardware_class_id: int, now: datetime) -> int:
    """Return the id of a host, made on first sight; one that is there keeps what is known of it."""
    insert_new(session, HostRow, [{"slug": slug, "hardware_class_id": hardware_class_id, "seen_at": now}])
    return session.exec(select(HostRow.id).where(HostRow.slug == slug)).one() or 0


def hardware_of_host(session: Session, slug: str) -> tuple[int, str] | None:
    """Return the id and fingerprint of a host's hardware class; None for a host that is not known."""
    row = session.execute(
        select(HardwareClassRow.id, HardwareClassRow.fingerprint)
        .join(HostRow, col(HostRow.hardware_class_id) == HardwareClassRow.id)
        .where(HostRow.slug == slug)
    ).first()
    return (row[0], row[1]) if row else None


def hardware_labels(session: Session, hardware_class_id: int) -> str:
    """Return the labels of a hardware class, as canonical JSON."""
    return session.exec(select(HardwareClassRow.labels).where(HardwareClassRow.id == hardware_class_id)).one()


def count_running(session: Session, host_id: int) -> int:
    """Return how many runs are on a host now."""
    statement = select(func.count()).select_from(RunRow).where(RunRow.host_id == host_id, RunRow.state == "running")
    return session.exec(statement).one()


def serve_host(
    session: Session, *, slug: str, engine: str, served_by: str, unknown_class: Callable[[], int], now: datetime
) -> None:
    """Keep that a service reaches a host, which is made on first sight; where it listens is brought up to date.

    At another address than before may be another machine: what one has that tells it itself, by ssh, is unknown again.
    """
    row = session.exec(select(HostRow).where(HostRow.slug == slug)).first()
    if row is None:
        row = session.get_one(HostRow, first_seen_host(session, slug=slug, hardware_class_id=unknown_class(), now=now))
    if row.engine != engine:
        if engine.startswith("ssh://") and (row.engine or row.away_why == NOT_IN_SETTINGS):
            row.hardware_class_id = unknown_class()
        row.engine, row.answered_at, row.away_since, row.away_why = engine, None, None, ""
        audit.record(session, at=now, who=served_by, event="host:engine", subject=slug, engine=engine)
    row.served_by, row.seen_at = served_by, now
    session.add(row)


def leave_hosts(session: Session, *, served_by: str, but: Collection[str], now: datetime) -> None:
    """Keep that a service reaches no other hosts any more `but` these."""
    for row in session.exec(select(HostRow).where(HostRow.served_by == served_by, col(HostRow.slug).not_in(but))).all():
        row.engine, row.served_by, row.answered_at = "", None, None
        row.away_since, row.away_why = now, NOT_IN_SETTINGS
        session.add(row)
        audit.record(session, at=now, who=served_by, event="host:left", subject=row.slug, why=NOT_IN_SETTINGS)


def served_hosts(session: Session, *, served_by: str) -> list[ServedHost]:
    """Return the hosts that a service reaches from its own machine, by name."""
    rows = session.execute(
        select(HostRow.id, HostRow.slug, HardwareClassRow.id, HardwareClassRow.fingerprint, HardwareClassRow.labels)
        .join(HardwareClassRow, col(HardwareClassRow.id) == HostRow.hardware_class_id)
        .where(HostRow.served_by == served_by)
        .order_by(col(HostRow.slug))
    ).all()
    return [
        ServedHost(
            host_id=host_id,
            name=slug,
            hardware_class_id=class_id,
            hardware_fingerprint=fingerprint,
            labels=json.loads(labels),
        )
        for host_id, slug, class_id, fingerprint, labels in rows
    ]


def note_answer(session: Session, host_id: int, *, now: datetime) -> bool:
    """Keep that a host answers; return whether it was away before."""
    row = session.get_one(HostRow, host_id)
    was_away = row.away_since is not None
    row.answered_at, row.away_since, row.away_why, row.seen_at = now, None, "", now
    session.add(row)
    return was_away


def note_away(session: Session, host_id: int, *, why: str, now: datetime) -> bool:
    """Keep that a host does not answer, and why; return whether it answered before."""
    row = session.get_one(HostRow, host_id)
    answered = row.away_since is None
    row.away_since, row.away_why = row.away_since or now, why[:1000]
    session.add(row)
    return answered


def is_unknown(session: Session, hardware_class_id: int) -> bool:
    """Return whether a hardware class stands for not knowing what a host has."""
    return bool(json.loads(hardware_labels(session, hardware_class_id)).get("hardware") == UNKNOWN)


def unknown_class(session: Session, slug: str) -> int:
    """Return the id of the hardware class that stands for not knowing what a host has."""
    labels = {"hardware": UNKNOWN, "host": slug}
    name = fingerprint("hardware", canonical_labels(labels))
    return save_hardware_class(
        session, fingerprint=name, slug=f"unknown-hardware-of-{slug}", labels=canonical_labels(labels)
    )
