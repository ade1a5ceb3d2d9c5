"""How commands reach the service: opened for one command, closed after it, with or without a daemon beside it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tracker.cli.output import note

if TYPE_CHECKING:
    from tracker.app import App


@contextmanager
def opened(**overrides: Any) -> Iterator[App]:
    """Give the service with the settings of file and variables, `overrides` winning."""
    with uncollected():
        from tracker.app import open_app
        from tracker.logs import start_logging

    app = open_app(**overrides)
    start_logging("ERROR")
    try:
        yield app
    finally:
        app.close()


@contextmanager
def uncollected() -> Iterator[None]:
    """Import without collecting garbage: nothing of it can be freed, and looking takes a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def note_queued(app: App) -> None:
    """Say when what was just queued waits: for a daemon that does not run, or for a host that starts nothing now."""
    from tracker.pipeline.hosts import standstill

    if not app.daemon_state()["running"]:
        note("queued; no daemon is running, start one with `tracker serve`")
    why = standstill(app.context)
    if why:
        note(f"queued; it waits: {why}")
