"""Tables in text: rows between bars (Markdown, however broken over lines) or cells between tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from baselines.references.columns import holds_figures, is_header, names_model
from baselines.references.grids import MOST_CELLS, Grid, GridRow, clean_cell

_RULE_SIGNS = "|:- \t"
_DASHES = re.compile(r"-+")
_BAR = re.compile(r"(?<!\\)\|")
_LONGEST_HEADER = 40
"""Lines that one header may be broken over."""
_LONGEST_ROW = 12
"""Lines that one row may be broken over."""


def read_text_grids(text: str) -> list[Grid]:
    """Return the tables of a text that hold figures, in their order, whether their headers are known or not."""
    lines = text.split("\n")
    return read_barred(lines) if any(is_rule(line) for line in lines) else read_tabbed(lines)


def is_rule(line: str) -> bool:
    """Return whether a line is the rule between header and rows."""
    return "|" in line and "-" in line and not line.strip(_RULE_SIGNS)


def split_bars(line: str) -> list[str]:
    """Return the cells between the bars of a row, those at its ends left out if nothing stands there."""
    parts = _BAR.split(line.strip())
    if parts and not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return [clean_cell(part) for part in parts[:MOST_CELLS]]


def join(parts: Sequence[str]) -> str:
    """Return lines of one row as one, a word broken at its hyphen put together again."""
    text = ""
    for part in (one.strip(" \n") for one in parts):
        text += part if not text or re.search(r"\w-$", text) else f" {part}"
    return text


def read_barred(lines: Sequence[str]) -> list[Grid]:
    """Return the tables whose cells stand between bars."""
    grids: list[Grid] = []
    heads = list(_find_heads(lines))
    end_of_last = 0
    for place, (start, body, header) in enumerate(heads):
        end = heads[place + 1][0] if place + 1 < len(heads) else len(lines)
        closed = lines[body - 1].rstrip().endswith("|")
        rows, last = _read_rows(lines, body, end, len(header), closed)
        before = tuple(line.strip() for line in lines[end_of_last:start] if line.strip())
        grid = Grid(line=start + 1, header=tuple(header), rows=tuple(rows), before=before)
        if is_header(header) or holds_figures(grid):
            grids.append(grid)
        end_of_last = last
    return grids


def _find_heads(lines: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (first line of the header, first line after the rule, header) of each table."""
    place, free_from = 0, 0
    while place < len(lines):
        if not is_rule(lines[place]):
            place += 1
            continue
        end = place
        while end < len(lines) and is_rule(lines[end]):
            end += 1
        columns = sum(len(_DASHES.findall(line)) for line in lines[place:end])
        start, header = _find_header(lines, free_from, place, columns)
        yield start, end, header
        place = free_from = end


def _find_header(lines: Sequence[str], free_from: int, rule: int, columns: int) -> tuple[int, list[str]]:
    """Return the header above a rule: the fewest lines that give as many cells as the rule, else that read as one."""
    nearest: tuple[int, list[str]] | None = None
    for start in range(rule - 1, max(free_from, rule - _LONGEST_HEADER) - 1, -1):
        if "|" not in lines[start]:
            continue
        header = split_bars(join(lines[start:rule]))
        if len(header) > columns + 1:
            break
        if len(header) == columns and (lines[start].lstrip().startswith("|") or start == rule - 1):
            return start, header
        if nearest is None and is_header(header):
            nearest = start, header
    return nearest or (max(rule - 1, free_from), split_bars(lines[rule - 1]) if rule > free_from else [])


def _read_rows(lines: Sequence[str], start: int, end: int, columns: int, closed: bool) -> tuple[list[GridRow], int]:
    """Return the rows from `start` on, and the line after the last of them."""
    rows: list[GridRow] = []
    place, last = start, start
    while place < end:
        if not _begins_row(lines[place], closed):
            place += 1
            continue
        after = _end_of_row(lines, place, end, columns) if closed else place + 1
        rows.append(GridRow(line=place + 1, cells=tuple(split_bars(join(lines[place:after])))))
        place = last = after
    return rows, last


def _begins_row(line: str, closed: bool) -> bool:
    """Return whether a row begins: with a bar, or where rows have none at their ends with bars somewhere."""
    text = line.strip()
    return text.startswith("|") or (not closed and "|" in text)


def _end_of_row(lines: Sequence[str], start: int, end: int, columns: int) -> int:
    """Return the line after a row that begins at `start`; its parts may stand on the lines that follow."""
    after = start + 1
    while after < min(end, start + _LONGEST_ROW):
        line, text = lines[after].strip(), join(lines[start:after])
        if not line:
            break
        whole = text.endswith("|")
        if line.startswith("|"):
            together = len(split_bars(text)) + len(split_bars(line))
            if whole or together > columns + 1 or not line.endswith("|"):
                break
        elif "|" not in line if whole else not _closes(lines, after, end):
            break
        after += 1
    return after


def _closes(lines: Sequence[str], start: int, end: int) -> bool:
    """Return whether what stands open is ended by a bar before the next row begins."""
    for line in lines[start : min(end, start + _LONGEST_ROW)]:
        text = line.strip()
        if not text or text.startswith("|"):
            return text.startswith("|") and text.endswith("|") and len(split_bars(text)) == 0
        if text.endswith("|"):
            return True
    return False


def read_tabbed(lines: Sequence[str]) -> list[Grid]:
    """Return the tables whose cells stand between tabs, as a browser copies them."""
    grids: list[Grid] = []
    place, end_of_last = 0, 0
    while place < len(lines):
        header, body = _tabbed_header(lines, place)
        if not is_header(header):
            place += 1
            continue
        rows: list[GridRow] = []
        end = body
        while end < len(lines) and lines[end].count("\t") >= 2 and not is_header(_split_tabs(lines[end])):
            rows.append(GridRow(line=end + 1, cells=tuple(_split_tabs(lines[end]))))
            end += 1
        before = tuple(line.strip() for line in lines[end_of_last:place] if line.strip())
        grids.append(Grid(line=place + 1, header=tuple(header), rows=tuple(rows), before=before))
        place = end_of_last = end
    return grids


def _split_tabs(line: str) -> list[str]:
    return [clean_cell(part) for part in line.split("\t")[:MOST_CELLS]]


def _tabbed_header(lines: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the header that begins at a line, and the line after it; lines it is broken over are put together."""
    if lines[start].count("\t") < 2 or not names_model(lines[start]):
        return [], start + 1
    end = start + 1
    while end < min(len(lines), start + 4) and _goes_on(lines[end]):
        end += 1
    return _split_tabs(join(lines[start:end])), end


def _goes_on(line: str) -> bool:
    """Return whether a line may be more of a header: words only, and no header of its own."""
    return bool(line.strip()) and not any(sign.isdigit() for sign in line) and not is_header(_split_tabs(line))
