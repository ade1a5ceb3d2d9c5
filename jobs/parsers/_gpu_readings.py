"""What the parsers of GPU tools share: a reading at one moment, and files that hold more than one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jobs.errors import Refused, UserError
from jobs.gpu_state import quantity, stated
from jobs.measurements import ParsedRun
from jobs.metrics import Key
from jobs.run_builder import RunBuilder

AT_ONE_MOMENT = "snapshot"
"""The flag of a value that is no average over a run."""


def take_reading(run: RunBuilder, readings: Iterable[tuple[str, Key, str | None]]) -> None:
    """Take the first value of each metric among (own key, meaning, text such as `25.58 W`).

    Words that mean that there is none are absent, others (`GPU is lost`) are set aside, and so is a number whose unit
    is missing or of another kind.
    """
    taken: set[str] = set()
    for own_key, key, text in readings:
        if key.metric in taken or stated(text) is None or text is None:
            continue
        value = quantity(text)
        if value is None:
            run.reject(own_key, text.strip(), "expected a number, found words")
            continue
        taken.add(key.metric)
        try:
            run.take(own_key, Key(key.metric, value[1]), value[0])
        except (UserError, ValueError) as error:
            run.reject(own_key, text.strip(), str(error) if value[1] else f"expected a unit such as {key.unit}")


def one_moment(found: Iterator[tuple[str, ParsedRun]]) -> tuple[ParsedRun, ...]:
    """Return one run a GPU, in order; raise Refused where one was read at several moments.

    `found` has what tells the GPU from others, empty where nothing does. The same reading twice is one run.
    """
    runs: list[ParsedRun] = []
    first: dict[str, ParsedRun] = {}
    for name, run in found:
        earlier = first.setdefault(name, run) if name else run
        if earlier is run:
            runs.append(run)
        elif earlier.metrics != run.metrics:
            raise Refused(f"a time series: {name} is read more than once; expected one reading a GPU")
    return tuple(runs)
