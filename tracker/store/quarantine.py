"""Values that may not enter a series: kept with their reason, and let in by somebody or by a better catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from tracker.errors import UserError
from tracker.store.engine import insert_new
from tracker.store.runs import newest_attempt
from tracker.store.tables import (
    AttemptRow,
    BuildRow,
    ComponentRow,
    ConfigRow,
    HardwareClassRow,
    MeasurementRow,
    QuarantineRow,
    RunRow,
    SuiteRevisionRow,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """One value that may not enter a series, and the identity labels of the result it stood in, as canonical JSON."""

    key: str
    raw: str
    unit: str
    reason: str
    labels: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value in quarantine with all that is needed to let it in."""

    row: QuarantineRow
    attempt: AttemptRow
    run: RunRow
    build: BuildRow
    component: ComponentRow
    hardware: HardwareClassRow
    suite: SuiteRevisionRow
    config_labels: str


def keep(session: Session, by_attempt: Mapping[int, Iterable[SetAside]]) -> None:
    """Keep values that may not enter a series; keys of one attempt are made different, so that none hides another."""
    rows = []
    for attempt_id, values in by_attempt.items():
        counted: dict[str, int] = {}
        for one in values:
            counted[one.key] = counted.get(one.key, 0) + 1
            key = one.key[:500] + ("" if counted[one.key] == 1 else f" #{counted[one.key]}")
            shown = {"raw": one.raw[:2000], "unit": one.unit[:100], "reason": one.reason[:2000], "labels": one.labels}
            rows.append({"attempt_id": attempt_id, "key": key, **shown})
    insert_new(session, QuarantineRow, rows)


def find_held(session: Session, held_id: int) -> Held:
    """Return the value in quarantine with this id; UserError when there is none, or its result was replaced."""
    found = _select(session, QuarantineRow.id == held_id)
    if not found:
        raise UserError(
            f"nothing in quarantine has the id {held_id}, or its result was replaced or measured again since;"
            " `tracker quarantine list` shows what is there"
        )
    return found[0]


def held_open(session: Session) -> list[Held]:
    """Return all values in quarantine that were not let in, oldest first."""
    return _select(session, col(QuarantineRow.released_at).is_(None))


def _select(session: Session, condition: object) -> list[Held]:
    rows = session.execute(
        select(
            QuarantineRow,
            AttemptRow,
            RunRow,
            BuildRow,
            ComponentRow,
            HardwareClassRow,
            SuiteRevisionRow,
            ConfigRow.labels,
        )
        .join(AttemptRow, col(AttemptRow.id) == QuarantineRow.attempt_id)
        .join(RunRow, col(RunRow.id) == AttemptRow.run_id)
        .join(BuildRow, col(BuildRow.id) == RunRow.build_id)
        .join(SuiteRevisionRow, col(SuiteRevisionRow.id) == RunRow.suite_revision_id)
        .join(ComponentRow, col(ComponentRow.id) == SuiteRevisionRow.component_id)
        .join(HardwareClassRow, col(HardwareClassRow.id) == RunRow.hardware_class_id)
        .join(ConfigRow, col(ConfigRow.id) == RunRow.config_id)
        .where(condition, col(AttemptRow.number) == newest_attempt())
        .order_by(col(QuarantineRow.id))
    ).all()
    return [
        Held(
            row=row,
            attempt=attempt,
            run=run,
            build=build,
            component=component,
            hardware=hardware,
            suite=suite,
            config_labels=labels,
        )
        for row, attempt, run, build, component, hardware, suite, labels in rows
    ]


def is_measured(session: Session, series_id: int, run_id: int) -> bool:
    """Return whether a series has a value of a run already."""
    statement = select(MeasurementRow.run_id).where(
        MeasurementRow.series_id == series_id, MeasurementRow.run_id == run_id
    )
    return session.exec(statement).first() is not None


def set_released(session: Session, row: QuarantineRow, *, metric: str, who: str, now: datetime) -> None:
    """Note as what, by whom and when a value was let in."""
    row.released_as, row.released_by, row.released_at = metric, who, now
    session.add(row)
