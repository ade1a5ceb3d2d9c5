"""Which releases are too early to judge: runs that they were to be judged by are still open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ScalarSelect, func
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, or_, select

from tracker.store.runs import HANDED_IN, OPEN_STATES
from tracker.store.tables import BuildRow, RunRow, SeriesRow, SuiteRevisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A release that waits, in one suite, for runs on one hardware class."""

    suite: str
    release_id: int
    hardware_class_id: int
    """The one that its runs were planned for."""
    suite_text: str
    suite_file: str


def find_held(session: Session, suite: str | None = None) -> list[Held]:
    """Return what waits, of all suites or of one: planned runs are open, or those that were asked for first.

    What is asked for once more, when a release has been judged, holds nothing back.
    """
    statement = (
        select(
            SuiteRevisionRow.name,
            BuildRow.release_id,
            RunRow.hardware_class_id,
            SuiteRevisionRow.text,
            SuiteRevisionRow.file,
        )
        .join(RunRow, col(RunRow.suite_revision_id) == SuiteRevisionRow.id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .where(
            col(RunRow.state).in_(OPEN_STATES),
            or_(col(RunRow.requested_by).is_(None), col(RunRow.created_at) == _first_asked()),
        )
        .distinct()
    )
    rows = session.execute(statement if suite is None else statement.where(SuiteRevisionRow.name == suite)).all()
    return [
        Held(suite=name, release_id=release, hardware_class_id=hardware, suite_text=text, suite_file=file)
        for name, release, hardware, text, file in rows
    ]


def _first_asked() -> ScalarSelect[object]:
    """When the first runs of the suite at the release were queued, of those that gave something or still may."""
    run, build, suite = aliased(RunRow), aliased(BuildRow), aliased(SuiteRevisionRow)
    return (
        select(func.min(run.created_at))
        .join(suite, col(suite.id) == run.suite_revision_id)
        .join(build, col(build.id) == run.build_id)
        .where(
            suite.name == SuiteRevisionRow.name,
            build.release_id == BuildRow.release_id,
            col(run.state).in_((*OPEN_STATES, "done")),
            ~col(run.key).startswith(HANDED_IN),
        )
        .correlate(SuiteRevisionRow, BuildRow)
        .scalar_subquery()
    )


def place_of_run(session: Session, run_id: int) -> tuple[str, int, int]:
    """Return the suite, the release and the hardware class that a run was planned for."""
    suite, release, hardware = session.execute(
        select(SuiteRevisionRow.name, BuildRow.release_id, RunRow.hardware_class_id)
        .join(RunRow, col(RunRow.suite_revision_id) == SuiteRevisionRow.id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .where(RunRow.id == run_id)
    ).one()
    return suite, release, hardware


def measured_classes(session: Session, suites: Collection[str]) -> set[tuple[str, int]]:
    """Return (suite, hardware class id) pairs that have series, of these suites."""
    rows = session.execute(
        select(SeriesRow.suite, SeriesRow.hardware_class_id).where(col(SeriesRow.suite).in_(suites)).distinct()
    ).all()
    return {(suite, hardware) for suite, hardware in rows}
