"""What every step is given: the store, the clock, the settings, and the doors to the outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from alerts.protocol import Sink
from jobs.environment import Machine
from jobs.protocols import Executor, ReleaseSource
from jobs.release_notes.note import NotesAnswer
from tracker.clock import Clock
from tracker.pipeline.statistics import Statistics
from tracker.setting_tables import ReleaseNotesSettings
from tracker.settings import Settings
from tracker.store.engine import Store
from tracker.store.hosts import ServedHost

CONTAINERS = "docker_engine"
"""The executor that measures on every host whose engine is used."""


class NotesSource(Protocol):
    """Lists what a publisher writes about its releases. Raises `TryLater` or `UserError`, never returns half a list."""

    def list_notes(self) -> NotesAnswer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A host that this process measures on, as the store knows it: its own machine, or one whose engine it reaches."""

    host_id: int
    hardware_class_id: int
    hardware_fingerprint: str
    gpus: tuple[str, ...] | None = ()
    """None: nobody has said or seen what hardware it has."""
    memory_bytes: int | None = None
    name: str = ""
    is_here: bool = True
    containers: bool = True
    """Whether its container engine is used."""
    tells: bool = True
    """Whether the machine itself can be looked at: here, or by ssh."""

    def takes(self, executor: str) -> bool:
        """Return whether an executor measures here; all but that of containers do on this machine, or start there."""
        return self.containers if executor == CONTAINERS else self.is_here


def place_of(host: ServedHost, *, tells: bool) -> Place:
    """Return another host as a place to measure on; its GPUs are those of its hardware class, if that says how many."""
    counted = host.is_known and ("gpu" in host.labels) == ("gpu_count" in host.labels)
    gpus = (str(host.labels.get("gpu", "")),) * int(host.labels.get("gpu_count", 0))
    return Place(
        host_id=host.host_id,
        hardware_class_id=host.hardware_class_id,
        hardware_fingerprint=host.hardware_fingerprint,
        gpus=gpus if counted else None,
        name=host.name,
        is_here=False,
        tells=tells,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The doors of the pipeline; made once by `tracker.app`."""

    store: Store
    settings: Settings
    clock: Clock
    owner: str
    """Names this daemon in leases; the same after a restart, so that it finds its own runs again."""
    statistics: Statistics
    place: Callable[[], Place]
    """This machine."""
    places: Callable[[], tuple[Place, ...]]
    """Every host that is measured on, this machine first, as the store knows them now."""
    find_suite: Callable[[str], Path]
    open_source: Callable[[str, Mapping[str, Any], str], ReleaseSource]
    """Takes the kind of source, its options and the component whose releases it lists."""
    open_release_notes: Callable[[ReleaseNotesSettings], NotesSource]
    open_executor: Callable[[str, Place | None], Executor]
    """Takes its name and the host that it is to measure on; None for a host that is not used any more."""
    look_at: Callable[[Place, bool], Machine | None]
    """Takes another host, and whether its machine is to be looked at too; returns what is seen of that.

    None where only its engine answers, or is asked. JobsError where nothing does.
    """
    open_sink: Callable[[str], Sink | None]
    """Returns None for a sink that is not set up."""
    sink_is_set_up: Callable[[str], bool]
    render: Callable[[Mapping[str, Any]], bytes]
    """Draws a chart specification as PNG, in a process of its own."""
