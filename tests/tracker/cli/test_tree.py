"""Every command teaches itself, answers programs too, and the whole tree is quick to load."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tests.tracker.cli.conftest import Tracker
from tracker.cli.__main__ import make_app

HEAVY = ("pydantic", "sqlalchemy", "sqlmodel", "numpy", "pandas", "altair", "scipy", "rich", "fastapi", "httpx")


def list_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that call it."""
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from list_commands(inner, (*path, name))
        else:
            yield (*path, name), inner


COMMANDS = dict(list_commands(typer.main.get_command(make_app())))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_says_what_the_command_does_and_shows_an_example(path: tuple[str, ...], tracker: Tracker) -> None:
    answer = tracker(*path, "--help")
    assert answer.code == 0
    assert re.search(rf"^ +.*\btracker {' '.join(path)}\b", answer.out.split("Examples:")[1], re.MULTILINE)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    assert [one.name for one in COMMANDS[path].params if not getattr(one, "help", None) and one.name != "help"] == []


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - {("runs", "record")}), ids=" ".join)
def test_every_command_answers_in_json(path: tuple[str, ...]) -> None:
    """`runs record` prints nothing but lines of JSON anyway."""
    assert any("--json" in option.opts for option in COMMANDS[path].params)


GROUPS = ("", "hosts", "releases", "suites", "runs", "series", "alerts", "references", "tokens")


@pytest.mark.parametrize("group", GROUPS)
def test_a_list_of_commands_says_whole_sentences(group: str, tracker: Tracker) -> None:
    assert "..." not in tracker(*group.split(), "--help").out.split("Commands:")[1]


def test_a_group_alone_shows_its_help(tracker: Tracker) -> None:
    answer = tracker("runs")
    assert answer.code == 0
    assert "trigger" in answer.out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tracker.cli.__main__ import run; run(['--help']);"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[]"
    assert "serve" in done.stdout


def test_the_shell_completes_suites(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TRACKER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tracker runs trigger onnx")
    monkeypatch.setenv("COMP_CWORD", "3")
    done = subprocess.run([sys.executable, "-m", "tracker.cli"], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["onnxruntime"]
