"""The log of a run, while it is written."""

from __future__ import annotations

import time
from typing import Any

from tracker.app import App
from tracker.cli.output import note, write
from tracker.cli.runs import find_detail
from tracker.store.runs import FINAL_STATES
from tracker.web.logtails import LogTail, find_log, read_tail

LOOK_EVERY_S = 0.5


def read_log(app: App, named: str) -> dict[str, Any]:
    """Return the end of a run's log with its state; `text` is None where nothing has been printed."""
    detail = find_detail(app, named)
    file = find_log(detail, app.settings.home)
    tail = read_tail(file, None) if file else None
    return {
        "run": detail.run.id,
        "state": detail.run.state,
        "unseen": detail.run.unseen,
        "name": tail.name if tail else None,
        "text": tail.text if tail else None,
        "skipped_bytes": tail.skipped_bytes if tail else 0,
    }


def follow_log(app: App, named: str, *, to_the_end: bool) -> None:
    """Print a run's log, and what is added to it until the run has ended."""
    last: LogTail | None = None
    while True:
        detail = find_detail(app, named)
        file = find_log(detail, app.settings.home)
        while tail := read_new(file, last):
            last = tail
            write_part(tail)
        if not to_the_end or detail.run.state in FINAL_STATES:
            break
        time.sleep(LOOK_EVERY_S)
    if last is None:
        state = f"{detail.run.state}{f': {detail.run.reason}' if detail.run.reason else ''}"
        note(f"nothing has been printed (the run is {state})")


def read_new(file: Any, last: LogTail | None) -> LogTail | None:
    """Return what has not been printed yet, None where there is nothing; another file is read from its start."""
    if file is None:
        return None
    start = last.next if last is not None and last.name == file.name else (0 if last else None)
    tail = read_tail(file, start)
    return tail if tail is not None and tail.text else None


def write_part(tail: LogTail) -> None:
    """Print a part of a log as it is."""
    if tail.skipped_bytes:
        note(f"({tail.skipped_bytes:,} bytes before this are in the file)")
    write(tail.text)
