"""analyze: dirty series are judged with their family; what is found is reconciled with what was known."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from alerts.wording import Direction, judge_change
from baselines import ChangePoint, DetectOptions, SeriesInput
from baselines.detection.reconcile import Decision, FoundChange, StoredChange, reconcile
from baselines.verdicts.verdict import judge
from tracker.clock import new_public_id
from tracker.logs import EventLog
from tracker.pipeline.comparisons import compare_releases, default_reference
from tracker.pipeline.context import Context
from tracker.pipeline.families import Family, Line, load_family
from tracker.pipeline.statistics import Statistics
from tracker.store import audit, changes, series
from tracker.store.engine import Session
from tracker.store.tables import ChangePointRow, SeriesRow

log = EventLog(__name__)

DETECTOR = "tracker-4"
POLICY = "previous-1"
REFERENCE_KIND = "previous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One change point of today with its place in the component's order."""

    change: ChangePoint
    at: int
    first: int
    last: int
    """Release ids: where the new level starts, and the first and last release at which it may lie."""
    way: Literal["up", "down"]


def analyze(context: Context) -> int:
    """Judge every family that has a dirty series; return how many series that were."""
    with context.store.read() as session:
        dirty = series.dirty_series(session)
    families: dict[tuple[int, int], list[SeriesRow]] = defaultdict(list)
    for one in dirty:
        families[(one.component_id, one.hardware_class_id)].append(one)
    for key, members in sorted(families.items()):
        _analyze_family(context, key, members)
    return len(dirty)


def _analyze_family(context: Context, key: tuple[int, int], dirty: list[SeriesRow]) -> None:
    with context.store.read() as session:
        family = load_family(session, *key)
    found = find_changes(context.statistics, family)
    verdicts = list_verdicts(context.statistics, family, found, context.clock.now())
    now = context.clock.now()
    with context.store.write() as session:
        for line in family.lines:
            _reconcile(session, family, line, found[line.series.id or 0], now)
        changes.replace_verdicts(session, [line.series.id or 0 for line in family.lines], POLICY, verdicts)
        series.set_analyzed(session, dirty)
    log.info("family.analyzed", series=len(family.lines), changes=sum(map(len, found.values())))


def find_changes(statistics: Statistics, family: Family) -> dict[int, list[Found]]:
    """Return series id -> its change points of today, oldest first."""
    names = {release.id: release.identity for release in family.releases}
    inputs = [
        SeriesInput(
            values=line.values,
            group=line.sibling_group,
            labels=[names[release_id] for release_id in line.release_ids],
            hosts=line.hosts,
            environments=line.environments,
            excluded=[place for place, release_id in enumerate(line.release_ids) if release_id in line.excluded],
            accepted={place: line.restarts[one] for place, one in enumerate(line.release_ids) if one in line.restarts},
        )
        for line in family.lines
    ]
    detected = statistics.detect_many(inputs, DetectOptions())
    return {
        line.series.id or 0: [_place(family, line, change) for change in points]
        for line, points in zip(family.lines, detected, strict=True)
    }


def _place(family: Family, line: Line, change: ChangePoint) -> Found:
    """Return the change with the releases it can lie at: those just before it that were not measured count too."""
    rank, ids = family.rank, line.release_ids
    first_index, last_index = change.possible
    before = rank[ids[first_index - 1]] if first_index > 0 else rank[ids[first_index]] - 1
    return Found(
        change=change,
        at=ids[change.index],
        first=family.releases[before + 1].id or 0,
        last=ids[last_index],
        way="up" if change.after > change.before else "down",
    )


def list_verdicts(
    statistics: Statistics, family: Family, found: dict[int, list[Found]], now: datetime
) -> list[dict[str, Any]]:
    """Return the verdict of every series at the newest release it was measured at, against that one's reference."""
    rows = []
    by_id = {release.id: release for release in family.releases}
    for newest_id in sorted({line.release_ids[-1] for line in family.lines if line.release_ids}):
        against = default_reference(family, by_id[newest_id])
        for line, comparison in compare_releases(statistics, family, newest_id, against.id if against else None):
            if not line.release_ids or line.release_ids[-1] != newest_id:
                continue
            points = [one.change for one in found[line.series.id or 0]]
            place = len(line.release_ids) - 1
            verdict = judge(place, points, comparison, Direction(line.series.direction).value)
            rows.append(
                {
                    "series_id": line.series.id,
                    "release_id": newest_id,
                    "reference_kind": REFERENCE_KIND,
                    "reference_release_id": against.id if against else None,
                    "verdict": verdict.word,
                    "effect_ratio": verdict.effect_ratio,
                    "effect_low": verdict.low,
                    "effect_high": verdict.high,
                    "p": comparison.p,
                    "q": comparison.q,
                    "reason": verdict.reason,
                    "computed_at": now,
                }
            )
    return rows


def _reconcile(session: Session, family: Family, line: Line, found: list[Found], now: datetime) -> None:
    """Bring one series' stored change points to what was found, ids kept."""
    known = {row.public_id: row for row in changes.all_changes(session, line.series.id or 0)}
    rank = {release_id: f"{place:09d}" for release_id, place in family.rank.items()}
    stored = [
        StoredChange(id=row.public_id, place=_stored_place(row, rank), withdrawn=row.withdrawn_at is not None)
        for row in known.values()
        if row.release_id in rank
    ]
    places = {
        FoundChange(at=rank[one.at], first=rank[one.first], last=rank[one.last], way=one.way): one for one in found
    }
    decisions = reconcile(stored, list(places), sorted(rank[release_id] for release_id in line.release_ids))
    for decision in sorted(decisions, key=lambda one: one.kind != "withdrawn"):
        _apply(session, line, decision, known, places, now)
        session.flush()


def _stored_place(row: ChangePointRow, rank: dict[int, str]) -> FoundChange:
    at = rank[row.release_id]
    first, last = rank.get(row.possible_from_id, at), rank.get(row.possible_to_id, at)
    return FoundChange(at=at, first=min(first, at), last=max(last, at), way="up" if row.direction == "up" else "down")


def _apply(
    session: Session,
    line: Line,
    decision: Decision,
    known: dict[str, ChangePointRow],
    places: dict[FoundChange, Found],
    now: datetime,
) -> None:
    row = known.get(decision.stored_id or "")
    if decision.found is None:
        if row is not None and row.id not in line.accepted:
            row.withdrawn_at, row.changed_at, row.revision = now, now, row.revision + 1
            _audit(session, row, "change:withdrawn", now)
        return
    values = _values(line, places[decision.found])
    if row is None:
        row = ChangePointRow(
            public_id=new_public_id(), series_id=line.series.id or 0, first_seen_at=now, changed_at=now, **values
        )
        session.add(row)
        _audit(session, row, "change:found", now)
    elif row.withdrawn_at is not None or any(getattr(row, name) != value for name, value in values.items()):
        for name, value in values.items():
            setattr(row, name, value)
        row.withdrawn_at, row.changed_at, row.revision = None, now, row.revision + 1
        session.add(row)


def _audit(session: Session, row: ChangePointRow, event: str, now: datetime) -> None:
    audit.record(
        session, at=now, who="tracker", event=event, subject=row.public_id, effect=row.effect_ratio, why=row.reason
    )


def _values(line: Line, one: Found) -> dict[str, Any]:
    change = one.change
    return {
        "release_id": one.at,
        "possible_from_id": one.first,
        "possible_to_id": one.last,
        "direction": one.way,
        "verdict": judge_change(Direction(line.series.direction), change.effect_ratio).value,
        "kind": change.kind,
        "confirmed": change.confirmed,
        "before": change.before,
        "after": change.after,
        "effect_ratio": change.effect_ratio,
        "effect_low": change.effect_low,
        "effect_high": change.effect_high,
        "noise_ratio": change.noise_ratio,
        "p": change.p,
        "q": change.q,
        "confidence": change.confidence,
        "reason": change.reason,
        "confounded_by": change.confounded_by,
        "detector": DETECTOR,
    }
