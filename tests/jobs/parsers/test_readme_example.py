"""The parser that jobs/README.md shows, executed as it stands there."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from jobs import plugins, reading
from jobs.conformance import check_folder

README = Path(__file__).parents[3] / "jobs" / "README.md"


def blocks() -> dict[str, str]:
    found = re.findall(r"```(python|json|)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return {kind or "input": text for kind, text in found}


def test_the_example_is_a_parser_that_reads_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = blocks()
    package = tmp_path / "my_plugins"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tinybench.py").write_text(shown["python"])
    case = tmp_path / "cases" / "two_lines"
    case.mkdir(parents=True)
    (case / "input.txt").write_text(shown["input"])
    (case / "expected.json").write_text(shown["json"])
    assert json.loads(shown["json"])["tool"] == "tinybench"

    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint(name="tinybench", value="my_plugins.tinybench", group="tracker.parser")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == "tracker.parser" else [])
    for cached in (plugins.known_plugins, reading.all_parsers):
        cached.cache_clear()
    try:
        assert [checked.differences for checked in check_folder(tmp_path / "cases")] == [()]
    finally:
        sys.modules.pop("my_plugins.tinybench", None)
        for cached in (plugins.known_plugins, reading.all_parsers):
            cached.cache_clear()
