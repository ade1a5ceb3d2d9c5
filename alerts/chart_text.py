"""Long texts in pictures: broken into lines, since a picture does not do that itself."""

from __future__ import annotations

TITLE_LETTERS = 80
SUBTITLE_LETTERS = 115


def fold_text(text: str, letters: int) -> list[str]:
    """Return the text in lines of at most so many letters, a longer word alone on its line."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
