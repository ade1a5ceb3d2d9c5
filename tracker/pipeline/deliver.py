"""deliver: the outbox is sent, outside any transaction; the receipt is stored, so that nothing is sent twice.

A crash between sending and storing the receipt leaves the delivery due; the next try says `maybe_sent`, and a sink
that can look does so before it sends again.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta

from alerts.charts import trend_spec
from alerts.errors import AlertsError
from alerts.errors import TryLater as SinkBusy
from alerts.protocol import Outgoing, OutgoingKind, Receipt, Sink
from alerts.trend import Trend
from jobs.errors import JobsError
from tracker.logs import EventLog
from tracker.pipeline import alert_content, summary_content
from tracker.pipeline.context import Context
from tracker.pipeline.release_notes import links_of
from tracker.pipeline.trends import trend_of
from tracker.store import alerts
from tracker.store.tables import AlertRow, DeliveryRow

log = EventLog(__name__)

MOST_ATTEMPTS = 80
LONGEST_WAIT_S = 3600
"""With so many tries, a receiver may be away for three days before a message is given up."""


def deliver(context: Context) -> int:
    """Send what is due; return how many messages were sent."""
    now = context.clock.now()
    with context.store.read() as session:
        due = alerts.due_deliveries(session, now)
    return sum(_deliver_one(context, delivery) for delivery in due)


def _deliver_one(context: Context, delivery: DeliveryRow) -> bool:
    try:
        sink = context.open_sink(delivery.sink)
        if sink is None:
            _close(context, delivery, "not set up")
            return False
        outgoing = compose(context, delivery, picture=delivery.sink != "console")
        if outgoing is None:
            _close(context, delivery, "a newer message about the same subject took its place")
            return False
        return _send(context, delivery, sink, outgoing)
    except (AlertsError, JobsError) as error:
        _close(context, delivery, str(error))
        return False


def _send(context: Context, delivery: DeliveryRow, sink: Sink, outgoing: Outgoing) -> bool:
    """Send one message and store its receipt; a busy receiver is tried again later, longer each time."""
    with context.store.write() as session:
        alerts.change_delivery(session, delivery, attempts=delivery.attempts + 1)
    now = context.clock.now()
    try:
        receipt = sink.deliver(outgoing)
    except SinkBusy as error:
        if delivery.attempts + 1 >= MOST_ATTEMPTS:
            _close(context, delivery, f"given up after {MOST_ATTEMPTS} tries: {error}")
            return False
        wait = error.retry_after_s or min(LONGEST_WAIT_S, 15 * 2**delivery.attempts)
        with context.store.write() as session:
            alerts.change_delivery(session, delivery, not_before=now + timedelta(seconds=wait), problem=str(error))
        return False
    with context.store.write() as session:
        alerts.change_delivery(
            session,
            delivery,
            state="sent",
            receipt=json.dumps(dataclasses.asdict(receipt)),
            sent_at=now,
            problem=receipt.warning or None,
        )
    log.info("delivery.sent", delivery=delivery.public_id, subject=delivery.subject, sink=delivery.sink)
    return True


def _close(context: Context, delivery: DeliveryRow, problem: str) -> None:
    with context.store.write() as session:
        alerts.change_delivery(session, delivery, state="failed", problem=problem)
    log.warning("delivery.failed", delivery=delivery.public_id, sink=delivery.sink, why=problem)


def compose(context: Context, delivery: DeliveryRow, *, picture: bool) -> Outgoing | None:
    """Return what is to be sent; None when a newer delivery of the same subject is waiting."""
    kind, _, subject_id = delivery.subject.partition(":")
    base_url = context.settings.link_base
    with context.store.read() as session:
        if alerts.has_newer(session, delivery):
            return None
        earlier = alerts.last_receipt(session, delivery.subject, delivery.sink)
        if kind == "alert":
            alert = session.get_one(AlertRow, int(subject_id))
            group = alert_content.to_group(alert)
            message = alert_content.to_message(alert, base_url=base_url)
            series_id: str | None = group.facts[0].series_id
            named = group.component, group.release.identity
        else:
            release_id, hardware_id = (int(part) for part in subject_id.split(":"))
            summary = alerts.newest_summary(session, release_id, hardware_id)
            if summary is None:
                return None
            message, series_id = summary_content.to_message(summary, base_url=base_url), None
            told = summary_content.from_content(summary.content)
            named = told.component, told.release.identity
        message = dataclasses.replace(message, links=links_of(session, *named))
        trend = trend_of(session, series_id) if picture and series_id else None
    return Outgoing(
        delivery_id=delivery.public_id,
        kind=OutgoingKind(kind),
        message=message,
        picture=_draw(context, trend) if trend else None,
        update_of=Receipt(**json.loads(earlier)) if earlier else None,
        maybe_sent=delivery.attempts > 0,
    )


def _draw(context: Context, trend: Trend) -> bytes | None:
    """Return the picture, None when it cannot be drawn: a message without a picture is better than none."""
    try:
        return context.render(trend_spec(trend))
    except (AlertsError, OSError) as error:
        log.warning("picture.failed", why=str(error))
        return None
