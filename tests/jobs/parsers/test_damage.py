"""Damaged files: whatever is cut, flipped or glued together, no wrong value comes out and nothing crashes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.content import Content
from jobs.measurements import ParseOutcome
from jobs.reading import AUTO, FAULT, read_result, result_json

CASES = Path(__file__).parent / "cases"
EVERY_BYTE_BELOW = 1024  # `make chaos` cuts anywhere, for ten minutes
RANDOM_CUTS = 200
FLIPS = 60


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "path" in metafunc.fixturenames:
        paths = [p for p in sorted(CASES.rglob("input*")) if p.is_file()]
        if folder := metafunc.config.getoption("samples"):
            listed = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
            paths += [folder / sample["path"] for sample in listed]
        metafunc.parametrize("path", paths, ids=["/".join(p.parts[-3:]) for p in paths])


def parse(raw: bytes, tool: str = AUTO) -> dict[str, Any]:
    found = result_json("damaged", read_result(Content("damaged", raw), tool))
    assert FAULT not in (found["reason"] or ""), found["reason"]
    return found


def cuts(size: int, generator: random.Random) -> Iterator[int]:
    if size < EVERY_BYTE_BELOW:
        yield from range(size)
    else:
        yield from sorted(generator.randrange(size) for _ in range(RANDOM_CUTS))


def assert_nothing_new(found: dict[str, Any], *whole: dict[str, Any]) -> None:
    """Every value stands under the same name, with the same labels of text kind, in a run of a whole file."""
    assert ParseOutcome(found["outcome"])
    assert found["outcome"] == "ok" or found["reason"]
    for run in found["runs"]:
        known = [other for result in whole for other in result["runs"]]
        for name, metric in run["metrics"].items():
            values = [other["metrics"][name]["value"] for other in known if name in other["metrics"]]
            assert metric["value"] in values, (name, metric, values)
        for name, value in run["labels"].items():
            assert value in [other["labels"].get(name) for other in known], (name, value)


def test_a_cut_file_gives_the_whole_files_values_or_none(path: Path) -> None:
    raw = path.read_bytes()
    whole = parse(raw)
    for number, end in enumerate(cuts(len(raw), random.Random(5))):
        tool = AUTO if number % 10 == 0 or not whole["tool"] else whole["tool"]
        found = parse(raw[:end], tool)
        assert_nothing_new(found, whole)
        assert len(found["runs"]) <= len(whole["runs"]), end
        for run, whole_run in zip(found["runs"], whole["runs"], strict=False):
            for name, metric in run["metrics"].items():
                assert metric["value"] == whole_run["metrics"][name]["value"], (end, name)


def test_flipped_bytes_never_crash(path: Path) -> None:
    raw, generator = path.read_bytes(), random.Random(7)
    for _ in range(FLIPS):
        damaged = bytearray(raw)
        for _ in range(generator.choice((1, 1, 3, 20))):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        found = parse(bytes(damaged))
        assert found["outcome"] == "ok" or found["reason"]


def test_glued_files_give_values_of_one_of_them_or_none(path: Path) -> None:
    raw, whole = path.read_bytes(), parse(path.read_bytes())
    for other in sorted(CASES.rglob("input*"))[::7]:
        second = other.read_bytes()
        assert_nothing_new(parse(raw + second), whole, parse(second))
    assert_nothing_new(parse(raw + raw), whole)
