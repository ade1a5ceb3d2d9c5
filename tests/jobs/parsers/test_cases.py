"""Every case folder, every parser's promises, and any folder of samples named with `pytest --samples DIR`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.conformance import check_case, differences, read
from jobs.content import Content
from jobs.reading import all_parsers, parser_of, recognise

CASES = Path(__file__).parent / "cases"
FOLDERS = sorted(path.parent for path in CASES.rglob("expected.json"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sample" in metafunc.fixturenames:
        folder = metafunc.config.getoption("samples")
        samples = json.loads((folder / "expected.json").read_text(encoding="utf-8")) if folder else []
        metafunc.parametrize("sample", samples, ids=[sample["path"] for sample in samples])


def test_a_sample_is_read_as_expected(sample: dict[str, Any], request: pytest.FixtureRequest) -> None:
    path = request.config.getoption("samples") / sample["path"]
    assert list(differences(sample, read(path))) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_case_is_read_as_expected(folder: Path) -> None:
    assert check_case(folder).differences == ()


@pytest.mark.parametrize("name", sorted(all_parsers()))
def test_a_parser_says_what_it_reads(name: str) -> None:
    parser = all_parsers()[name]
    assert parser.tools
    assert parser.reads
    assert set(parser.keys) <= set(parser.tools)
    assert all(parser_of(tool) is parser for tool in parser.tools), "a tool's id is read by one parser only"


@pytest.mark.parametrize("tool", sorted(tool for parser in all_parsers().values() for tool in parser.tools))
def test_every_tool_has_a_case_of_our_own(tool: str) -> None:
    expected = [json.loads((folder / "expected.json").read_text(encoding="utf-8")) for folder in FOLDERS]
    assert tool in {case["tool"] for case in expected}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_at_most_one_parser_claims_a_file(folder: Path) -> None:
    path = next(path for path in folder.iterdir() if path.name.startswith("input"))
    content = Content(path.name, path)
    claims = [parser.recognises(content) for parser in all_parsers().values()]
    assert len([claim for claim in claims if claim]) <= 1
    assert (recognise(content) is not None) == any(claims)
