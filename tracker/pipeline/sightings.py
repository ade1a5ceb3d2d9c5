"""sightings: a run whose engine or cluster does not answer is kept as not seen, with why and since when.

It is told at once, then after 1, 3, 7, 15 ... minutes, and at last once an hour, so that an absence of hours fills no
log; the end of it is told once.
"""

from __future__ import annotations

from datetime import timedelta

from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.store import sightings
from tracker.store.claims import Claim

log = EventLog(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0


def note_unseen(context: Context, claim: Claim, why: str) -> None:
    """Keep that a running run could not be looked at; tell it where it is time to."""
    now = context.clock.now()
    since = claim.unseen_since or now
    due = now >= since + timedelta(seconds=next_tell_s(claim.unseen_tells))
    if not due and why[:1000] == claim.unseen_why:
        return
    tells = claim.unseen_tells + due
    with context.store.write() as session:
        kept = sightings.save_unseen(session, claim, since=since, why=why, tells=tells)
    if kept and due:
        for_s = max(0, round((now - since).total_seconds()))
        log.warning("run.not_seen", run=claim.public_id, since=f"{since:%Y-%m-%dT%H:%M:%SZ}", for_s=for_s, why=why)


def note_seen(context: Context, claim: Claim) -> None:
    """Keep that a run was looked at; tell it where it had been out of sight."""
    if claim.unseen_since is None:
        return
    with context.store.write() as session:
        kept = sightings.save_seen(session, claim)
    if kept:
        away_s = max(0, round((context.clock.now() - claim.unseen_since).total_seconds()))
        log.info("run.seen_again", run=claim.public_id, after_s=away_s)


def next_tell_s(tells: int) -> float:
    """Return the seconds after the beginning of an absence at which it is told again, told so often already."""
    return sum(min(FIRST_PAUSE_S * 2.0**told, LONGEST_PAUSE_S) for told in range(tells))
