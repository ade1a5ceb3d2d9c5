"""A sink's options, read strictly: a wrong one is an error that says what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from alerts.errors import UserError
from alerts.secret import Secret


def refuse_unknown(sink: str, given: Mapping[str, object], known: tuple[str, ...]) -> None:
    """Raise UserError with the near match where an option is not one of the known ones."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            names = ", ".join(known) or "it takes none"
            raise UserError(f"{sink} sink: unknown option {name!r}; known: {names}.{hint}")


def read_text(sink: str, options: Mapping[str, object], name: str, default: str | None = None) -> str:
    """Return an option that must be a text; raise UserError where it is missing, empty or of another type."""
    value = options.get(name, default)
    if not isinstance(value, str) or not value.strip():
        found = "nothing" if value is None else repr(value)
        raise UserError(f"{sink} sink: option {name!r} must be a text that is not empty, found {found}")
    return value.strip()


def read_seconds(sink: str, options: Mapping[str, object], name: str, default: float) -> float:
    """Return an option that must be a number of seconds above 0."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 3600:
        raise UserError(f"{sink} sink: option {name!r} must be a number of seconds from 0 to 3600, found {value!r}")
    return float(value)


def read_secret(sink: str, secrets: Mapping[str, Secret], name: str) -> Secret:
    """Return a secret that must be there and not empty."""
    secret = secrets.get(name)
    if secret is None or not secret.reveal().strip():
        raise UserError(f"{sink} sink: the secret {name!r} is not set")
    return secret
