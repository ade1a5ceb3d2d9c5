"""Waiting for an engine that is away, and for work that takes long, with an ear for whoever wants to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from jobs.executors._attempts import Attempt, replace
from jobs.executors._engine_client import EngineAway

Answer = TypeVar("Answer")

AWAY = "away.json"
"""In the attempt's folder while the engine does not answer: why."""
_LOOK_EVERY_S = 0.1
_LONGEST_PAUSE_S = 2.0


@dataclass(slots=True, kw_only=True)
class Patience:
    """Asks an engine until it answers. `check` is called several times a second and raises `Ended` to give up."""

    attempt: Attempt
    check: Callable[[], None]
    was_away: bool = False
    """Whether there was no answer at any time since this was last set to False."""
    _marked: bool = field(default=True)

    def ask(self, call: Callable[[], Answer]) -> Answer:
        """Return the call's answer, however long the engine stays away; it must do no harm when repeated."""
        pause_s = _LOOK_EVERY_S
        while True:
            try:
                answer = call()
            except EngineAway as error:
                self._mark(error)
                self._rest(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                self._unmark()
                return answer

    def ask_long(self, call: Callable[[], Answer]) -> Answer:
        """Return the answer of a call that may take minutes; `check` is heard meanwhile."""
        return self.ask(lambda: in_background(call, self.check))

    def _rest(self, pause_s: float) -> None:
        until = time.monotonic() + pause_s
        while time.monotonic() < until:
            self.check()
            time.sleep(_LOOK_EVERY_S)

    def _mark(self, error: EngineAway) -> None:
        self.was_away = self._marked = True
        replace(self.attempt.file(AWAY), {"why": str(error)})

    def _unmark(self) -> None:
        if self._marked:
            self.attempt.file(AWAY).unlink(missing_ok=True)
            self._marked = False


def in_background(call: Callable[[], Answer], check: Callable[[], None]) -> Answer:
    """Return what a call gives, made in a thread so that `check` can raise meanwhile; the thread then stays behind."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
        if thread.is_alive():
            check()
    if errors:
        raise errors[0]
    return answers[0]
