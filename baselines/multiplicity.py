"""What remains surprising after looking at many series at once."""

from __future__ import annotations

from collections.abc import Sequence


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the q value of each p value (Benjamini and Hochberg 1995), in the order given.

    Calling significant what has q <= 0.05 keeps the expected share of false calls at 5 % or below.
    """
    count = len(p_values)
    descending = sorted(range(count), key=lambda place: p_values[place], reverse=True)
    adjusted = [1.0] * count
    smallest = 1.0
    for rank, place in zip(range(count, 0, -1), descending, strict=True):
        smallest = min(smallest, p_values[place] * count / rank)
        adjusted[place] = smallest
    return adjusted
