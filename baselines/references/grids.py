"""The tables of a page: header and rows of cleaned cells, with their lines; what they mean is not asked here."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

MOST_ROWS = 10_000
MOST_CELLS = 64
"""More cells in one line are no table of figures."""
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_LINK = re.compile(r"\[([^\[\]]{0,200})\]\([^()]{0,500}\)")
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"^[*†‡]+|[*†‡]+$")
_RAISED = re.compile(r"\s*<sup\b[^<>]{0,200}>(.*?)(?:</sup\s*>|$)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """One row: the line it starts on, its cells, and the places of the cells that reach down from a row above."""

    line: int
    cells: tuple[str, ...]
    spanned: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One table. `before` is the text between the table above and this one, a line each."""

    line: int
    header: tuple[str, ...]
    rows: tuple[GridRow, ...]
    before: tuple[str, ...] = ()


def clean_cell(text: str) -> str:
    """Return the text of a cell on one line, without marks of footnotes, emphasis, links and HTML.

    What is raised above a number stays apart from it: `345<sup>2</sup>` is `345^2`, never 3452.
    """
    text = text.replace("\\|", "|")
    if "<" in text:
        text = _RAISED.sub(_lower, text)
        text = _TAG.sub("", _BREAK.sub(" ", text))
    if "&" in text:
        text = html.unescape(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = _BLANKS.sub(" ", text.replace("\u200b", "")).strip()
    return _MARKS.sub("", text).strip()


def _lower(raised: re.Match[str]) -> str:
    """Return what stands for raised text: nothing after a word (a footnote), `^2` after a number."""
    content = _TAG.sub("", raised[1]).strip(" *†‡")
    before = raised.string[: raised.start()].rstrip()
    return f"^{content}" if content and before[-1:].isdigit() else ""
