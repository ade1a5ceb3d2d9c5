"""The end of what a benchmark prints, while it prints it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tracker.store.views.runs import RunDetail

LIMIT_BYTES = 64 * 1024
LIVE_NAMES = ("run.log", "setup.log")
"""Files of a running attempt, the one to prefer first."""
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """A part of a log. `next` is where the following part starts."""

    name: str
    text: str
    next: int
    skipped_bytes: int = 0
    """How much before the text is not shown."""


def read_tail(file: Path, start: int | None) -> LogTail | None:
    """Return the log from `start`, or its end without one; None where there is no such file. Never over the limit."""
    try:
        with file.open("rb") as log:
            size = log.seek(0, 2)
            begin = max(0, size - LIMIT_BYTES) if start is None or start > size else start
            log.seek(begin)
            raw = log.read(LIMIT_BYTES)
    except OSError:
        return None
    text = _CONTROL.sub("", raw.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n"))
    return LogTail(name=file.name, text=text, next=begin + len(raw), skipped_bytes=begin if start is None else 0)


def find_log(detail: RunDetail, home: Path) -> Path | None:
    """Return the log of the last attempt: the file being written, or what it left; None where there is none yet."""
    if not detail.attempts:
        return None
    last = detail.attempts[-1]
    for kind in ("log", "setup_log"):
        for output in last.outputs:
            if output.kind == kind and output.size_bytes:
                return resolve_output(home, output.path)
    if not _KEY.fullmatch(last.key):
        return None
    files = [resolve_output(home, f"attempts/{last.key}/{name}") for name in LIVE_NAMES]
    return next((file for file in files if file and file.stat().st_size), None)


def resolve_output(home: Path, path: str) -> Path | None:
    """Return the file an output's path means; None for a link, and where that leads out of the service's folder."""
    root = home.resolve()
    file = (root / path).resolve()
    is_ours = file.is_relative_to(root) and not (root / path).is_symlink()
    return file if is_ours and file.is_file() else None
