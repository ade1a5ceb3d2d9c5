"""What people do with hosts: add one, and look at this one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jobs.environment import Health, hardware_fingerprint, name_hardware
from jobs.fingerprint import canonical_labels
from jobs.measurements import Label
from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.pipeline.gate import keep_health, look
from tracker.store import audit, hosts, standing
from tracker.store.tables import HostRow

HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


def name_here(context: Context) -> str:
    """Return the name of the host that this process runs on, which the store knows from now on."""
    host_id = context.place().host_id
    with context.store.read() as session:
        return session.get_one(HostRow, host_id).slug


def look_here(context: Context, *, who: str) -> Health:
    """Return how fit this machine is now, kept for others to see; where it is fit it is held no longer."""
    host_id, now = context.place().host_id, context.clock.now()
    with context.store.read() as session:
        own_runs = hosts.count_running(session, host_id)
    health = look(context, own_runs=own_runs)
    with context.store.write() as session:
        keep_health(session, host_id, health, who=who, now=now)
    return health


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
    now = context.clock.now()
    with context.store.write() as session:
        known = hosts.hardware_of_host(session, name)
        if known is None and hardware is None:
            raise UserError(
                f"host {name!r} is not this machine and is not known, so its hardware must be named: --gpu with --gpus,"
                " or --cpu with --cores"
            )
        if hardware is not None:
            class_id = hosts.save_hardware_class(
                session,
                fingerprint=hardware_fingerprint(hardware),
                slug=name_hardware(hardware),
                labels=canonical_labels(dict(hardware)),
            )
            hosts.save_host(session, slug=name, hardware_class_id=class_id, now=now)
            if known is None or known[0] != class_id:
                event = "host:added" if known is None else "host:hardware_changed"
                audit.record(session, at=now, who=who, event=event, subject=name, hardware=name_hardware(hardware))
        standing.set_shape(session, name, slots=slots, pools=pools, who=who, now=now)
    return known is None


def check_names(name: str, pools: Sequence[str]) -> None:
    """Raise UserError for a host or a pool that cannot be named so."""
    if not HOST_NAME.fullmatch(name):
        raise UserError(f"host: expected letters, digits, dots, dashes and underscores, found {name[:100]!r}")
    for pool in pools:
        if not POOL_NAME.fullmatch(pool):
            raise UserError(f"pool: expected lower-case letters, digits, dots and dashes, found {pool[:100]!r}")
