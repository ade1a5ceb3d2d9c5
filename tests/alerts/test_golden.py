from __future__ import annotations

import pytest

from tests.alerts.golden_cases import CASES, FOLDER


@pytest.mark.parametrize("name", CASES)
def test_what_people_read_changes_only_on_purpose(name: str) -> None:
    expected = (FOLDER / name).read_text(encoding="utf-8")
    assert CASES[name]() == expected, "read the difference; if it is meant: python -m tests.alerts.golden_cases"


def test_every_golden_file_has_a_case() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(CASES)
