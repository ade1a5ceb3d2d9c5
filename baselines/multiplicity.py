"""What remains surprising after looking at many series at once."""

from __future__ import annotations

from collections.abc import Sequence


def adjust_p_values(p_values: Sequence[float], quiet: float = 0, weights: Sequence[float] | None = None) -> list[float]:
    """Return the q value of each p value (Benjamini and Hochberg 1995), in the order given.

    Calling significant what has q <= 0.05 keeps the expected share of false calls at 5 % or below. `quiet` adds so
    many imagined tests that found nothing: for what is known beforehand to be rare. `weights` (mean 1) say where a
    change is likelier (Genovese, Roeder and Wasserman 2006).
    """
    weighted = p_values if weights is None else [p / weight for p, weight in zip(p_values, weights, strict=True)]
    count = len(weighted)
    descending = sorted(range(count), key=lambda place: weighted[place], reverse=True)
    adjusted = [1.0] * count
    smallest = 1.0
    for rank, place in zip(range(count, 0, -1), descending, strict=True):
        smallest = min(smallest, weighted[place] * (count + quiet) / rank)
        adjusted[place] = smallest
    return adjusted
