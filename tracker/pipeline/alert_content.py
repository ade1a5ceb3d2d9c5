"""An alert's facts as text for the table, and back: messages are made from what was stored, not from what is now."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from alerts.grouping import AlertGroup, ChangeFact, ReleaseName
from alerts.message import AlertState, Message, build_alert_message
from alerts.rules import Rule
from alerts.wording import Change, Direction
from tracker.store.tables import AlertRow


def to_content(group: AlertGroup, recovered: str | None) -> str:
    """Return the group as canonical JSON; equal groups give equal text."""
    content = {
        "facts": [dataclasses.asdict(fact) for fact in group.facts],
        "compared": group.compared,
        "sinks": list(group.rule.sinks),
        "recovered_in": recovered,
    }
    return json.dumps(content, sort_keys=True, allow_nan=False)


def to_group(alert: AlertRow) -> AlertGroup:
    """Return the group that an alert was made from."""
    content = json.loads(alert.content)
    facts = tuple(_fact(one) for one in content["facts"])
    return AlertGroup(
        rule=Rule(name=alert.rule, sinks=tuple(content["sinks"])),
        component=facts[0].component,
        release=facts[0].release,
        hardware_class=facts[0].hardware_class,
        change=Change(alert.direction),
        facts=facts,
        compared=content["compared"],
    )


def to_message(alert: AlertRow, *, base_url: str | None) -> Message:
    """Return an alert's message as it stands."""
    content = json.loads(alert.content)
    group = to_group(alert)
    return build_alert_message(
        group,
        alert_id=alert.public_id,
        state=AlertState(alert.state),
        recovered_in=content.get("recovered_in"),
        withdrawn=content.get("withdrawn"),
        rerun_command=f"tracker runs trigger {group.facts[0].suite} {group.component}/{group.release.identity}",
        base_url=base_url,
    )


def _fact(one: dict[str, Any]) -> ChangeFact:
    values = {"release": ReleaseName(**one["release"]), "direction": Direction(one["direction"])}
    return ChangeFact(**{**one, **values, "verdict": Change(one["verdict"])})
