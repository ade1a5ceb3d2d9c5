"""A log line is one line, whatever its fields hold."""

from __future__ import annotations

import logging

import pytest

from tracker.logs import MOST_REMEMBERED, EventFormatter, RepeatFilter


def _line(**fields: object) -> str:
    record = logging.LogRecord("tracker", logging.INFO, __file__, 1, "source.odd", None, None)
    record.created = 0.0
    record.fields = fields
    return EventFormatter().format(record)


def test_fields_follow_the_event_and_those_without_a_value_are_left_out() -> None:
    assert _line(run=17, why=None) == "1970-01-01T00:00:00Z INFO source.odd run=17"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("two words", '"two words"'),
        ('"', '"\\""'),
        ("a\nINFO forged", '"a\\nINFO forged"'),
        ("\x1b[2J", '"\\u001b[2J"'),
        ("\x9b2J\u202e", '"\\u009b2J\\u202e"'),
        ("Größe", "Größe"),
    ],
)
def test_a_field_can_neither_begin_a_line_nor_steer_a_terminal(value: str, written: str) -> None:
    assert _line(entry=value) == f"1970-01-01T00:00:00Z INFO source.odd entry={written}"


def test_a_warning_that_says_the_same_again_is_told_once_a_minute():
    repeats = RepeatFilter()

    def passes(at: float, level: int = logging.WARNING, **fields: object) -> bool:
        record = logging.LogRecord("tracker", level, __file__, 1, "run.not_seen", None, None)
        record.created, record.fields = at, fields
        return repeats.filter(record)

    assert passes(100.0, run="a", why="away")
    assert not passes(100.3, run="a", why="away")
    assert passes(100.3, run="b", why="away")
    assert passes(100.4, run="a", why="another reason")
    assert passes(160.1, run="a", why="away")
    assert [passes(200.0, logging.INFO, run="a") for _ in range(2)] == [True, True]
    for number in range(2 * MOST_REMEMBERED):
        assert passes(300.0, run=number)
