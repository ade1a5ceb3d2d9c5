"""Whatever a file is, and whatever a parser does with it, the answer is an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs import reading
from jobs.content import Content
from jobs.errors import UnknownPlugin
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.reading import FAULT, read_result
from jobs.run_builder import number_label


class Broken:
    tools: tuple[str, ...] = ("broken",)
    reads = "nothing"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, object]] = {}

    def recognises(self, content: Content) -> str | None:
        return "broken"

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        raise KeyError("surprise")


def test_a_parser_that_breaks_refuses_the_file_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "all_parsers", lambda: {"broken": Broken()})
    result = read_result(Content.of_text("anything\n"))
    assert (result.tool, result.outcome) == ("broken", ParseOutcome.REFUSED)
    assert FAULT in result.reason
    assert "test_reading.py line" in result.reason
    assert "surprise" in result.reason


def test_a_file_that_vanished_is_the_callers_to_tell(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_result(Content("gone", tmp_path / "gone"))


def test_an_unknown_tool_is_the_callers_mistake() -> None:
    with pytest.raises(UnknownPlugin, match="no parser reads 'nobody'"):
        read_result(Content.of_text("x"), "nobody")


@pytest.mark.parametrize(
    ("text", "number"), [("1,024", 1024), ("1,024.5", 1024.5), ("1,5", None), ("12,34", None), ("7", 7), ("x", None)]
)
def test_a_comma_is_a_separator_only_where_it_can_be_nothing_else(text: str, number: object) -> None:
    assert number_label(text) == number
