"""The time: one port, so that tests can set it. Everything is UTC."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where every step takes the time from."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def new_public_id() -> str:
    """Return a UUIDv7 as text: ordered by time, shown where a URL or a message names a thing (RFC 9562)."""
    millis = time.time_ns() // 1_000_000
    number = (millis & (2**48 - 1)) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
