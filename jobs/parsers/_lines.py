"""Lines of a log that can be trusted, and numbers as tools print them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jobs.content import Content

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""A number without separators, for use inside a regular expression."""
PRINTED = rf"(?:{NUMBER}|[-+]?(?:nan|inf(?:inity)?))(?![\w.,])"
"""The same where `nan` and `inf` may stand for it, and nothing may stick to it."""
_RANK = re.compile(r"\s*(?:\d+: |\[\d+,\d+\](?:<std(?:out|err)>)?: ?|\[[^\[\]\n]{0,80}\] )")


def whole_lines(content: Content, landmarks: Sequence[str] = ()) -> tuple[list[str], bool]:
    """Return the ended lines of a log, and whether a line without an end was left out: a number in it may be cut."""
    lines = content.text(landmarks).split("\n")
    last = lines.pop()
    return lines, bool(last.strip())


def without_rank(line: str) -> str:
    """Return the line without what mpirun, srun or a logger put before it (`[1,0]<stdout>:`, `0: `, `[INFO] `)."""
    found = _RANK.match(line)
    return line[found.end() :] if found else line
