"""The front of a sweep: nothing on it is beaten, and nothing is read outside it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.frontier.front import Front, SweepPoint, make_front, pareto

points = st.builds(SweepPoint, x=st.floats(1, 1000), y=st.floats(1, 1e5))


@given(points, points, points)
def test_dominance_is_transitive(a: SweepPoint, b: SweepPoint, c: SweepPoint) -> None:
    assert not (a.dominates(b) and b.dominates(c)) or a.dominates(c)


@given(st.lists(points, min_size=1, max_size=30))
def test_a_front_is_of_the_points_that_none_dominates(sweep: list[SweepPoint]) -> None:
    front = pareto(sweep)
    assert {(one.x, one.y) for one in front} == {
        (one.x, one.y) for one in sweep if not any(other.dominates(one) for other in sweep)
    }
    assert all(a.x < b.x and a.y > b.y for a, b in pairwise(front))


@given(st.lists(points, min_size=1, max_size=30), st.floats(0, 1))
def test_interpolation_stays_between_its_neighbours(sweep: list[SweepPoint], share: float) -> None:
    front = make_front(sweep)
    assert isinstance(front, Front)
    x = min(front.low + share * (front.high - front.low), front.high)
    value = front.at(x)
    assert value is not None
    left = max((one for one in front.points if one.x <= x), key=lambda one: one.x)
    right = min((one for one in front.points if one.x >= x), key=lambda one: one.x)
    assert right.y <= value <= left.y


def test_a_front_goes_through_its_points_and_says_nothing_outside() -> None:
    sweep = [(20, 900), (60, 500), (40, 400), (90, 100)]
    front = make_front([SweepPoint(x=x, y=y) for x, y in sweep])
    assert front is not None
    assert [one.x for one in front.points] == [20, 60, 90]
    assert [front.at(x) for x in (20, 60, 90)] == [900, 500, 100]
    assert (front.at(19.9), front.at(90.1)) == (None, None)
    assert make_front([]) is None


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_point_without_a_number_above_0_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="expected a number above 0"):
        SweepPoint(x=value, y=1, name="c8")
