"""Checking the options that an executor is made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from jobs.errors import UserError


def check_names(executor: str, options: Mapping[str, object], known: Sequence[str]) -> None:
    """Raise UserError for an option that this executor does not have, with the near match."""
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UserError(f"executor {executor}: unknown option {name!r}; known: {', '.join(known)}.{hint}")


def number(executor: str, options: Mapping[str, object], name: str, default: float, *, low: float) -> float:
    """Return a number among the options; raise UserError where it is none or below `low`."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < float("inf"):
        raise UserError(f"executor {executor}: {name} must be a number from {low:g} on, found {value!r}")
    return value
