"""Reading JSON strictly: doubled keys, cut files, deep nests and half characters are told apart, never guessed at."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from jobs.characters import find_unstorable


class Refused(Exception):
    """The text is not a result of the expected kind; the message is the reason."""


class Failed(Exception):
    """The text says, or shows, that the benchmark failed; the message is the reason."""


class Number(str):
    """A JSON number as its digits, so that nothing is rounded or overflows before it is looked at."""

    __slots__ = ()


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a decoded value is a JSON string."""
    return isinstance(value, str) and not isinstance(value, Number)


def shown(value: object) -> str:
    """Return a value short enough for a message."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Refused(f"the key {shown(twice)!r} stands twice in one object; each may stand once")
    return found


def _explain(error: json.JSONDecodeError, text: str) -> Refused | Failed:
    where = f"line {error.lineno} column {error.colno}"
    at_the_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    if text.lstrip().startswith("{") and at_the_end:
        return Failed(f"the file is cut off: the JSON object does not end ({where})")
    return Refused(f"expected a JSON object, found something else at {where}: {error.msg}")


def decode(text: str) -> dict[str, Any]:
    """Return the object that `text` holds, numbers as `Number`; raise Refused or Failed with the reason."""
    if not text.strip():
        raise Refused("expected a JSON object, found an empty file")
    try:
        document = json.loads(
            text, object_pairs_hook=_unique, parse_int=Number, parse_float=Number, parse_constant=Number
        )
        unstorable = find_unstorable(document)
    except json.JSONDecodeError as error:
        raise _explain(error, text) from error
    except RecursionError as error:
        raise Refused("the JSON is nested too deeply to be a result") from error
    if unstorable:
        raise Refused(f"a text in the file holds the unusable character {unstorable}")
    if not isinstance(document, dict):
        raise Refused(f"expected a JSON object, found {shown(document)}")
    return document
