"""Names of rows that other rows point to."""

from __future__ import annotations

from sqlmodel import Session, select

from tracker.store.tables import ComponentRow, HardwareClassRow


def component_slug(session: Session, component_id: int) -> str:
    """Return a component's name."""
    return session.exec(select(ComponentRow.slug).where(ComponentRow.id == component_id)).one()


def hardware_slug(session: Session, hardware_class_id: int) -> str:
    """Return a hardware class' name."""
    return session.exec(select(HardwareClassRow.slug).where(HardwareClassRow.id == hardware_class_id)).one()


def component_slugs(session: Session) -> list[str]:
    """Return the names of all components, in alphabetical order."""
    return sorted(session.exec(select(ComponentRow.slug)).all())
