"""An accepted change is the new normal: what comes later is judged from its level, with all the noise seen."""

from __future__ import annotations

import numpy as np
import pytest

from baselines import SeriesInput, detect_many


def noisy(levels: list[float], repeats: int = 3, noise: float = 0.01, seed: int = 1) -> list[list[float]]:
    """Return repeats around each level, the same for ever."""
    draw = np.random.default_rng(seed)
    return [[float(level * np.exp(noise * draw.standard_normal())) for _ in range(repeats)] for level in levels]


def places(values: list[list[float]], accepted: dict[int, tuple[float, float]] | None = None) -> list[int]:
    """Return the indices at which changes are found."""
    return [one.index for one in detect_many([SeriesInput(values=values, accepted=accepted)])[0]]


def test_a_return_to_the_old_level_is_a_change_once_the_new_one_was_accepted():
    values = noisy([10.0] * 8 + [12.0] * 2 + [10.0] * 4)
    assert places(values) == []
    assert places(values, {8: (10.0, 12.0)}) == [10]


def test_a_level_that_stays_after_an_accepted_change_shows_that_change_alone():
    values = noisy([10.0] * 8 + [12.0] * 8)
    (plain,) = detect_many([SeriesInput(values=values)])[0]
    assert detect_many([SeriesInput(values=values, accepted={8: (10.0, 12.0)})])[0] == [plain]


def test_levels_before_an_accepted_change_are_given_as_they_were_measured():
    values = noisy([8.0] * 8 + [10.0] * 8 + [13.0] * 8)
    first, second = detect_many([SeriesInput(values=values, accepted={16: (10.0, 13.0)})])[0]
    assert (first.index, second.index) == (8, 16)
    assert (first.before, first.after) == (pytest.approx(8, rel=0.02), pytest.approx(10, rel=0.02))


def test_an_accepted_change_among_values_that_are_not_all_positive_moves_by_a_difference():
    values = [[value - 10.0 for value in repeats] for repeats in noisy([10.0] * 8 + [12.0] * 2 + [10.0] * 5)]
    assert places(values, {8: (0.0, 2.0)}) == [10]


def test_the_noise_of_before_still_counts_after_an_accepted_change():
    """Four calm releases after a noisy history do not make a fifth, within that noise, a change."""
    values = noisy([10.0] * 20, repeats=1, noise=0.05) + noisy([14.0] * 4, repeats=1, noise=0.002) + [[14.0 * 1.05]]
    assert places(values, {20: (10.0, 14.0)}) == [20]


@pytest.mark.parametrize("index", [-1, 3, True])
def test_an_accepted_index_must_be_a_release(index: int):
    with pytest.raises(ValueError, match="accepted: expected indices 0 to 2"):
        SeriesInput(values=[[1.0]] * 3, accepted={index: (1.0, 2.0)})
