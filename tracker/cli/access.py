"""How commands reach the service: opened for one command, closed after it, with or without a daemon beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tracker.cli.output import note

if TYPE_CHECKING:
    from tracker.app import App


@contextmanager
def opened(**overrides: Any) -> Iterator[App]:
    """Give the service with the settings of file and variables, `overrides` winning."""
    from tracker.app import open_app
    from tracker.logs import start_logging

    app = open_app(**overrides)
    start_logging("ERROR")
    try:
        yield app
    finally:
        app.close()


def note_queued(app: App) -> None:
    """Say when what was just queued waits for a daemon that does not run."""
    if not app.daemon_state()["running"]:
        note("queued; no daemon is running, start one with `tracker serve`")
