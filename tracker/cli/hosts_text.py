"""Hosts as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tracker.cli.names import shorten
from tracker.cli.output import Column, format_time, has_colors, paint, write

if TYPE_CHECKING:
    from tracker.store.views.hosts import HostDetail, HostItem

COLUMNS = (
    Column(title="host"),
    Column(title="state"),
    Column(title="hardware", give=True),
    Column(title="slots", right=True),
    Column(title="waiting", right=True, drop=True),
    Column(title="engine", drop=True),
    Column(title="reach"),
    Column(title="pools", drop=True),
    Column(title="health"),
    Column(title="looked at", drop=True),
    Column(title="why it starts nothing", give=True),
)
_TONES = {"ok": "good", "refused": "bad"}
_WIDTH = 7


_STATE_WORDS = {"maintenance": "is in maintenance", "held": "is held after a refusal", "away": "is away"}


class FindingLine(Protocol):
    """A finding, fresh or stored."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def found(self) -> str: ...
    @property
    def wanted(self) -> str: ...


def host_row(one: HostItem) -> tuple[object, ...]:
    """Return the cells of a host."""
    slots, pools = f"{one.running}/{one.slots}", ", ".join(one.pools)
    health = one.health or "never looked at"
    cells = (one.name, one.state, one.hardware, slots, one.waiting, one.engine, one.reach)
    return *cells, pools, health, one.health_at, one.obstacle


def write_findings(findings: Sequence[FindingLine]) -> None:
    """Print what a look found, one line each."""
    for one in findings:
        state = paint(one.state.ljust(_WIDTH), _TONES.get(one.state), has_colors())
        write(f"  {state}  {one.name}: {one.found}" + (f", wanted {one.wanted}" if one.wanted else ""))


def _set_by(host: HostItem) -> str:
    """Return who put a host into its state, when and why; for a hold until when."""
    if host.state == "held":
        return f" until {format_time(host.held_until)}"
    if host.state in ("ready", "maintenance", "away"):
        return ""
    return f", by {host.by} at {format_time(host.since)}" + (f": {host.why}" if host.why else "")


def describe_reach(host: HostItem) -> str:
    """Return whether a host on another machine answers, since when, and why not."""
    if host.reach == "away":
        return f"away since {format_time(host.reach_since)}: {host.away_why}"
    if host.reach == "answers":
        return f"answered at {format_time(host.reach_since)}"
    return "not asked yet"


def write_host(detail: HostDetail) -> None:
    """Print everything that is known of a host."""
    host = detail.host
    write(f"{host.name} {_STATE_WORDS.get(host.state, f'is {host.state}')}{_set_by(host)}")
    labels = ", ".join(f"{name} {value}" for name, value in host.labels.items())
    write(f"hardware {host.hardware} ({labels})")
    pools = f", pools {', '.join(host.pools)}" if host.pools else ", in no pool"
    write(f"slots {host.running} of {host.slots} in use, {host.waiting} runs wait{pools}")
    if host.engine or host.reach:
        write(f"engine {host.engine or 'none any more'}, {describe_reach(host)}")
    write(f"last run {format_time(host.last_run_at)}")
    if detail.findings:
        write(f"health at {format_time(host.health_at)}: {host.health}")
        write_findings(detail.findings)
    else:
        write(f"health: nobody has looked yet; `tracker hosts check {host.name}` looks")
    if host.refusal:
        write(f"last refusal {format_time(host.refused_at)}: {host.refusal}")
    for window in detail.windows:
        times = f"{format_time(window.starts_at)} to {format_time(window.ends_at)} UTC"
        write(f"maintenance {window.number}, {times}: {window.why} ({window.who})")
    for run in detail.running:
        write(f"running {shorten(run.id)}: {run.component}/{run.release.display}, {run.suite}, repeat {run.repeat}")
    for event in detail.events:
        said = " ".join(f"{name}={value}" for name, value in event.detail.items() if value not in ("", None))
        write(f"{format_time(event.at)}  {event.who}  {event.event}  {said}".rstrip())
