"""The environment that an attempt captured where it ran, kept as one row per different environment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.characters import find_unstorable
from jobs.environment import hardware_fingerprint
from jobs.fingerprint import canonical_labels, fingerprint
from jobs.protocols import JobOutput
from tracker.store import hosts
from tracker.store.engine import Session
from tracker.store.views.runs import Attempt, RunDetail

LARGEST_BYTES = 4 * 1024 * 1024
OF_ONE_ATTEMPT = ("build", "program", "requirements", "assets", "packages", "software", "scheduler")
"""Parts that attempts in one environment may have apart: they stay in the attempt's own file."""


def keep_environment(session: Session, outputs: Sequence[JobOutput]) -> tuple[int | None, str]:
    """Return the environment's id (None when none was captured) and the attempt's flags, separated by commas."""
    output = next((output for output in outputs if output.kind == "environment"), None)
    if output is None:
        return None, ""
    captured = _read(output.path, output.size_bytes)
    if captured is None:
        return None, "environment_unreadable"
    given = captured.get("fingerprint")
    named = isinstance(given, str) and given.isascii() and given.isalnum()
    name = str(given) if named else fingerprint("environment", json.dumps(captured, sort_keys=True))
    flags = [flag for flag, raised in (("unpinned", captured.get("pinned") is False),) if raised]
    flags += ["replayed"] if captured.get("replayed") else []
    shared = {key: value for key, value in captured.items() if key not in OF_ONE_ATTEMPT}
    facts = json.dumps(shared, sort_keys=True)
    return hosts.save_environment(session, fingerprint=name, facts=facts), ",".join(flags)


def captured_hardware(session: Session, environment_id: int | None) -> tuple[int, str] | None:
    """Return id and fingerprint of the hardware class that an attempt captured where it ran; None where it has none."""
    facts = hosts.environment_facts(session, environment_id) if environment_id else None
    captured = json.loads(facts).get("hardware_class") if facts else None
    if not isinstance(captured, dict) or not isinstance(captured.get("labels"), dict):
        return None
    slug, labels = captured.get("slug"), captured["labels"]
    plain = all(isinstance(label, str | int | float) for label in labels.values())
    if not (isinstance(slug, str) and slug and labels and plain) or find_unstorable([slug, labels]):
        return None
    name = hardware_fingerprint(labels)
    row_id = hosts.save_hardware_class(session, fingerprint=name, slug=slug, labels=canonical_labels(labels))
    return row_id, name


def show_environments(detail: RunDetail, home: Path) -> RunDetail:
    """Return the run with all that each attempt captured; where its file is gone, with what the environment shares."""
    attempts = [replace(one, environment=_captured_by(one, home) or one.environment) for one in detail.attempts]
    return replace(detail, attempts=tuple(attempts))


def _captured_by(attempt: Attempt, home: Path) -> dict[str, Any] | None:
    output = next((output for output in attempt.outputs if output.kind == "environment"), None)
    root = home.resolve()
    path = (root / output.path).resolve() if output else root
    if output is None or not path.is_relative_to(root) or (root / output.path).is_symlink():
        return None
    return _read(path, output.size_bytes)


def _read(path: Path, size_bytes: int) -> dict[str, Any] | None:
    """Return what was captured; None where the file holds nothing of the kind, as when a benchmark wrote over it."""
    try:
        captured = json.loads(path.read_bytes()) if size_bytes <= LARGEST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return captured if isinstance(captured, dict) else None
