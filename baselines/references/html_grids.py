"""Tables of a web page as a browser saves it: spans are followed, cells that were never closed end where they must."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from baselines.references.columns import holds_figures, is_header
from baselines.references.grids import MOST_CELLS, Grid, GridRow, clean_cell

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BLOCKS = frozenset({"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "section", "article", "br", "button"})
_MOST_SPAN = 500
_SPAN = re.compile(r"[0-9]{1,9}")
_PARTS_OF_TABLES = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th"})
"""Never taken for hidden: rows that a page's filter puts away are published all the same."""
_EMPTY = frozenset({"br", "img", "input", "hr", "wbr", "col", "source", "link", "meta", "area", "embed", "track"})
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


@dataclass(slots=True)
class _Cell:
    heading: bool
    down: int
    across: int
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Row:
    line: int
    cells: list[_Cell] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    line: int
    before: tuple[str, ...]
    rows: list[_Row] = field(default_factory=list)
    cell: _Cell | None = None


class _Reader(HTMLParser):
    """Collects tables and the text between them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[_Table] = []
        self.open: list[_Table] = []
        self.between: list[str] = []
        self.silent = 0
        self.hidden: list[str] = []
        """Elements that are open within one that is not shown, such as the key that a table is sorted by."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self.silent += 1
        elif self._hides(tag, attrs):
            self.hidden += [] if tag in _EMPTY else [tag]
        elif tag == "table":
            self.open.append(_Table(line=self.getpos()[0], before=self._take_between()))
            self.tables.append(self.open[-1])
        elif self.open and tag == "tr":
            self.open[-1].cell = None
            self.open[-1].rows.append(_Row(line=self.getpos()[0]))
        elif self.open and tag in ("td", "th"):
            self._begin_cell(tag, dict(attrs))
        elif tag == "sup":
            self._add("<sup>")
        elif tag in _BLOCKS:
            self._add(" " if self.open else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self.silent = max(self.silent - 1, 0)
        elif tag in self.hidden:
            while self.hidden.pop() != tag:
                pass  # what was left open within ends with it
        elif tag == "table" and self.open:
            self.open.pop()
        elif tag in ("td", "th", "tr") and self.open:
            self.open[-1].cell = None
            self.hidden.clear()
        elif tag == "sup":
            self._add("</sup>")
        elif tag in _BLOCKS:
            self._add(" " if self.open else "\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT and not (tag not in _EMPTY and self._hides(tag, attrs)):
            self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if not self.silent and not self.hidden:
            self._add(data)

    def _hides(self, tag: str, attrs: list[tuple[str, str | None]]) -> bool:
        """Return whether an element of a cell is not shown, or stands within one that is not."""
        in_cell = bool(self.open) and self.open[-1].cell is not None
        return in_cell and tag not in _PARTS_OF_TABLES and (bool(self.hidden) or _is_hidden(attrs))

    def _begin_cell(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.hidden.clear()
        table = self.open[-1]
        if not table.rows:
            table.rows.append(_Row(line=self.getpos()[0]))
        down, across = (_read_span(attributes.get(name)) for name in ("rowspan", "colspan"))
        table.cell = _Cell(heading=tag == "th", down=down, across=across)
        table.rows[-1].cells.append(table.cell)

    def _add(self, text: str) -> None:
        if not self.open:
            self.between.append(text)
        elif (cell := self.open[-1].cell) is not None:
            cell.text.append(text)

    def _take_between(self) -> tuple[str, ...]:
        lines = "".join(self.between).split("\n")
        self.between.clear()
        return tuple(" ".join(line.split()) for line in lines if line.strip())


def _is_hidden(attributes: list[tuple[str, str | None]]) -> bool:
    """Return whether a browser does not show an element, by what stands on it."""
    return any(
        name == "hidden" or (name == "style" and bool(_NOT_SHOWN.search(value or ""))) for name, value in attributes
    )


def _read_span(text: str | None) -> int:
    return min(max(int(text), 1), _MOST_SPAN) if text and _SPAN.fullmatch(text.strip()) else 1


def looks_like_html(text: str) -> bool:
    """Return whether a text is a web page, or a piece of one, with a table."""
    low = text.lower()
    return "<table" in low and "<tr" in low


def read_html_grids(text: str) -> list[Grid]:
    """Return the tables of a web page that hold figures, in their order, whether their headers are known or not."""
    opened = text.find("<!--", max(text.rfind("-->"), 0))
    if opened >= 0:
        text = text[:opened]  # a comment that is never closed hides the rest
    reader = _Reader()
    reader.feed(text)
    reader.close()
    grids = (_lay_out(table) for table in reader.tables)
    return [grid for grid in grids if grid is not None and (is_header(grid.header) or holds_figures(grid))]


def _lay_out(table: _Table) -> Grid | None:
    """Return a table with its spans filled in; its first rows of headings are one header."""
    rows = _fill_spans(table.rows)
    if not rows:
        return None
    headings = 0
    for row, (raw, _) in zip(table.rows, rows, strict=True):
        if not row.cells or not all(cell.heading for cell in row.cells):
            break
        headings += 1
        if headings > 1 and is_header([clean_cell(text) for text in raw]):
            break
    headings = max(headings, 1)
    header = _join_headers([raw for raw, _ in rows[:headings]])
    body = [
        GridRow(line=row.line, cells=tuple(clean_cell(text) for text in raw), spanned=spanned)
        for row, (raw, spanned) in list(zip(table.rows, rows, strict=True))[headings:]
        if raw
    ]
    return Grid(line=table.rows[0].line, header=tuple(header), rows=tuple(body), before=table.before)


def _join_headers(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the headings of all header rows, those over each other put together."""
    width = max(len(row) for row in rows)
    columns = [[row[place] for row in rows if place < len(row)] for place in range(width)]
    return [clean_cell(" ".join(dict.fromkeys(part for part in column if part.strip()))) for column in columns]


def _fill_spans(rows: Sequence[_Row]) -> list[tuple[list[str], frozenset[int]]]:
    """Return the texts of each row with those that reach into it from above, and the places of these."""
    filled: list[tuple[list[str], frozenset[int]]] = []
    reaching: dict[int, tuple[str, int]] = {}
    for row in rows:
        texts: list[str] = []
        spanned: set[int] = set()
        waiting = list(row.cells)
        while (waiting or any(place >= len(texts) for place in reaching)) and len(texts) < MOST_CELLS:
            place = len(texts)
            if place in reaching:
                text, left = reaching.pop(place)
                spanned.add(place)
                if left > 1:
                    reaching[place] = text, left - 1
                texts.append(text)
            elif waiting:
                cell = waiting.pop(0)
                text = "".join(cell.text)
                for offset in range(cell.across):
                    texts.append(text)
                    if cell.down > 1:
                        reaching[place + offset] = text, cell.down - 1
            else:
                texts.append("")
        filled.append((texts, frozenset(spanned)))
    return filled
