"""What commands print: answers to standard output, everything said on the side to standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import typer

from tracker.cli.exits import NOBODY_READS, drop_output

_GAP = "  "
_LEAST_WIDTH = 8
_READABLE_WIDTH = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PAINT = re.compile(r"(\x1b\[\d+m)")
_COLORS = {"bad": "31", "good": "32", "faint": "2", "bold": "1"}
_TONES = {
    "bad": {"regressed", "failed", "fail", "regression"},
    "good": {"improved", "done", "ok", "improvement"},
    "faint": {"cancelled", "withdrawn"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. On a narrow terminal those that `drop` are left out, and those that `give` are shortened."""

    title: str
    right: bool = False
    give: bool = False
    drop: bool = False


def write(text: str) -> None:
    """Print an answer for people, without what could steer the terminal except for colours."""
    parts = _PAINT.split(text)
    parts[::2] = map(clean, parts[::2])
    write_data("".join(parts))


def write_data(text: str) -> None:
    """Print an answer for programs as it is; ends the command quietly when nobody reads it any more."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        raise typer.Exit(NOBODY_READS) from None


def write_json(value: Any) -> None:
    """Print an answer as JSON: views and pages become plain values, times ISO 8601."""
    from tracker.store.views.plain import to_plain

    write_data(json.dumps(to_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def write_line_of_json(value: Any) -> None:
    """Print one line of JSON, from a command that stays and is read while it runs."""
    write_data(json.dumps(value, ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    """Say something on the side, on standard error."""
    print(clean(text), file=sys.stderr, flush=True)


def write_table(columns: Sequence[Column], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print rows under their titles, `empty` on the side where there are none; only a terminal shortens them."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not cells:
        note(empty)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    write("\n".join(lay_out(columns, cells, width=width, colored=has_colors())))


def lay_out(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], *, width: int | None = None, colored: bool = False
) -> list[str]:
    """Return the lines of a table, no longer than `width` where that is given."""
    widths = [max([len(column.title), *(len(row[n]) for row in cells)]) for n, column in enumerate(columns)]
    kept = list(range(len(columns)))
    if width is not None:
        kept = _choose_columns(widths, columns, width)
        columns, widths = [columns[n] for n in kept], [widths[n] for n in kept]
        _shrink(widths, columns, width)
    titles = [paint(line, "bold", colored) for line in [_line(columns, [c.title for c in columns], widths, False)]]
    return titles + [_line(columns, [row[n] for n in kept], widths, colored) for row in cells]


def _choose_columns(widths: Sequence[int], columns: Sequence[Column], width: int) -> list[int]:
    """Return the places of the columns to show: from the right, one after another goes until the rest is readable."""
    kept = list(range(len(columns)))
    while True:
        needed = sum(min(widths[n], _READABLE_WIDTH) if columns[n].give else widths[n] for n in kept)
        droppable = [n for n in kept if columns[n].drop]
        if needed + len(_GAP) * (len(kept) - 1) <= width or not droppable:
            return kept
        kept.remove(droppable[-1])


def _shrink(widths: list[int], columns: Sequence[Column], width: int) -> None:
    """Take from the widest columns that may give until the line fits or nothing is left to take."""
    givers = [place for place, column in enumerate(columns) if column.give]
    while givers and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(givers, key=lambda place: widths[place])
        if widths[widest] <= _LEAST_WIDTH:
            return
        widths[widest] -= 1


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int], colored: bool) -> str:
    parts = []
    for column, text, width in zip(columns, row, widths, strict=True):
        shown = cut(text, width)
        padded = shown.rjust(width) if column.right else shown.ljust(width)
        parts.append(paint(padded, tone_of(text), colored))
    return _GAP.join(parts).rstrip()


def drop_shared(names: Sequence[str]) -> list[str]:
    """Return names made of parts (`prefill, tiny, isl 128`) without the parts that all of them have."""
    parts = [name.split(", ") for name in names]
    shared = set.intersection(*map(set, parts)) if len(set(names)) > 1 else set()
    return [", ".join([part for part in own if part not in shared] or own[:1]) for own in parts]


def cut(text: str, width: int) -> str:
    """Return the text, its end replaced by an ellipsis where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"


def tone_of(word: str) -> str | None:
    """Return how a word is meant to look; the word itself always says it too."""
    return next((tone for tone, words in _TONES.items() if word in words), None)


def paint(text: str, tone: str | None, colored: bool) -> str:
    """Return the text in its colour, unchanged without one."""
    return f"\x1b[{_COLORS[tone]}m{text}\x1b[0m" if colored and tone else text


def has_colors() -> bool:
    """Return whether standard output shows colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def fold(text: str, width: int) -> str:
    """Return the text with long lines broken at blanks and indented, so that a narrow terminal stays readable."""
    lines = []
    for line in text.splitlines(keepends=True):
        if len(line.rstrip("\n")) <= width:
            lines.append(line)
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        body = line.strip()
        parts = textwrap.wrap(
            body, width - len(indent) - 4, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
        )
        lines.append(indent + f"\n{indent}    ".join(parts) + ("\n" if line.endswith("\n") else ""))
    return "".join(lines)


def clean(text: str) -> str:
    """Return the text without what could steer the terminal."""
    return _CONTROL.sub("", text)


def _cell(value: object) -> str:
    """Return a value on one line without what could steer the terminal, a dash where there is none."""
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return format_time(value)
    return clean(" ".join(str(value).split()))


def format_time(moment: datetime | None) -> str:
    """Return the moment in UTC, to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else "-"


def format_duration(seconds: float | None) -> str:
    """Return a duration as people say it: `8 s`, `3 min`, `2 h 5 min`."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
