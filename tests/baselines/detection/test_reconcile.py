from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines import Decision, FoundChange, StoredChange, reconcile

RELEASES = [f"{number:03d}" for number in range(40)]


def place(at: int, way: str = "up", spread: int = 0) -> FoundChange:
    return FoundChange(at=RELEASES[at], first=RELEASES[max(0, at - spread)], last=RELEASES[at + spread], way=way)  # type: ignore[arg-type]


def known(name: str, at: int, way: str = "up", spread: int = 0, withdrawn: bool = False) -> StoredChange:
    return StoredChange(id=name, place=place(at, way, spread), withdrawn=withdrawn)


def words(decisions: list[Decision]) -> list[tuple[str, str | None, str | None]]:
    return [(one.kind, one.stored_id, one.found.at if one.found else None) for one in decisions]


def test_a_change_found_again_keeps_its_id_and_a_further_one_is_new() -> None:
    decisions = reconcile([known("a", 5)], [place(5), place(20)], RELEASES)
    assert words(decisions) == [("same", "a", "005"), ("new", None, "020")]


def test_a_change_moves_to_a_neighbour_with_its_id() -> None:
    assert words(reconcile([known("a", 5)], [place(6)], RELEASES)) == [("moved", "a", "006")]


def test_a_change_moves_as_far_as_the_places_where_it_may_lie_overlap() -> None:
    assert words(reconcile([known("a", 5, spread=4)], [place(9)], RELEASES)) == [("moved", "a", "009")]
    apart = reconcile([known("a", 5)], [place(9)], RELEASES)
    assert words(apart) == [("withdrawn", "a", None), ("new", None, "009")]


def test_the_opposite_direction_is_another_change() -> None:
    decisions = reconcile([known("a", 5, "up")], [place(5, "down")], RELEASES)
    assert words(decisions) == [("new", None, "005"), ("withdrawn", "a", None)]


def test_the_nearest_is_matched_first_then_the_largest_overlap() -> None:
    assert words(reconcile([known("a", 4), known("b", 7)], [place(6), place(4)], RELEASES)) == [
        ("same", "a", "004"),
        ("moved", "b", "006"),
    ]
    assert words(reconcile([known("a", 4, spread=1), known("b", 8, spread=3)], [place(6, spread=1)], RELEASES)) == [
        ("withdrawn", "a", None),
        ("moved", "b", "006"),
    ]


def test_a_backport_between_old_releases_changes_no_id() -> None:
    releases = [*RELEASES[:5], "004.5", "004.7", *RELEASES[5:]]
    assert words(reconcile([known("a", 5), known("b", 30)], [place(5), place(30)], releases)) == [
        ("same", "a", "005"),
        ("same", "b", "030"),
    ]


def test_a_withdrawn_change_comes_back_under_its_id() -> None:
    assert words(reconcile([known("a", 5, withdrawn=True)], [place(5)], RELEASES)) == [("same", "a", "005")]
    assert reconcile([known("a", 5, withdrawn=True)], [], RELEASES) == []


def test_a_standing_change_goes_before_a_withdrawn_one() -> None:
    decisions = reconcile([known("a", 5, withdrawn=True), known("b", 6)], [place(5)], RELEASES)
    assert words(decisions) == [("moved", "b", "005")]


def test_a_place_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="must lie in its range"):
        FoundChange(at="3", first="4", last="5", way="up")
    with pytest.raises(ValueError, match="expected up or down"):
        FoundChange(at="4", first="4", last="5", way="sideways")  # type: ignore[arg-type]


changes = st.lists(st.tuples(st.integers(4, 34), st.sampled_from(["up", "down"]), st.integers(0, 4)), max_size=8)


@given(stored=changes, found=changes, order=st.randoms(use_true_random=False))
def test_every_change_is_decided_once_whatever_the_order_of_arrival(
    stored: list[tuple[int, str, int]], found: list[tuple[int, str, int]], order: random.Random
) -> None:
    before = [known(f"id{number}", *one) for number, one in enumerate(stored)]
    today = [place(*one) for one in found]
    decisions = reconcile(before, today, RELEASES)
    assert sorted(one.stored_id for one in decisions if one.stored_id) == sorted(one.id for one in before)
    assert sum(one.found is not None for one in decisions) == len(today)
    assert all(one.found is None or one.found in today for one in decisions)
    shuffled = reconcile(order.sample(before, len(before)), order.sample(today, len(today)), order.sample(RELEASES, 40))
    assert set(words(shuffled)) == set(words(decisions))
    assert all(
        one.found.way == next(s.place.way for s in before if s.id == one.stored_id)
        for one in decisions
        if one.found and one.stored_id
    )


@given(stored=changes, extra=st.lists(st.integers(0, 39), max_size=10))
def test_what_is_found_where_it_was_known_keeps_its_id_whatever_releases_come_between(
    stored: list[tuple[int, str, int]], extra: list[int]
) -> None:
    """Backports and late reruns add releases between old ones: a change that stays where it was is the same."""
    before = [
        known(f"id{at}{way}", at, way, spread) for (at, way), spread in {one[:2]: one[2] for one in stored}.items()
    ]
    releases = sorted({*RELEASES, *(f"{RELEASES[one]}.5" for one in extra)})
    decisions = reconcile(before, [one.place for one in before], releases)
    assert {(one.kind, one.stored_id) for one in decisions} == {("same", one.id) for one in before}


@given(stored=changes, found=changes)
def test_reconciling_again_with_what_came_of_it_changes_nothing(
    stored: list[tuple[int, str, int]], found: list[tuple[int, str, int]]
) -> None:
    places = [place(at, way, spread) for (at, way), spread in {one[:2]: one[2] for one in found}.items()]
    first = reconcile([known(f"id{number}", *one) for number, one in enumerate(stored)], places, RELEASES)
    after = [
        StoredChange(id=one.stored_id or f"new{number}", place=one.found)
        for number, one in enumerate(first)
        if one.found is not None
    ]
    assert {one.kind for one in reconcile(after, places, RELEASES)} <= {"same"}
