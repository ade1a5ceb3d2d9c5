"""Detectors by name: one signature, all find what nobody can miss, none invents what is not there."""

from __future__ import annotations

import random

import pytest

from baselines.detection.detectors import DETECTORS, find_detector

STEP = [[100 + 0.5 * (place % 3)] * 3 for place in range(12)] + [[130 + 0.5 * (place % 3)] * 3 for place in range(8)]


@pytest.mark.parametrize("name", DETECTORS)
def test_a_large_step_is_found_where_it_is(name: str):
    (change,) = find_detector(name)(STEP)
    assert change.index == 12
    assert change.effect_ratio == pytest.approx(0.30, abs=0.01)
    assert change.effect_low < change.effect_ratio < change.effect_high
    assert change.confirmed


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("values", [[], [[1.0]], [[1.0], [2.0]], [[0.0]] * 9, [[5.0]] * 9])
def test_short_and_constant_series_show_nothing(name: str, values: list[list[float]]):
    assert find_detector(name)(values) == []


@pytest.mark.parametrize("name", DETECTORS)
def test_releases_without_a_measurement_keep_their_place(name: str):
    (change,) = find_detector(name)([*STEP[:5], [], *STEP[5:]])
    assert change.index == 13


@pytest.mark.parametrize("name", DETECTORS)
def test_another_unit_changes_no_decision(name: str):
    source = random.Random(3)
    values = [[source.gauss(10 if place < 20 else 11, 0.1)] for place in range(30)]
    scaled = [[1000 * value for value in repeats] for repeats in values]
    one, other = find_detector(name)(values), find_detector(name)(scaled)
    assert [change.index for change in one] == [change.index for change in other]
    assert 20 in [change.index for change in one]


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown detector 'nothing'; known: tracker, ruptures-kernel, ruptures-pelt"):
        find_detector("nothing")


@pytest.mark.parametrize("name", DETECTORS)
def test_what_is_no_number_is_refused_with_its_place(name: str):
    with pytest.raises(ValueError, match="release 1, repeat 0"):
        find_detector(name)([[1.0], [float("nan")]])
