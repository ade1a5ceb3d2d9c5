"""gate: is this machine fit to measure on now, and what becomes of the run that would start when it is not.

A refusal holds the host for a while, so that one run waits and not the whole queue. What no waiting heals, and what
was refused too often in a row, cordons the host until a person has looked.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from jobs.environment import Health, Wanted, judge_health, look_at_machine
from jobs.suite import Suite
from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.pipeline.plan import ELSEWHERE
from tracker.pipeline.settle import settle
from tracker.pipeline.suites import read_suite_text
from tracker.setting_tables import HealthSettings
from tracker.settings import Settings
from tracker.store import audit, claims, standing
from tracker.store.claims import Waiting
from tracker.store.engine import Session
from tracker.store.tables import HostRow

log = EventLog(__name__)

GATE = "health gate"
"""Who cordons a host, in its state and in the audit."""
LONGEST_WAIT_S = 1800.0
_BYTES = 1_000_000_000


def admits(context: Context, waiting: Waiting, *, own_runs: int) -> bool:
    """Return whether this machine may start the run now; a refusal is kept with the run and the host.

    `own_runs` is how many of the service's own are on it already.
    """
    settings = context.settings
    if not settings.health.gate or not measured_here(read_suite_text(waiting.suite_text, waiting.suite_file), settings):
        return True
    health = look(context, own_runs=own_runs)
    now = context.clock.now()
    with context.store.write() as session:
        keep_health(session, context.place().host_id, health, who=context.owner, now=now)
        if health.state != "refused":
            return True
        _refuse(context, session, waiting, health, now=now)
    return False


def measured_here(suite: Suite, settings: Settings) -> bool:
    """Return whether a suite's runs load this machine: not those that are replayed, or run on other machines."""
    if suite.run.executor == "docker_engine":
        return settings.docker.engine.startswith("unix:")
    return suite.run.executor not in ELSEWHERE


def look(context: Context, *, own_runs: int = 0) -> Health:
    """Return how fit this machine is now."""
    sight = look_at_machine(context.settings.home)
    gpus = len(context.place().gpus)
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


def _refuse(context: Context, session: Session, waiting: Waiting, health: Health, *, now: datetime) -> None:
    """Put the run back with the reason, or give it up; hold the host, or cordon it."""
    settings, host_id = context.settings.health, context.place().host_id
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
