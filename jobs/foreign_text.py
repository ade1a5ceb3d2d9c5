"""Texts that another machine or a driver says, made fit for a database, a terminal, a page and a log."""

from __future__ import annotations

from unicodedata import category

LONGEST_FIELD = 300
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that are not seen, or turn around what is seen."""


def blank_unseen(text: str) -> str:
    """Return the text with a blank for each character that is not seen; line ends and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(" " if category(char) in _UNSEEN and char not in "\n\t" else char for char in text)


def cut_field(text: str) -> str:
    """Return one value of such a text: on one line, of at most 300 characters."""
    return " ".join(blank_unseen(text[: 10 * LONGEST_FIELD]).splitlines()).strip()[:LONGEST_FIELD]
