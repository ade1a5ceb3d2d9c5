"""The pages' server and the daemon in one process: the port, the signals, and an end within seconds."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import uvicorn

from tracker.app import App
from tracker.errors import UserError
from tracker.logs import EventFormatter, RepeatFilter
from tracker.web.server import create_web

STOP_PAGES_WITHIN_S = 2
LOG_LIMIT_BYTES = 5_000_000


def start_logs(level: str, file: Path | None = None) -> None:
    """Send the service's events, and the warnings of what it is made of, to standard error or to a file."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=LOG_LIMIT_BYTES, backupCount=2, encoding="utf-8")
    handler.setFormatter(EventFormatter())
    handler.addFilter(RepeatFilter())
    logging.getLogger().handlers[:] = [handler]
    service = logging.getLogger("tracker")
    service.handlers.clear()
    service.propagate = True
    service.setLevel(level)
    # the scheduler warns each time a step is still at work when its turn comes again, which is how it should be
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; UserError that says what to do when it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except socket.gaierror as error:
        raise UserError(f"host {host!r} is no address of this machine ({error.strerror}); use 127.0.0.1") from error
    except OSError as error:
        raise UserError(_explain_port(host, port, error.errno, os.strerror(error.errno or 0))) from error


def _explain_port(host: str, port: int, number: int | None, said: str) -> str:
    if number == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is taken by another program; stop it, or choose another port:"
            f" --port {port + 1 if port < 65535 else port - 1} (or TRACKER_PORT)"
        )
    if number == errno.EACCES:
        return f"port {port} is reserved for the system; choose one from 1024 on: --port 8765 (or TRACKER_PORT)"
    return f"cannot listen on {host}, port {port}: {said.lower()}; check host and port in the settings"


def address_of(app: App) -> str:
    """Return where a person at this machine opens the pages."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(app.settings.host, app.settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{app.settings.port}/"


class Pages(uvicorn.Server):
    """The pages' server; says when it is ready and leaves the signals to `until_stopped`."""

    def __init__(self, app: App, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                create_web(app),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=STOP_PAGES_WITHIN_S,
            )
        )
        self._on_ready = on_ready

    def capture_signals(self) -> Any:
        return nullcontext()

    def stop(self) -> None:
        """End when what is being answered has been answered."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()


@contextmanager
def until_stopped(stop: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM call `stop`, again and again, until the block has ended in its own time."""
    before = {one: signal.signal(one, lambda *_: stop()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def leave(*, in_time: bool) -> None:
    """End the process at once where a step hangs, since the interpreter would wait for it."""
    if not in_time:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def open_browser(address: str) -> None:
    """Open the pages where there is a desktop; elsewhere the printed address has to do."""
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
