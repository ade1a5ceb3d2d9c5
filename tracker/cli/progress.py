"""What `serve --progress` shows: a line that is kept up to date below everything else that is printed."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from tracker.app import App
from tracker.cli.output import clean, fold
from tracker.logs import EventLog

log = EventLog(__name__)

LOOK_EVERY_S = 1.0
PLAIN_EVERY_S = 10.0
_CLEAR = "\r\x1b[2K"


class StatusLine:
    """A stream with a last line of its own: what others write appears above it.

    On anything but a terminal the line is printed like any other, at most every `PLAIN_EVERY_S` seconds.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._live = stream.isatty()
        self._lock = threading.RLock()
        self._shown = ""
        self._printed = ""
        self._printed_at: float | None = None
        self._at_start = True
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.name = getattr(stream, "name", "stream")

    def write(self, text: str) -> int:
        """Print text above the line."""
        with self._lock:
            if self._live and self._shown and self._at_start:
                self._stream.write(_CLEAR)
            self._stream.write(fold(text, shutil.get_terminal_size().columns) if self._live else text)
            self._at_start = text.endswith("\n") if text else self._at_start
            self._draw()
        return len(text)

    def show(self, text: str) -> None:
        """Put this text in the line's place; an empty one takes the line away."""
        with self._lock:
            if self._live and text != self._shown:
                if self._shown and self._at_start:
                    self._stream.write(_CLEAR)
                self._shown = text
                self._draw()
            elif not self._live:
                self._print_now_and_then(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._live

    def fileno(self) -> int:
        return self._stream.fileno()

    def _draw(self) -> None:
        if self._live and self._shown and self._at_start:
            width = shutil.get_terminal_size().columns
            self._stream.write(self._shown if len(self._shown) < width else self._shown[: width - 2] + "…")
        self._stream.flush()

    def _print_now_and_then(self, text: str) -> None:
        now = self._clock()
        due = self._printed_at is None or now - self._printed_at >= PLAIN_EVERY_S
        if text and text != self._printed and due:
            self._printed, self._printed_at = text, now
            self._stream.write(text + "\n")
            self._stream.flush()


class Display:
    """Tells the story below what others print, from `start` to `end`; in between, standard output is its line."""

    def __init__(self, app: App) -> None:
        from tracker.cli.story import Story

        self._before = sys.stdout
        self._line = line = StatusLine(self._before)
        story = Story(app, say=lambda text: print(clean(text), file=line), show=lambda text: line.show(clean(text)))
        self._ended = threading.Event()
        self._teller = threading.Thread(target=_tell, args=(story.go_on, self._ended), name="progress", daemon=True)
        sys.stdout = line

    def start(self) -> None:
        """Begin to tell."""
        self._teller.start()

    def end(self) -> None:
        """Take the line away and give standard output back."""
        self._ended.set()
        self._line.show("")
        sys.stdout = self._before


class NoDisplay:
    """Shows nothing, where nothing was asked for."""

    def start(self) -> None: ...
    def end(self) -> None: ...


def _tell(go_on: Callable[[], float], ended: threading.Event) -> None:
    """Look at how things stand again and again; what goes wrong here must not disturb the measuring."""
    wait_s = 0.0
    while not ended.wait(wait_s):
        try:
            wait_s = go_on()
        except Exception:
            log.error("progress.failed", exc_info=True)
            wait_s = LOOK_EVERY_S * 10
