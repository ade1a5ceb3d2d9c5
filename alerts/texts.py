"""A message as plain text (console) and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from alerts.message import Line, Message, Tone

_TONE_WORDS = {Tone.BAD: "REGRESSION", Tone.GOOD: "IMPROVEMENT", Tone.NEUTRAL: "NOTE", Tone.UNKNOWN: "NO ANSWER"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~!])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_text(message: Message, *, max_lines: int = 40) -> str:
    """Return the message for a terminal, ending in a newline; control characters are left out."""
    return _CONTROL.sub("", "\n".join(_list_text(message, max_lines))) + "\n"


def _list_text(message: Message, max_lines: int) -> Iterable[str]:
    state = f" [{message.state.words}]" if message.state else ""
    yield f"{_name_tone(message)}{state} {message.summary}"
    shown = message.lines[:max_lines]
    yield from (f"  {row}".rstrip() for row in _align(shown))
    if len(message.lines) > len(shown):
        yield f"  and {len(message.lines) - len(shown):,} more"
    facts = "; ".join(f"{name.lower()} {value}" for name, value in message.fields if value)
    if facts:
        yield f"  {facts}"
    yield from (f"  note: {note}" for note in message.notes)
    yield from (f"  next: {command}" for command in message.commands)
    yield from (f"  {name.lower()}: {url}" for name, url in message.links)
    if message.url:
        yield f"  see:  {message.url}"


def _name_tone(message: Message) -> str:
    """Return the first word; a summary (which has no state) that finds nothing bad is no improvement."""
    return "CLEARED" if message.state is None and message.tone is Tone.GOOD else _TONE_WORDS[message.tone]


def _align(lines: tuple[Line, ...]) -> Iterable[str]:
    """Yield the lines with their columns under one another."""
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*map(_cells, lines), strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(_cells(line), widths, strict=True))


def _cells(line: Line) -> tuple[str, str, str, str]:
    return (f"{line.mark} {line.effect}".strip(), line.metric, line.label, line.detail)


def to_markdown(message: Message, *, max_lines: int = 100) -> str:
    """Return the message as Markdown (GitHub's dialect), ending in a newline; names cannot become markup."""
    return "\n".join(_list_markdown(message, max_lines)).rstrip() + "\n"


def escape_markdown(text: str) -> str:
    """Return the text so that Markdown shows it as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", _CONTROL.sub("", " ".join(text.split()))).translate(_ENTITIES)


def code_span(text: str) -> str:
    """Return the text as code; backticks, which would end it, become quotes."""
    return f"`{_CONTROL.sub('', ' '.join(text.split())).replace('`', chr(39))}`"


def _list_markdown(message: Message, max_lines: int) -> Iterable[str]:
    state = f" ({message.state.words})" if message.state else ""
    yield f"**{escape_markdown(message.summary)}**{state}"
    yield ""
    if message.lines:
        yield "| change | metric | series | before → after |"
        yield "|---|---|---|---|"
        yield from map(_markdown_row, message.lines[:max_lines])
        yield ""
    if len(message.lines) > max_lines:
        yield f"and {len(message.lines) - max_lines:,} more\n"
    yield from (f"- {escape_markdown(name)}: {escape_markdown(value)}" for name, value in message.fields if value)
    yield from (f"- {escape_markdown(note)}" for note in message.notes)
    yield from (f"- Next: {code_span(command)}" for command in message.commands)
    yield from (f"- {escape_markdown(name)}: <{url}>" for name, url in message.links)
    if message.url:
        yield f"- <{message.url}>"


def _markdown_row(line: Line) -> str:
    label = escape_markdown(line.label)
    linked = f"[{label}](<{line.url}>)" if line.url else label
    cells = (
        f"{line.mark} {line.effect}",
        code_span(line.metric).replace("|", "\\|"),
        linked,
        escape_markdown(line.detail),
    )
    return f"| {' | '.join(cells)} |"
