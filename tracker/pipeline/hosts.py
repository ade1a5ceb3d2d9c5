"""What people and the service do with hosts: add one, look at this machine and at others."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from jobs.environment import Health, hardware_class, hardware_fingerprint, name_hardware
from jobs.errors import TryLater
from jobs.fingerprint import canonical_labels
from jobs.measurements import Label
from tracker.errors import UserError
from tracker.logs import EventLog
from tracker.pipeline.context import Context, Place
from tracker.pipeline.gate import Sighting, keep_health, keep_reach, look, see_others
from tracker.pipeline.settle import settle
from tracker.setting_tables import HOST_NAME
from tracker.store import audit, hosts, runs, standing
from tracker.store.engine import Session
from tracker.store.tables import HostRow

log = EventLog(__name__)

POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


def name_here(context: Context) -> str:
    """Return the name of the host that this process runs on, which the store knows from now on."""
    host_id = context.place().host_id
    with context.store.read() as session:
        return session.get_one(HostRow, host_id).slug


def place_named(context: Context, name: str) -> Place | None:
    """Return the host of this name among those that this service measures on; None where it is none of them."""
    here = name_here(context)
    named = (place for place in context.places() if (here if place.is_here else place.name) == name)
    return next(named, None)


def standstill(context: Context, executors: Collection[str] | None = None) -> str | None:
    """Return why no host that these executors measure on (any, by default) starts anything now; None where one does."""
    now = context.clock.now()
    asked = [p for p in context.places() if executors is None or any(p.takes(name) for name in executors)]
    with context.store.read() as session:
        obstacles = [standing.standing_of(session, place.host_id, now=now).obstacle(now) for place in asked]
    return None if None in obstacles else "; ".join(filter(None, obstacles)) or None


def look_here(context: Context, *, who: str) -> Health:
    """Return how fit this machine is now, kept for others to see; where it is fit it is held no longer."""
    return _keep_look(context, context.place(), None, who=who)


def look_there(context: Context, place: Place, *, who: str) -> Health:
    """Return how fit another host is now, kept for others to see, its hardware too; TryLater where it is away."""
    seen = see_others(context, [place])[place.host_id]
    if not keep_reach(context, place, seen):
        raise TryLater(f"host {place.name} is away: {seen.away}")
    return _keep_look(context, learn_hardware(context, place, seen, who=who), seen, who=who)


def look_at_others(context: Context) -> int:
    """Look at every other host; return of how many more it is known what hardware they have.

    Of one on which something runs only the engine is asked.
    """
    places = {place.host_id: place for place in context.places() if not place.is_here}
    busy = {host_id for host_id, place in places.items() if _own_runs(context, place)}
    learnt = 0
    for host_id, seen in see_others(context, list(places.values()), busy=busy).items():
        place = places[host_id]
        if not keep_reach(context, place, seen) or host_id in busy:
            continue
        known = learn_hardware(context, place, seen, who=context.owner) if place.gpus is None else place
        learnt += known is not place
        _keep_look(context, known, seen, who=context.owner)
    return learnt


def learn_hardware(context: Context, place: Place, seen: Sighting, *, who: str) -> Place:
    """Return the host as it was seen to be, kept from now on; as it was where the look did not tell."""
    if seen.machine is None or not seen.machine.is_whole:
        return place
    slug, labels = hardware_class(seen.machine.host)
    if hardware_fingerprint(labels) == place.hardware_fingerprint:
        return place
    with context.store.write() as session:
        _save_hardware(session, place.name, labels, who=who, now=context.clock.now())
    log.info("host.hardware", host=place.name, hardware=slug)
    return next(one for one in context.places() if one.host_id == place.host_id)


def _keep_look(context: Context, place: Place, seen: Sighting | None, *, who: str) -> Health:
    health = look(context, place, own_runs=_own_runs(context, place), seen=seen)
    with context.store.write() as session:
        keep_health(session, place.host_id, health, who=who, now=context.clock.now())
    return health


def _own_runs(context: Context, place: Place) -> int:
    with context.store.read() as session:
        return hosts.count_running(session, place.host_id)


def add_host(
    context: Context,
    name: str,
    *,
    hardware: Mapping[str, Label] | None,
    slots: int | None,
    pools: Sequence[str] | None,
    who: str,
) -> bool:
    """Add a host, or change what is named of a known one; return whether it is new.

    `hardware` is what it has, for a machine that cannot be probed from here; UserError where a new one has none.
    """
    check_names(name, pools or ())
    place = place_named(context, name)
    if place is not None and place.tells and hardware is not None:
        raise UserError(
            f"{name} is looked at by ssh, which tells its hardware; leave --gpu, --gpus, --cpu, --cores out"
        )
    now = context.clock.now()
    with context.store.write() as session:
        known = hosts.hardware_of_host(session, name)
        if known is None and hardware is None:
            raise UserError(
                f"host {name!r} is not this machine and is not known, so its hardware must be named: --gpu with --gpus,"
                " or --cpu with --cores"
            )
        if hardware is not None:
            _save_hardware(session, name, hardware, who=who, now=now)
        standing.set_shape(session, name, slots=slots, pools=pools, who=who, now=now)
    return known is None


def _save_hardware(session: Session, name: str, hardware: Mapping[str, Label], *, who: str, now: datetime) -> None:
    """Keep what hardware a host has; what is queued for it under what it was before is planned again."""
    known, slug = hosts.hardware_of_host(session, name), name_hardware(hardware)
    class_id = hosts.save_hardware_class(
        session,
        fingerprint=hardware_fingerprint(hardware),
        slug=slug,
        labels=canonical_labels(dict(hardware)),
    )
    hosts.save_host(session, slug=name, hardware_class_id=class_id, now=now)
    if known is not None and known[0] == class_id:
        return
    event = "host:added" if known is None else "host:hardware_changed"
    audit.record(session, at=now, who=who, event=event, subject=name, hardware=slug)
    if known is not None and hosts.is_unknown(session, known[0]):
        why = f"host {name} is known to have {slug} now; releases are planned for that"
        for run in runs.drop_queued(session, known[0], why=why, now=now):
            settle(session, run)


def check_names(name: str, pools: Sequence[str]) -> None:
    """Raise UserError for a host or a pool that cannot be named so."""
    if not HOST_NAME.fullmatch(name):
        raise UserError(f"host: expected letters, digits, dots, dashes and underscores, found {name[:100]!r}")
    for pool in pools:
        if not POOL_NAME.fullmatch(pool):
            raise UserError(f"pool: expected lower-case letters, digits, dots and dashes, found {pool[:100]!r}")
