"""A message as Slack blocks, within Slack's limits: 50 blocks, 3000 characters a text, 150 a header, 10 fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from alerts.message import AlertState, Line, Message, Tone

Block = dict[str, Any]

MAX_BLOCKS = 50
MAX_TEXT = 3000
MAX_HEADER = 150
MAX_FIELDS = 10
MAX_ELEMENTS = 10
_MAX_LINES = 30
_CUT = 200
"""Longest name or note; escaping makes a text at most five times as long, so that twice this still fits."""
_EMOJI = {Tone.BAD: "🔺", Tone.GOOD: "✅", Tone.NEUTRAL: "ℹ️", Tone.UNKNOWN: "❔"}
_LOOKALIKES = str.maketrans({"*": "∗", "`": "ʼ", "~": "∼"})
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""Inside a word an underscore is harmless and stays, so that names can be copied."""
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_blocks(message: Message) -> list[Block]:
    """Return the blocks of a message; long lists are cut, with the number left out and where to see them."""
    emoji = "✅" if message.state is AlertState.RECOVERED else _EMOJI[message.tone]
    blocks: list[Block] = [_header(f"{emoji} {message.title}"), _section(_write_summary(message))]
    blocks += [_section(text) for text in _fill_texts(map(_write_line, message.lines[:_MAX_LINES]))]
    rest = len(message.lines) - _MAX_LINES
    if rest > 0:
        more = f"and {rest:,} more"
        blocks.append(_section(_write_link(message.url, more) if message.url else more))
    shown = [(name, value) for name, value in message.fields if value][:MAX_FIELDS]
    if shown:
        blocks.append({"type": "section", "fields": [_mrkdwn(_write_field(*pair)) for pair in shown]})
    notes = [escape_text(cut(note, _CUT * 2)) for note in message.notes]
    blocks += [{"type": "context", "elements": [_mrkdwn(text)]} for text in _fill_texts(notes)]
    blocks += [_section(f"Next: `{_escape_code(cut(command, _CUT * 2))}`") for command in message.commands[:3]]
    links = [*([("Details", message.url)] if message.url else []), *message.links]
    if links:
        elements = [_mrkdwn(_write_link(url, cut(name, 60))) for name, url in links[:MAX_ELEMENTS]]
        blocks.append({"type": "context", "elements": elements})
    return blocks[:MAX_BLOCKS]


def to_fallback(message: Message) -> str:
    """Return the text of notifications and of readers that cannot show blocks."""
    state = f" ({message.state.words})" if message.state else ""
    return escape_text(cut(message.summary, _CUT * 2)) + state


def escape_text(text: str) -> str:
    """Return the text so that Slack shows it as it is: no mention, link, bold or code can come of it."""
    return _EDGE_UNDERSCORE.sub("ˍ", " ".join(text.split()).translate(_LOOKALIKES)).translate(_ENTITIES)


def cut(text: str, limit: int) -> str:
    """Return the text, its end replaced by … where it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _escape_code(text: str) -> str:
    return " ".join(text.split()).replace("`", "ʼ").translate(_ENTITIES)


def _write_summary(message: Message) -> str:
    state = f"\nState: *{message.state.words}*" if message.state else ""
    return f"*{escape_text(cut(message.summary, _CUT * 2))}*{state}"


def _write_line(line: Line) -> str:
    label = _write_link(line.url, cut(line.label, _CUT)) if line.url else escape_text(cut(line.label, _CUT))
    effect = f" *{escape_text(line.effect)}*" if line.effect else ""
    return f"{line.mark}{effect} `{_escape_code(cut(line.metric, 80))}` {label}: {escape_text(cut(line.detail, _CUT))}"


def _write_link(url: str, text: str) -> str:
    return (
        f"<{url.replace('|', '%7C').replace('>', '%3E').replace('&', '&amp;')}|{escape_text(text).replace('|', '∣')}>"
    )


def _write_field(name: str, value: str) -> str:
    return f"*{escape_text(cut(name, 60))}*\n{escape_text(cut(value, _CUT))}"


def _fill_texts(lines: Iterable[str]) -> list[str]:
    """Return as few texts as hold all lines, none longer than Slack takes."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + 1 + len(line) <= MAX_TEXT:
            texts[-1] += "\n" + line
        else:
            texts.append(line)
    return texts


def _header(text: str) -> Block:
    flat = " ".join(text.split())
    return {"type": "header", "text": {"type": "plain_text", "text": cut(flat, MAX_HEADER), "emoji": True}}


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> Block:
    """Return a text object; `verbatim` keeps Slack from making links and mentions of names by itself."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}
