"""A text that may be sent but never shown."""

from __future__ import annotations


class Secret:
    """Holds a token; `repr` and `str` are `***`, only `reveal()` gives the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> str:
        raise TypeError("a secret is never written anywhere: pass the setting it came from instead")
