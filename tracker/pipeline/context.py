"""What every step is given: the store, the clock, the settings, and the doors to the outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from alerts.protocol import Sink
from jobs.protocols import Executor, ReleaseSource
from jobs.release_notes.note import NotesAnswer
from tracker.clock import Clock
from tracker.pipeline.statistics import Statistics
from tracker.setting_tables import ReleaseNotesSettings
from tracker.settings import Settings
from tracker.store.engine import Store


class NotesSource(Protocol):
    """Lists what a publisher writes about its releases. Raises `TryLater` or `UserError`, never returns half a list."""

    def list_notes(self) -> NotesAnswer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where this process measures: its host and hardware class, as the store knows them."""

    host_id: int
    hardware_class_id: int
    hardware_fingerprint: str
    gpus: tuple[str, ...] = ()
    memory_bytes: int | None = None


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
    find_suite: Callable[[str], Path]
    open_source: Callable[[str, Mapping[str, Any], str], ReleaseSource]
    """Takes the kind of source, its options and the component whose releases it lists."""
    open_release_notes: Callable[[ReleaseNotesSettings], NotesSource]
    open_executor: Callable[[str], Executor]
    open_sink: Callable[[str], Sink | None]
    """Returns None for a sink that is not set up."""
    sink_is_set_up: Callable[[str], bool]
    render: Callable[[Mapping[str, Any]], bytes]
    """Draws a chart specification as PNG, in a process of its own."""
