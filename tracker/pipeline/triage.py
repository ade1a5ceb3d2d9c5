"""What people decide about alerts: kept with who, when and why; the message is brought up to date."""

from __future__ import annotations

import json

from alerts.message import AlertState
from tracker.errors import UserError
from tracker.pipeline import outbox
from tracker.pipeline.context import Context
from tracker.store import alerts, audit, series
from tracker.store.changes import ACCEPTED

BY_PEOPLE = [state.value for state in AlertState if state not in (AlertState.NEW, AlertState.RECOVERED)]


def triage(context: Context, named: str, *, state: str, who: str, note: str = "") -> str:
    """Bring an alert into a state, tell those who were told of it; return its public id."""
    if state not in [*BY_PEOPLE, AlertState.NEW]:
        raise UserError(f"{state!r} is no state of an alert; expected one of {', '.join(['new', *BY_PEOPLE])}")
    now = context.clock.now()
    with context.store.write() as session:
        alert = alerts.find_alert(session, named)
        if (state in ACCEPTED) != (alert.state in ACCEPTED):
            series.mark_dirty(session, alerts.series_of(session, alert.id or 0))
        alerts.add_triage(session, alert, state=state, who=who, note=note, now=now)
        audit.record(session, at=now, who=who, event="alert:triaged", subject=alert.public_id, state=state, note=note)
        subject, sinks = f"alert:{alert.id}", json.loads(alert.content)["sinks"]
        outbox.queue_update(session, context, subject=subject, kind="alert", revision=alert.revision, sinks=sinks)
        return alert.public_id
