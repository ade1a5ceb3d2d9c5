"""Reading JSON strictly: doubled keys, cut files, deep nests and half characters are told apart, never guessed at."""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

from jobs.characters import find_unstorable
from jobs.errors import Cut, Refused


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


_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_CUT_ESCAPE = re.compile(r"\\?u?[0-9a-fA-F]{0,3}")
_CUT_NUMBER = re.compile(r"\.|[eE][-+]?")


def _explain(error: json.JSONDecodeError, text: str) -> Refused | Cut:
    where = f"line {error.lineno} column {error.colno}"
    rest = text[error.pos :].rstrip() if len(text) - error.pos < 64 else text
    at_the_end = not rest or error.msg.startswith("Unterminated") or any(word.startswith(rest) for word in _WORDS)
    if text.lstrip()[:1] in ("{", "[") and (at_the_end or _CUT_ESCAPE.fullmatch(rest) or _CUT_NUMBER.fullmatch(rest)):
        return Cut(f"the file is cut off: the JSON does not end ({where})")
    return Refused(f"expected JSON, found something else at {where}: {error.msg}")


def decode(text: str) -> Any:
    """Return the JSON value that `text` holds, numbers as `Number`; raise Refused or Cut with the reason."""
    if not text.strip():
        raise Refused("expected JSON, found an empty file")
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
    return document


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)
LONGEST_REPAIR = 2**20
"""Characters; a longer cut text is not looked at for what it might have been."""


def _open_brackets(text: str) -> tuple[list[str], tuple[int, int]]:
    """Return the brackets that are open at the end, and (position, depth) of the last comma or opening bracket."""
    stack: list[str] = []
    safe = (0, 0)
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "[{":
            stack.append(token)
            safe = (match.end(), len(stack))
        elif token in "]}":
            if stack:
                stack.pop()
        elif token == ",":
            safe = (match.start(), len(stack))
    return stack, safe


def decode_start(text: str) -> Any:
    """Return what a cut JSON text holds up to its last comma, to tell which tool wrote it; None if nothing."""
    if len(text) > LONGEST_REPAIR:
        return None
    position, depth = _open_brackets(text)[1]
    kept = text[:position]
    still_open = _open_brackets(kept)[0][:depth]
    closing = "".join("]" if bracket == "[" else "}" for bracket in reversed(still_open))
    try:
        return decode(kept + closing)
    except (Refused, Cut):
        return None
