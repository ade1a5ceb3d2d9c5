"""The lines of a folder of recordings, for the source that lists them and the executor that plays them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from jobs.errors import UserError


def read_recordings(folder: Path, reader: str) -> Iterator[tuple[str, str]]:
    """Yield `file:row` and line of each recording; UserError, for `reader`, where no file can be read."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UserError(f"{reader}: expected *.jsonl files with recordings in {folder}, found none")
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"{reader}: {file} cannot be read: {error.strerror}; remove it or correct it") from error
        for row, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield f"{file}:{row}", line


def read_moment(value: object) -> datetime | None:
    """Return a moment written in ISO 8601 with its zone, in UTC; None for anything else."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
