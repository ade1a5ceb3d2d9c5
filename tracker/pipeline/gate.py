"""gate: is a host fit to measure on now, and what becomes of the run that would start when it is not.

A refusal holds the host for a while, so that one run waits and not the whole queue. What no waiting heals, and what
was refused too often in a row, cordons the host until a person has looked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.environment import Finding, Health, Machine, Wanted, judge_health, look_at_machine
from jobs.errors import JobsError
from jobs.suite import Suite
from tracker.logs import EventLog
from tracker.pipeline.context import Context, Place
from tracker.pipeline.plan import ELSEWHERE
from tracker.pipeline.settle import settle
from tracker.pipeline.suites import read_suite_text
from tracker.setting_tables import HealthSettings
from tracker.store import audit, claims, hosts, standing
from tracker.store.claims import Waiting
from tracker.store.engine import Session
from tracker.store.tables import HostRow

log = EventLog(__name__)

GATE = "health gate"
"""Who cordons a host, in its state and in the audit."""
LONGEST_WAIT_S = 1800.0
UNSEEN = Health(
    findings=(
        Finding(name="engine", state="ok", found="answers"),
        Finding(
            name="machine", state="unknown", found="can be looked at by ssh only, and its engine is reached otherwise"
        ),
    ),
    driver=None,
    gpus=0,
)
"""How another host is of which only the engine answers."""
_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What came of looking at another host."""

    machine: Machine | None = None
    """None where only its engine answers, and where nothing does."""
    away: str = ""
    """Why nothing does; empty where something does."""


def admits(context: Context, place: Place, waiting: Waiting, *, own_runs: int, seen: Sighting | None = None) -> bool:
    """Return whether a host may start the run now; a refusal is kept with the run and the host.

    `own_runs` is how many of the service's own are on it already, `seen` what was seen of it where it is another.
    """
    settings = context.settings
    if seen is not None and not keep_reach(context, place, seen):
        return False
    if not settings.health.gate or not measured_here(read_suite_text(waiting.suite_text, waiting.suite_file)):
        return True
    health = look(context, place, own_runs=own_runs, seen=seen)
    now = context.clock.now()
    with context.store.write() as session:
        keep_health(session, place.host_id, health, who=context.owner, now=now)
        if health.state != "refused":
            return True
        _refuse(context, session, place, waiting, health, now=now)
    return False


def measured_here(suite: Suite) -> bool:
    """Return whether a suite's runs load the host that starts them: not those that are replayed, or in a cluster."""
    return suite.run.executor not in ELSEWHERE


def see_others(context: Context, places: Sequence[Place], *, busy: Collection[int] = ()) -> dict[int, Sighting]:
    """Return what is seen of other hosts now, by host; all are looked at at once, so that no one holds up the rest.

    Of hosts that are `busy` only the engine is asked: a look at the machine would disturb what is measured.
    """
    if not places:
        return {}
    with ThreadPoolExecutor(max_workers=len(places), thread_name_prefix="look") as pool:
        seen = pool.map(lambda place: _see(context, place, whole=place.host_id not in busy), places)
        return {place.host_id: one for place, one in zip(places, seen, strict=True)}


def _see(context: Context, place: Place, *, whole: bool) -> Sighting:
    try:
        return Sighting(machine=context.look_at(place, whole))
    except (JobsError, OSError) as error:
        return Sighting(away=str(error))


def keep_reach(context: Context, place: Place, seen: Sighting) -> bool:
    """Keep whether another host answers, told once each time that changes; return whether it does."""
    now = context.clock.now()
    with context.store.write() as session:
        if seen.away:
            news = hosts.note_away(session, place.host_id, why=seen.away, now=now)
        else:
            news = hosts.note_answer(session, place.host_id, now=now)
    if news and seen.away:
        log.warning("host.away", host=place.name, why=seen.away)
    elif news:
        log.info("host.answers", host=place.name)
    return not seen.away


def look(context: Context, place: Place, *, own_runs: int = 0, seen: Sighting | None = None) -> Health:
    """Return how fit a host is now; of another one, how it was `seen`."""
    if place.is_here:
        sight = look_at_machine(context.settings.home)
    elif seen is not None and seen.machine is not None:
        sight = seen.machine.sight
    else:
        return UNSEEN
    gpus = len(place.gpus or ())
    return judge_health(sight, wanted_of(context.settings.health), gpus=gpus, own_runs=own_runs)


def wanted_of(settings: HealthSettings) -> Wanted:
    """Return what the settings want of a machine; a limit of 0 wants nothing."""
    return Wanted(
        max_temperature_c=settings.max_temperature_c or None,
        slowdowns=tuple(settings.slowdowns),
        max_memory_used_bytes=round(settings.max_gpu_memory_gb * _BYTES) or None,
        other_processes=settings.other_processes,
        power_limit_w=settings.power_limit_w,
        graphics_clock_mhz=settings.graphics_clock_mhz,
        memory_clock_mhz=settings.memory_clock_mhz,
        driver=settings.driver,
        min_free_bytes=round(settings.min_free_gb * _BYTES) or None,
        max_load_per_core=settings.max_load_per_core or None,
    )


def keep_health(session: Session, host_id: int, health: Health, *, who: str, now: datetime) -> None:
    """Keep what a look found; a driver that is another one than last time is put on record."""
    row = session.get_one(HostRow, host_id)
    before = json.loads(row.health).get("driver")
    if before and health.driver and before != health.driver:
        audit.record(
            session, at=now, who=who, event="host:driver_changed", subject=row.slug, before=before, after=health.driver
        )
    text = json.dumps(health.to_json(), sort_keys=True)
    standing.save_health(session, host_id, text, healthy=health.state != "refused", now=now)


def _refuse(
    context: Context, session: Session, place: Place, waiting: Waiting, health: Health, *, now: datetime
) -> None:
    """Put the run back with the reason, or give it up; hold the host, or cordon it."""
    settings, host_id = context.settings.health, place.host_id
    slug = session.get_one(HostRow, host_id).slug
    why = "; ".join(one.words for one in health.refusals)
    tries = waiting.refusals + 1
    give_up = not health.lasting and tries >= settings.max_refusals
    until = None
    if health.lasting:
        said = f"host {slug} is cordoned, as waiting heals nothing here: {why}; `tracker hosts uncordon` ends that"
        standing.set_state(session, slug, standing.CORDONED, why=why[:500], who=GATE, now=now)
    elif give_up:
        said = f"infra_failed: host {slug} refused to start it {tries} times in a row, at last for: {why}"
        reason = f"refused a run {tries} times in a row: {why}"[:500]
        standing.set_state(session, slug, standing.CORDONED, why=reason, who=GATE, now=now)
    else:
        until = now + timedelta(seconds=min(LONGEST_WAIT_S, settings.retry_after_s * 2 ** (tries - 1)))
        again = f"looked at again at {until:%H:%M:%S} UTC"
        said = f"host {slug} refused to start it ({tries} of {settings.max_refusals}): {why}; {again}"
    standing.hold_host(session, host_id, refusal=why, until=until, now=now)
    counted = not health.lasting
    if not claims.refuse(session, waiting, host_id=host_id, why=said, give_up=give_up, counted=counted, now=now):
        return
    audit.record(session, at=now, who=GATE, event="host:refused", subject=slug, run=waiting.public_id, why=why)
    if give_up:
        audit.record(session, at=now, who=GATE, event="run:ended", subject=waiting.public_id, state="failed", why=said)
        session.flush()
        settle(session, waiting.run_id)
    log.warning("run.refused", run=waiting.public_id, host=slug, tries=tries, why=why)
