"""The environment that an attempt captured where it ran, kept as one row per different environment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from jobs.fingerprint import fingerprint
from jobs.protocols import JobOutput
from tracker.store import hosts
from tracker.store.engine import Session


def keep_environment(session: Session, outputs: Sequence[JobOutput]) -> tuple[int | None, str]:
    """Return the environment's id (None when none was captured) and the attempt's flags, separated by commas."""
    file = next((output.path for output in outputs if output.kind == "environment"), None)
    if file is None:
        return None, ""
    try:
        captured = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None, "environment_unreadable"
    facts = json.dumps(captured, sort_keys=True)
    name = captured.get("fingerprint") or fingerprint("environment", facts)
    flags = [flag for flag, raised in (("unpinned", captured.get("pinned") is False),) if raised]
    flags += ["replayed"] if captured.get("replayed") else []
    return hosts.save_environment(session, fingerprint=name, facts=facts), ",".join(flags)
