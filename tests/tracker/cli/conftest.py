"""The command line, run in this process on a folder of its own, empty or seeded."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.seed import Seeded, make_template
from tracker.cli.__main__ import run


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What was printed, read as JSON."""
        return json.loads(self.out)


Tracker = Callable[..., Answer]


@pytest.fixture(autouse=True)
def restore_logs() -> Iterator[None]:
    """Give the loggers back as they were: commands set them up for a process of their own."""
    loggers = [logging.getLogger(name) for name in (None, "tracker")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A service folder that does not exist yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("TRACKER_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seeded]:
    """A seeded folder that tests copy."""
    folder = tmp_path_factory.mktemp("seeded")
    seeded = make_template(folder)
    assert seeded is not None
    return folder, seeded


@pytest.fixture
def seeded(home: Path, template: tuple[Path, Seeded]) -> Seeded:
    """What is in the service folder of this test, which is a seeded one."""
    shutil.copytree(template[0], home)
    return template[1]


@pytest.fixture
def tracker(home: Path, capsys: pytest.CaptureFixture[str]) -> Tracker:
    """Run one command and return how it ended."""

    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        code = run(arguments)
        said = capsys.readouterr()
        return Answer(code=code, out=said.out, err=said.err)

    return call


@pytest.fixture
def folder_suite(tmp_path: Path) -> Path:
    """A suite that measures folders with a program of its own, at once and without a network."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "tiny.py").write_text(TINY_PROGRAM, encoding="utf-8")
    for version in ("1.0.0", "1.1.0"):
        release = tmp_path / "releases" / version
        release.mkdir(parents=True)
        (release / "version.txt").write_text(version, encoding="utf-8")
    file = tmp_path / "tiny.toml"
    file.write_text(TINY_SUITE.replace("RELEASES", str(tmp_path / "releases")), encoding="utf-8")
    return file


TINY_PROGRAM = """
import json, sys
value = 6.5 if sys.argv[1] == "1.1.0" else 5.5
print("measuring", sys.argv[1])
metrics = {"latency_p50_ms": {"value": value, "unit": "ms", "samples": 100}}
result = {"tool": "tiny", "version": sys.argv[1], "runs": [{"labels": {"isl": 128}, "metrics": metrics}]}
json.dump(result, open("result.json", "w"))
"""

TINY_SUITE = """
name = "tiny"
title = "A program that prints a number"
component = "tiny"
[source]
kind = "folder"
path = "RELEASES"
[releases]
first = ["1.0", "newest"]
[matrix]
model = ["none"]
[run]
executor = "local"
program = "tiny.py"
arguments = ["{version}"]
repeats = 1
timeout_s = 60
estimate_s = 1
[output]
tool = "tiny"
parser = "generic"
[[expect]]
labels = { isl = 128 }
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
"""
