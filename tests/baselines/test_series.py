from __future__ import annotations

import pytest

from baselines import Level, aggregate


def test_a_release_is_drawn_as_its_median_between_its_lowest_and_highest_repeat() -> None:
    assert aggregate([[3, 1, 2], [], [4.0, 8.0]]) == [
        Level(level=2.0, low=1.0, high=3.0, repeats=3),
        None,
        Level(level=6.0, low=4.0, high=8.0, repeats=2),
    ]


def test_the_median_of_huge_values_stays_finite() -> None:
    assert aggregate([[1.7e308, 1.7e308]])[0] == Level(level=1.7e308, low=1.7e308, high=1.7e308, repeats=2)


def test_malformed_repeats_say_where() -> None:
    with pytest.raises(ValueError, match="release 1, repeat 0: expected a finite number"):
        aggregate([[1.0], [float("nan")]])
