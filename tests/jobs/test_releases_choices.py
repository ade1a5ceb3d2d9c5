"""Choosing among releases."""

from __future__ import annotations

import pytest

from jobs.errors import UserError
from jobs.releases import match_versions, newest_of, previous_release

KNOWN = ["1.25.1", "1.26.0", "1.26.1.post1", "1.27.0rc1", "1.27.0rc2", "1.27.0", "1.28.0.dev3", "1.28.0rc0", "latest"]
CALENDAR = ["25.04", "25.10", "26.02", "26.03rc1"]


@pytest.mark.parametrize(
    ("spec", "versions", "expected"),
    [
        (">=1.26,!=1.27.0", KNOWN, ["1.26.0", "1.26.1.post1"]),
        ("", KNOWN, ["1.25.1", "1.26.0", "1.26.1.post1", "1.27.0"]),
        (">=1.27.0rc1", KNOWN, ["1.27.0rc1", "1.27.0rc2", "1.27.0", "1.28.0.dev3", "1.28.0rc0"]),
        ("==25.*", CALENDAR, ["25.04", "25.10"]),
        (">25.04", CALENDAR, ["25.10", "26.02"]),
        ("!=25.4", CALENDAR, ["25.10", "26.02"]),
    ],
)
def test_a_filter_lets_through_what_pep_440_says(spec: str, versions: list[str], expected: list[str]) -> None:
    assert match_versions(spec, versions) == expected


def test_candidates_pass_a_filter_only_when_asked_for() -> None:
    assert match_versions("==1.27.*", KNOWN) == ["1.27.0"]
    assert match_versions("==1.27.*", KNOWN, prereleases=True) == ["1.27.0rc1", "1.27.0rc2", "1.27.0"]


@pytest.mark.parametrize("spec", ["^1.2", ">=1.15,1.26", ">=", ">=latest", "1.2.x"])
def test_a_filter_that_cannot_be_read_is_named(spec: str) -> None:
    with pytest.raises(UserError, match=r"version filter .* is not a comparison .* such as '>=1\.15"):
        match_versions(spec, KNOWN)


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [("1.26", "1.26.1.post1"), ("1.26.0", "1.26.0"), ("1", "1.27.0"), ("newest", "1.27.0"), ("1.28", None)],
)
def test_the_newest_of_a_line_is_its_newest_stable_release(prefix: str, expected: str | None) -> None:
    assert newest_of(prefix, KNOWN) == expected


def test_the_newest_of_a_year_is_found_by_its_number() -> None:
    assert newest_of("25", CALENDAR) == "25.10"
    assert newest_of("26.02", CALENDAR) == "26.02"


def test_the_newest_is_chosen_by_number_and_not_by_letters() -> None:
    assert newest_of("newest", ["0.5.9", "0.5.10", "0.5.2"]) == "0.5.10"


@pytest.mark.parametrize("prefix", ["", "latest", "1.x", "1.26.", "-1"])
def test_a_line_that_is_no_number_is_refused(prefix: str) -> None:
    with pytest.raises(UserError, match="names no line of releases"):
        newest_of(prefix, KNOWN)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("1.27.0", "1.26.1.post1"),
        ("1.26.1.post1", "1.26.0"),
        ("1.27.0rc2", "1.27.0rc1"),
        ("1.27.0rc1", "1.26.1.post1"),
        ("1.28.0rc0", "1.27.0"),
        ("1.28.0.dev4", "1.28.0.dev3"),
        ("1.25.1", None),
        ("latest", None),
        ("1.26.5", "1.26.1.post1"),
    ],
)
def test_a_release_is_compared_with_the_one_before_it(identity: str, expected: str | None) -> None:
    assert previous_release(identity, KNOWN) == expected


def test_a_nightly_is_compared_with_the_nightly_before_it() -> None:
    known = ["nightly-20250801", "nightly-20250803", "1.0.0"]
    assert previous_release("nightly-20250803", known) == "nightly-20250801"
    assert previous_release("nightly-20250801", known) is None
