"""Recordings of what was measured, one line a run, for the replay executor: how a demo is made."""

from __future__ import annotations

import json
from collections.abc import Iterator

from jobs.executors.replay import record_folder
from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.store import runs

TOLD = ("hardware_class", "pinned", "python")


def list_recordings(context: Context, suite_name: str) -> Iterator[str]:
    """Yield one line per planned run of a suite that gave values; UserError when there is none.

    Logs, package lists and what names the machine are left out, since a recording may go to other people.
    """
    with context.store.read() as session:
        keys = runs.good_attempts(session, suite_name)
    if not keys:
        raise UserError(f"suite {suite_name!r} has no measured run; `tracker runs list` shows what there is")
    for key in keys:
        recording = json.loads(record_folder(context.settings.home / "attempts" / key))
        environment = recording["environment"]
        told = {name: environment[name] for name in TOLD if name in environment}
        yield json.dumps({**recording, "log": "", "environment": told}, sort_keys=True)
