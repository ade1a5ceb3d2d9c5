"""A series that starts each release from the one before has no levels; only a jump that stands out there counts."""

from __future__ import annotations

import numpy as np
import pytest

from baselines import assess, detect


def walk(seed: int, releases: int = 120, step: float = 0.01) -> np.ndarray:
    """Return a random walk of logarithms."""
    return np.cumsum(step * np.random.default_rng(seed).standard_normal(releases))


def found(logs: np.ndarray) -> list[int]:
    """Return the places of the changes found."""
    return [one.index for one in detect([[value] for value in (100 * np.exp(logs)).tolist()])]


def test_random_walks_are_nearly_quiet():
    assert sum(len(found(walk(seed))) for seed in range(30)) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_a_jump_that_stands_out_in_a_walk_is_found(seed: int):
    logs = walk(seed)
    logs[60:] += 0.3
    assert 60 in found(logs)


@pytest.mark.parametrize("turn", [12, 30])
def test_a_season_is_no_change(turn: int):
    place = np.arange(240)
    noise = 0.01 * np.random.default_rng(turn).standard_normal(240)
    assert len(found(0.2 * np.sin(2 * np.pi * place / turn) + noise)) <= 2


def test_levels_of_many_steps_are_no_walk():
    draw = np.random.default_rng(4)
    logs = np.repeat([0.0, 0.1, 0.0, -0.1, 0.05, 0.2], 20) + 0.01 * draw.standard_normal(120)
    assert found(logs) == [20, 40, 60, 80, 100]


def test_a_walk_is_called_wandering():
    values = [[value] for value in (100 * np.exp(walk(1))).tolist()]
    assert assess(values).verdict == "wandering"
