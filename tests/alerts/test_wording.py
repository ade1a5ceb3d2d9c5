from __future__ import annotations

import pytest

from alerts.wording import count, format_effect, format_interval, format_number, format_value, join_names


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.012345, "0.0123"),
        (5.5812, "5.58"),
        (5.6, "5.60"),
        (99.96, "100.0"),
        (128.44, "128.4"),
        (3.0, "3"),
        (999.97, "1,000"),
        (12345.6, "12,346"),
        (-5.5812, "-5.58"),
    ],
)
def test_numbers_keep_what_can_be_read(value: float, text: str) -> None:
    assert format_number(value) == text


def test_a_missing_value_is_never_shown_as_zero() -> None:
    assert format_value(None, "ms") == "no value"
    assert format_value(5.58, "ms") == "5.58 ms"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.152, "+15.2 %"), (-0.155, "-15.5 %"), (0.0004, "±0.0 %"), (11.5, "+1,150 %"), (None, "from zero")],
)
def test_effects_carry_their_sign(ratio: float | None, text: str) -> None:
    assert format_effect(ratio) == text


def test_an_interval_is_shown_only_where_both_ends_are_known() -> None:
    assert format_interval(0.121, 0.183) == "+12.1 % to +18.3 %"
    assert format_interval(0.121, None) == ""


def test_counts_and_lists_read_well() -> None:
    assert count(1, "release") == "1 release"
    assert count(2, "series", "series") == "2 series"
    assert join_names(["a", "b", "c", "d"], 2) == "a, b and 2 more"
