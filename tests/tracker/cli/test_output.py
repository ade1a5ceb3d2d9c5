"""How answers are laid out, and how a line that is kept up to date lives with everything else that is printed."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.cli.output import (
    Column,
    clean,
    drop_shared,
    fold,
    format_duration,
    lay_out,
    note,
    paint,
    write,
    write_json,
)
from tracker.cli.progress import PLAIN_EVERY_S, StatusLine

COLUMNS = (Column(title="release"), Column(title="reason", give=True))


class Terminal(io.StringIO):
    """A stream that says it is a terminal and shows what would stand there."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> list[str]:
        """The lines that can be seen."""
        return [line.rsplit("\r\x1b[2K", 1)[-1] for line in self.getvalue().split("\n")]


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=300)), max_size=5), st.integers(45, 200))
def test_a_table_is_never_wider_than_its_terminal(rows: list[tuple[str, str]], width: int) -> None:
    assert all(len(line) <= width for line in lay_out(COLUMNS, rows, width=width))


def test_only_a_terminal_shortens() -> None:
    rows = [("1.0.0", "x" * 200)]
    assert lay_out(COLUMNS, rows)[1].endswith("x" * 200)
    assert lay_out(COLUMNS, rows, width=40)[1].endswith("x…")


@given(st.text())
def test_names_from_outside_cannot_steer_the_terminal(text: str) -> None:
    assert "\x1b" not in clean(f"\x1b[2J{text}\x9b")


def test_answers_for_people_keep_colours_and_nothing_else_that_steers(capsys: pytest.CaptureFixture[str]) -> None:
    write(f"{paint('bad', 'bad', True)} note: \x1b[2J\x1b]0;x\x07\x9b\u202e done")
    note("why: \x1b[2Jx")
    said = capsys.readouterr()
    assert said.out == "\x1b[31mbad\x1b[0m note: [2J]0;x done\n"
    assert said.err == "why: [2Jx\n"


def test_answers_for_programs_are_kept_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"note": "\x1b[2J\u202e"})
    assert json.loads(capsys.readouterr().out) == {"note": "\x1b[2J\u202e"}


@given(st.text(alphabet="abc  \n", max_size=400))
def test_folding_keeps_every_word(text: str) -> None:
    assert fold(text, 40).split() == text.split()
    assert all(len(line) <= 40 or " " not in line.strip() for line in fold(text, 40).splitlines())


def test_names_in_a_list_say_only_what_tells_them_apart() -> None:
    assert drop_shared(["prefill, tiny, isl 128", "decode, tiny, isl 1"]) == ["prefill, isl 128", "decode, isl 1"]
    assert drop_shared(["prefill, tiny"]) == ["prefill, tiny"]
    assert drop_shared(["tiny", "tiny, isl 1"]) == ["tiny", "isl 1"]


def test_durations_are_said_as_people_say_them() -> None:
    assert [format_duration(s) for s in (None, 4, 89, 150, 7500)] == ["-", "4 s", "89 s", "2 min", "2 h 5 min"]


def test_what_others_print_stands_above_the_line() -> None:
    terminal = Terminal()
    line = StatusLine(terminal)
    line.show("1 of 9 runs")
    print("REGRESSION", file=line)
    line.show("2 of 9 runs")
    assert terminal.shown == ["REGRESSION", "2 of 9 runs"]
    line.show("")
    assert terminal.shown == ["REGRESSION", ""]


def test_an_unfinished_line_of_others_is_left_alone() -> None:
    terminal = Terminal()
    line = StatusLine(terminal)
    line.write("half ")
    line.show("1 of 9 runs")
    line.write("a line\n")
    assert terminal.shown == ["half a line", "1 of 9 runs"]


def test_without_a_terminal_the_line_is_printed_now_and_then() -> None:
    plain, moments = io.StringIO(), iter([0.0, 1.0, PLAIN_EVERY_S, 2 * PLAIN_EVERY_S])
    line = StatusLine(plain, clock=lambda: next(moments))
    for text in ("1 of 9", "2 of 9", "3 of 9", "3 of 9"):
        line.show(text)
    assert plain.getvalue() == "1 of 9\n3 of 9\n"
