"""The statistics in a process of their own: NumPy, SciPy and ruptures take 100 MB that an idle daemon need not hold.

`python -m tracker.pipeline.statistics` answers requests from standard input until it closes, so it ends with whoever
started it, however that ended. Both ends are the same program, so requests and answers are pickled.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, Protocol, cast

import baselines
from baselines import ChangePoint, Comparison, ComparisonInput, DetectOptions, SeriesInput
from baselines.comparison.compare import CompareOptions


class Statistics(Protocol):
    """The two calls that need the heavy libraries; see `baselines.detect_many` and `baselines.compare_many`."""

    def detect_many(self, series: Sequence[SeriesInput], options: DetectOptions) -> list[list[ChangePoint]]: ...
    def compare_many(self, inputs: Sequence[ComparisonInput], options: CompareOptions) -> list[Comparison]: ...
    def rest(self) -> None:
        """Give memory back until the next call."""
        ...


class OwnStatistics:
    """Computes in this process: for commands that end soon."""

    def detect_many(self, series: Sequence[SeriesInput], options: DetectOptions) -> list[list[ChangePoint]]:
        return baselines.detect_many(series, options)

    def compare_many(self, inputs: Sequence[ComparisonInput], options: CompareOptions) -> list[Comparison]:
        return baselines.compare_many(inputs, options)

    def rest(self) -> None:
        """Nothing to give back."""


class StatisticsProcess:
    """Computes in a process that is started at the first call and ended by `rest`; calls take turns."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def detect_many(self, series: Sequence[SeriesInput], options: DetectOptions) -> list[list[ChangePoint]]:
        found: list[list[ChangePoint]] = self._ask("detect_many", list(series), options)
        return found

    def compare_many(self, inputs: Sequence[ComparisonInput], options: CompareOptions) -> list[Comparison]:
        found: list[Comparison] = self._ask("compare_many", list(inputs), options)
        return found

    def rest(self) -> None:
        """End the process; the next call starts another."""
        with self._turn:
            if self._process is not None:
                self._process.communicate()
                self._process = None

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Return the answer of one call, or raise what it raised; a process that died is started again once."""
        with self._turn:
            if self._process is None or self._process.poll() is not None:
                self._process = _start()
            requests, answers = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
            pickle.dump((name, arguments), requests)
            requests.flush()
            try:
                answer = pickle.load(answers)  # noqa: S301 (the writer is this same program)
            except EOFError:
                code = self._process.wait()
                self._process = None
                raise RuntimeError(f"the statistics process ended with {code} before it answered {name}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def _start() -> subprocess.Popen[bytes]:
    """Return a process that answers requests; Ctrl-C in the terminal does not reach it."""
    command = [sys.executable, "-P", "-m", "tracker.pipeline.statistics"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    calls: dict[str, Callable[..., Any]] = {
        "detect_many": baselines.detect_many,
        "compare_many": baselines.compare_many,
    }
    while True:
        try:
            name, arguments = pickle.load(requests)  # noqa: S301 (the writer is this same program)
        except EOFError:
            return
        try:
            answer = calls[name](*arguments)
        except Exception as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
