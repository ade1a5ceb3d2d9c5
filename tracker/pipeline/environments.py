"""The environment that an attempt captured where it ran, kept as one row per different environment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jobs.fingerprint import fingerprint
from jobs.protocols import JobOutput
from tracker.store import hosts
from tracker.store.engine import Session

LARGEST_BYTES = 4 * 1024 * 1024


def keep_environment(session: Session, outputs: Sequence[JobOutput]) -> tuple[int | None, str]:
    """Return the environment's id (None when none was captured) and the attempt's flags, separated by commas."""
    output = next((output for output in outputs if output.kind == "environment"), None)
    if output is None:
        return None, ""
    captured = _read(output)
    if captured is None:
        return None, "environment_unreadable"
    facts = json.dumps(captured, sort_keys=True)
    given = captured.get("fingerprint")
    named = isinstance(given, str) and given.isascii() and given.isalnum()
    name = str(given) if named else fingerprint("environment", facts)
    flags = [flag for flag, raised in (("unpinned", captured.get("pinned") is False),) if raised]
    flags += ["replayed"] if captured.get("replayed") else []
    return hosts.save_environment(session, fingerprint=name, facts=facts), ",".join(flags)


def _read(output: JobOutput) -> dict[str, Any] | None:
    """Return what was captured; None where the file holds nothing of the kind, as when a benchmark wrote over it."""
    try:
        captured = json.loads(output.path.read_bytes()) if output.size_bytes <= LARGEST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return captured if isinstance(captured, dict) else None
