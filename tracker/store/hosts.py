"""Hosts, their hardware classes, and the environments that attempts ran in."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func
from sqlmodel import Session, col, select

from tracker.store.engine import insert_new
from tracker.store.tables import EnvironmentRow, HardwareClassRow, HostRow, RunRow


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
