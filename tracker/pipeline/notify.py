"""notify: change points that people have not been told of become alerts, and alerts become messages in the outbox."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alerts.grouping import AlertGroup, ChangeFact, ComparedSeries, group_changes
from alerts.message import AlertState
from alerts.rules import Rule
from alerts.wording import Change, Direction
from tracker.clock import new_public_id
from tracker.logs import EventLog
from tracker.pipeline import outbox
from tracker.pipeline.alert_content import to_content
from tracker.pipeline.comparisons import name_release, smallest_effect
from tracker.pipeline.context import Context
from tracker.pipeline.families import Family, Line, load_family
from tracker.pipeline.quality import is_hollow_gain
from tracker.setting_tables import RuleSettings
from tracker.store import alerts, audit, changes, names
from tracker.store.engine import Session
from tracker.store.tables import AlertRow, ChangePointRow, ReleaseRow

log = EventLog(__name__)

CHANGE_OF = {"regression": Change.REGRESSED, "improvement": Change.IMPROVED}
CLOSED_BY_PEOPLE = frozenset({AlertState.EXPECTED, AlertState.FIXED, AlertState.WONT_FIX, AlertState.FALSE_POSITIVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything known of one family when it is told about."""

    family: Family
    component: str
    hardware_class: str
    changes: list[ChangePointRow]
    releases: dict[int, ReleaseRow]


def notify(context: Context) -> int:
    """Bring the alerts of every family with news up to date; return how many alerts are new or changed."""
    with context.store.read() as session:
        news = changes.unnotified_changes(session)
        families = changes.families_of(session, [change.series_id for change in news])
    told = 0
    for component_id, hardware_class_id in sorted(families):
        with context.store.write() as session:
            told += _tell_family(session, context, component_id, hardware_class_id)
    return told


def _tell_family(session: Session, context: Context, component_id: int, hardware_class_id: int) -> int:
    """Write alerts and outbox of one family in one transaction with the note that this was done."""
    family = load_family(session, component_id, hardware_class_id)
    standing = changes.standing_changes(session, [line.series.id or 0 for line in family.lines])
    scene = Scene(
        family=family,
        component=names.component_slug(session, component_id),
        hardware_class=names.hardware_slug(session, hardware_class_id),
        changes=standing,
        releases={release.id or 0: release for release in family.releases},
    )
    rules = [to_rule(rule) for rule in context.settings.rules]
    groups = group_changes(list_facts(scene), rules, list(_compared(scene)))
    now = context.clock.now()
    kept, told = set(), 0
    for group in groups:
        alert, changed = _save_alert(session, scene, group, now)
        kept.add(alert.id)
        if changed:
            told += 1
            _queue(session, context, scene, alert, group)
    for alert in alerts.alerts_at(session, component_id, hardware_class_id):
        if alert.id not in kept and alert.state != AlertState.RECOVERED:
            told += _withdraw(session, context, alert, now)
    changes.set_family_notified(session, [line.series.id or 0 for line in family.lines])
    return told


def to_rule(rule: RuleSettings) -> Rule:
    """Return a rule of the settings as alerts know it."""
    return Rule(
        name=rule.name,
        sinks=tuple(rule.sinks),
        component=rule.component,
        suite=rule.suite,
        metric=rule.metric,
        only_gated=rule.only_gated,
        min_effect_ratio=rule.min_effect,
        changes=tuple(CHANGE_OF[direction] for direction in rule.directions),
    )


def list_facts(scene: Scene) -> list[ChangeFact]:
    """Return the family's changes that are large enough to be told, as messages need them.

    A gain whose accuracy fell out of tolerance is none; the accuracy's own change is told.
    """
    lines = {line.series.id: line for line in scene.family.lines}
    facts = []
    for change in scene.changes:
        line = lines[change.series_id]
        large = abs(change.effect_ratio) >= smallest_effect(line) and change.kind in ("step", "drift")
        if large and not is_hollow_gain(scene.family, line, change):
            facts.append(_fact(scene, line, change))
    return facts


def _fact(scene: Scene, line: Line, change: ChangePointRow) -> ChangeFact:
    release = scene.releases[change.release_id]
    wide = change.possible_from_id != change.possible_to_id
    return ChangeFact(
        change_id=change.public_id,
        component=scene.component,
        release=name_release(release),
        hardware_class=scene.hardware_class,
        suite=line.series.suite,
        series_id=line.series.fingerprint,
        series_name=line.name,
        metric=line.series.metric,
        unit=line.series.unit,
        direction=Direction(line.series.direction),
        before=change.before,
        after=change.after,
        verdict=Change(change.verdict),
        effect_ratio=change.effect_ratio,
        effect_low=change.effect_low,
        effect_high=change.effect_high,
        p=change.p,
        q=change.q,
        confirmed=change.confirmed,
        kind=change.kind,
        gated=line.series.gated,
        possible_from=scene.releases[change.possible_from_id].display if wide else None,
        possible_to=scene.releases[change.possible_to_id].display if wide else None,
    )


def _compared(scene: Scene) -> Iterable[ComparedSeries]:
    """Yield every series at every release it was measured at: what `2 of 3 series` counts."""
    for line in scene.family.lines:
        for release_id in line.release_ids:
            yield ComparedSeries(
                component=scene.component,
                release=scene.releases[release_id].identity,
                hardware_class=scene.hardware_class,
                suite=line.series.suite,
                series_id=line.series.fingerprint,
                metric=line.series.metric,
                gated=line.series.gated,
            )


def _save_alert(session: Session, scene: Scene, group: AlertGroup, now: datetime) -> tuple[AlertRow, bool]:
    """Return the group's alert, made or brought up to date, and whether there is something new to tell."""
    release_id = next(id for id, r in scene.releases.items() if r.identity == group.release.identity)
    key: dict[str, Any] = {"rule": group.rule.name, "component_id": scene.family.component_id, "release_id": release_id}
    key |= {"hardware_class_id": scene.family.hardware_class_id, "direction": group.change.value}
    recovered = recovered_in(scene, group)
    content = to_content(group, recovered)
    alert = alerts.alert_of(session, **key)
    if alert is not None and alert.content == content:
        return alert, False
    is_new = alert is None
    alert = alert or AlertRow(public_id=new_public_id(), created_at=now, revision=0, headline="", content="", **key)
    alert.headline, alert.content, alert.changed_at, alert.revision = group.headline, content, now, alert.revision + 1
    if recovered and alert.state not in CLOSED_BY_PEOPLE:
        alert.state = AlertState.RECOVERED.value
    elif not recovered and alert.state == AlertState.RECOVERED:
        alert.state = AlertState.NEW.value
    session.add(alert)
    session.flush()
    ids = changes.ids_of(session, [fact.change_id for fact in group.facts])
    alerts.set_changes(session, alert.id or 0, ids)
    event = "alert:opened" if is_new else "alert:changed"
    audit.record(session, at=now, who="tracker", event=event, subject=alert.public_id, headline=group.headline)
    return alert, True


def recovered_in(scene: Scene, group: AlertGroup) -> str | None:
    """Return the release by which every change of the group was undone, None while one stands.

    Undone: the series' level at its newest release is back on the better side of half the change.
    """
    lines = {line.series.fingerprint: line for line in scene.family.lines}
    rank = scene.family.rank
    later: dict[int, list[ChangePointRow]] = defaultdict(list)
    for change in scene.changes:
        later[change.series_id].append(change)
    undone_at = []
    for fact in group.facts:
        series_id = lines[fact.series_id].series.id or 0
        start = next(rank[c.release_id] for c in later[series_id] if c.public_id == fact.change_id)
        after = sorted((c for c in later[series_id] if rank[c.release_id] > start), key=lambda c: rank[c.release_id])
        halfway = (fact.before * fact.after) ** 0.5 if fact.before * fact.after > 0 else (fact.before + fact.after) / 2
        back = [c for c in after if (c.after < halfway) == (fact.before < halfway)]
        if not back or (after[-1].after < halfway) != (fact.before < halfway):
            return None
        undone_at.append(rank[back[0].release_id])
    return scene.family.releases[max(undone_at)].display if undone_at else None


def _queue(session: Session, context: Context, scene: Scene, alert: AlertRow, group: AlertGroup) -> None:
    """Put the alert into the outbox of the rule's sinks; history that was there before us pages nobody."""
    release = scene.releases[alert.release_id]
    measured = {release_id for line in scene.family.lines for release_id in line.release_ids}
    newest = max((scene.family.rank[id] for id in measured), default=-1)
    history = release.historic and scene.family.rank[alert.release_id] < newest
    subject = f"alert:{alert.id}"
    told = [
        sink
        for sink in group.rule.sinks
        if not history or sink == "console" or alerts.last_receipt(session, subject, sink) is not None
    ]
    outbox.queue(session, context, subject=subject, kind="alert", revision=alert.revision, sinks=told)


def _withdraw(session: Session, context: Context, alert: AlertRow, now: datetime) -> int:
    """Close an alert whose changes are no longer found, and tell whoever was told; return 1."""
    note = "withdrawn: with what has been measured since, the change is no longer found"
    if json.loads(alert.content).get("withdrawn"):
        return 0
    alert.content = json.dumps({**json.loads(alert.content), "withdrawn": note}, sort_keys=True)
    alerts.set_changes(session, alert.id or 0, [])
    state = alert.state if alert.state in CLOSED_BY_PEOPLE else AlertState.RECOVERED.value
    alerts.add_triage(session, alert, state=state, who="tracker", note=note, now=now)
    audit.record(session, at=now, who="tracker", event="alert:withdrawn", subject=alert.public_id)
    subject, sinks = f"alert:{alert.id}", json.loads(alert.content)["sinks"]
    outbox.queue_update(session, context, subject=subject, kind="alert", revision=alert.revision, sinks=sinks)
    return 1
