"""Logs of containers: the framed stream of an engine, written to disk up to a limit.

Without a terminal an engine sends frames of 8 bytes and a payload: the stream (1 output, 2 errors), three zero bytes,
the payload's length as a big-endian number. Both streams go into one file, in the order they came.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from jobs.executors._engine_client import EngineAway, EngineRefused

_HEADER_BYTES = 8
_STREAMS = (0, 1, 2, 3)


def read_frames(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the payloads of a framed stream as they come; what is not framed is passed on as it is."""
    held, left = bytearray(), 0
    plain = False
    for chunk in chunks:
        held += chunk
        while held:
            if plain:
                yield bytes(held)
                held.clear()
            elif left:
                part = bytes(held[:left])
                del held[: len(part)]
                left -= len(part)
                yield part
            elif held[0] not in _STREAMS or any(held[1:4]):
                plain = True
            elif len(held) < _HEADER_BYTES:
                break
            else:
                left = int.from_bytes(held[4:8])
                del held[:_HEADER_BYTES]


def write_log(payloads: Iterable[bytes], path: Path, *, limit_bytes: int) -> bool:
    """Write payloads to a file and return whether they are more than the limit; reading stops there."""
    written = 0
    with path.open("wb", buffering=0) as file:
        for payload in payloads:
            file.write(payload[: limit_bytes - written])
            written += len(payload)
            if written > limit_bytes:
                return True
    return False


@dataclass(slots=True)
class LogFollower:
    """Writes a container's log while it runs, in a thread; `flooded` is set once it is over the limit.

    The file is written anew each time the stream has to be opened again, so that no line is in it twice.
    """

    open_log: Callable[[], AbstractContextManager[Iterator[bytes]]]
    path: Path
    limit_bytes: int
    flooded: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        """Whether the stream is being read."""
        return self._thread is not None and self._thread.is_alive()

    def follow(self) -> None:
        """Open the stream unless it is open."""
        if not self.flooded.is_set() and not self.is_open:
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    def _read(self) -> None:
        try:
            with self.open_log() as chunks:
                if write_log(read_frames(chunks), self.path, limit_bytes=self.limit_bytes):
                    self.flooded.set()
        except (EngineAway, EngineRefused, OSError):
            return  # opened again by the next `follow`, or read as a whole at the end


def keep_log(payloads: Iterable[bytes], path: Path, *, limit_bytes: int) -> bool:
    """Write a whole log in one step over what was followed; return whether it is more than the limit."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        flooded = write_log(payloads, draft, limit_bytes=limit_bytes)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return flooded
