"""What is to be told goes into the outbox, in the transaction that decided it, for the sinks that are set up."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.pipeline.context import Context
from tracker.store import alerts
from tracker.store.engine import Session


def queue(session: Session, context: Context, *, subject: str, kind: str, revision: int, sinks: Iterable[str]) -> None:
    """Have each of these sinks told this revision of the subject; one that is not set up is left out."""
    now = context.clock.now()
    for sink in sorted(set(sinks)):
        if context.sink_is_set_up(sink):
            alerts.queue_delivery(session, subject=subject, sink=sink, kind=kind, revision=revision, now=now)


def queue_update(
    session: Session, context: Context, *, subject: str, kind: str, revision: int, sinks: Iterable[str]
) -> None:
    """Have those of these sinks told that were told of the subject before."""
    told = [sink for sink in sinks if alerts.last_receipt(session, subject, sink) is not None]
    queue(session, context, subject=subject, kind=kind, revision=revision, sinks=told)
