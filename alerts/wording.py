"""Numbers and comparisons in words, the same in every message, page and picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

_TIMES = frozenset({"ns", "us", "µs", "ms", "s"})


class Direction(StrEnum):
    """Which way of a metric is better; `neutral` metrics are shown and never judged."""

    HIGHER = "higher"
    LOWER = "lower"
    NEUTRAL = "neutral"


class Change(StrEnum):
    """What a change means: `changed` is for metrics without a better and a worse."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    CHANGED = "changed"


def judge_change(direction: Direction, rise: float) -> Change:
    """Return what a rise (or, below 0, a fall) of a metric means."""
    if direction is Direction.NEUTRAL:
        return Change.CHANGED
    return Change.REGRESSED if (rise > 0) == (direction is Direction.LOWER) else Change.IMPROVED


def format_number(value: float) -> str:
    """Return the number with three or four significant digits, whole from 1000 on: `0.0123`, `5.58`, `12,346`."""
    if abs(value) >= 999.95:
        return f"{value:,.0f}"
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 99.95 else f"{value:#.3g}"


def format_value(value: float | None, unit: str) -> str:
    """Return the value with its unit (`5.58 ms`); `no value` where there is none, never 0."""
    return "no value" if value is None else f"{format_number(value)} {unit}".rstrip()


def format_effect(ratio: float | None) -> str:
    """Return a relative change as a percentage with its sign: `+15.2 %`; words where it cannot be given."""
    if ratio is None:
        return "from zero"
    if abs(ratio) < 0.0005:
        return "±0.0 %"
    return f"{ratio * 100:+,.0f} %" if abs(ratio) >= 10 else f"{ratio * 100:+.1f} %"


def format_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a relative change (`+12.1 % to +18.3 %`), empty where it is not known."""
    return "" if low is None or high is None else f"{format_effect(low)} to {format_effect(high)}"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return the number with its noun: `1 release`, `3 releases`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def is_speed(unit: str) -> bool:
    """Return whether the unit is a time or a rate, so that `slower` and `faster` say it best."""
    return unit in _TIMES or "/s" in unit


def compare_word(units: Iterable[str], change: Change) -> str:
    """Return `slower`, `faster`, `worse`, `better` or `different` for a change of metrics with these units."""
    if change is Change.CHANGED:
        return "different"
    speed = all(is_speed(unit) for unit in units)
    if change is Change.REGRESSED:
        return "slower" if speed else "worse"
    return "faster" if speed else "better"


def join_names(names: Collection[str], limit: int = 5) -> str:
    """Return the names with commas, the rest of a long list counted: `a, b and 3 more`."""
    shown = list(names)[:limit]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")
