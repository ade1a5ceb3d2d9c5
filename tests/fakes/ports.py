"""Ports of loopback for programs that must be told theirs; what can choose one itself is given port 0 instead."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_NEVER_GIVEN_OUT = range(20_000, 32_000)
"""Below what systems hand out for port 0 and for a client's own end."""


def free_port() -> int:
    """Return a port that nobody uses now, and that nobody gets by chance before the program listens on it."""
    for port in random.SystemRandom().sample(_NEVER_GIVEN_OUT, 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port of loopback is free")
