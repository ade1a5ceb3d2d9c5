"""How others are asked: an end to one request, whatever they do, when they may be asked again, and what is new then.

The timeouts of httpx begin anew with every byte that arrives, so a server that sends one now and then, be it of the
headers, is waited for without end. Here its connection is cut when the time is up.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

LONGEST_WAIT_S = 86_400.0
_OPENED = ("connect_tcp.complete", "start_tls.complete")


class Overdue(Exception):
    """The time for a request is up; what had come of it is not to be used."""


class Connections:
    """The open connections of one client, which is used by one thread.

    Give `note` to each request as `extensions={"trace": connections.note}`, and make it inside `within`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_asking = False
        self._is_overdue = False

    def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the connection that a client has opened; cut it at once where the time is up already."""
        if not event.endswith(_OPENED):
            return
        opened = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets = [one for one in self._sockets if one.fileno() >= 0] + [opened]
            if self._is_overdue:
                _cut(opened)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Raise Overdue, whatever else comes of the block, where it is not done in time."""
        self._is_asking, self._is_overdue = True, False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if self._stop():
                raise Overdue from error
            raise
        finally:
            timer.cancel()
            overdue = self._stop()
        if overdue:
            raise Overdue

    def _stop(self) -> bool:
        """Note that the request is over; return whether its time was up before."""
        with self._lock:
            self._is_asking = False
            return self._is_overdue

    def _end(self) -> None:
        with self._lock:
            if self._is_asking:
                self._is_overdue = True
                for one in self._sockets:
                    _cut(one)


def _cut(connection: socket.socket) -> None:
    """Have whoever waits for a connection wake up; below TLS, whose own farewell would wait for the other side."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def read_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date; None where it says nothing, a day at most."""
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        wait_s = float(text)
    else:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        wait_s = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return min(max(wait_s, 0.0), LONGEST_WAIT_S)


def read_etag(text: str) -> str:
    """Return an ETag as it can be sent back; empty where it cannot, so that all is asked for again."""
    return text if re.fullmatch(r'(?:W/)?"[!#-~]*"', text) and len(text) <= 1000 else ""
