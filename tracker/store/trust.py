"""Which repeats of a release are judged and shown as its level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

ENOUGH_REPEATS = 3
"""So many repeats that nothing held up make those that were held up superfluous."""


class Repeat(Protocol):
    """One measurement of a release."""

    @property
    def contended(self) -> bool:
        """Whether other work on the host held the benchmark up, also when it was measured again."""
        ...


R = TypeVar("R", bound=Repeat)


def trust(repeats: Sequence[R]) -> Sequence[R]:
    """Return the repeats that count: those that nothing held up where they are enough, else all."""
    calm = [repeat for repeat in repeats if not repeat.contended]
    return calm if len(calm) >= ENOUGH_REPEATS else repeats
