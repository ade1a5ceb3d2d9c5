"""What a whole family decides together: drifts, siblings that change at once, and those that do not."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from baselines import SeriesInput, detect_many
from baselines.detection.siblings import weigh_series

RELEASES = 20


def make_family(seed: int, steps: list[float], noise: float = 0.01) -> list[SeriesInput]:
    """Return series of 20 releases with 3 repeats in groups of 20; `steps[i]` moves the newest release of series i."""
    source = random.Random(seed)
    family = []
    for number, step in enumerate(steps):
        levels = [source.gauss(0, noise * 0.6) + (step if place == RELEASES - 1 else 0) for place in range(RELEASES)]
        values = [[100 * math.exp(level + source.gauss(0, 0.8 * noise)) for _ in range(3)] for level in levels]
        family.append(SeriesInput(values=values, group=f"group {number // 20}"))
    return family


def called(family: list[SeriesInput]) -> list[bool]:
    """Return which series are said to have changed at the newest release."""
    return [any(change.index == RELEASES - 1 for change in changes) for changes in detect_many(family)]


def test_a_lone_odd_newest_release_among_many_quiet_series_is_not_called_a_drift() -> None:
    changes = detect_many(make_family(1, [0.0] * 1500))
    assert sum(change.kind == "drift" for found in changes for change in found) <= 1
    assert sum(any(change.index >= RELEASES - 2 for change in found) for found in changes) <= 3


def test_false_calls_among_rare_changes_stay_near_their_share() -> None:
    source = random.Random(7)
    steps = [
        source.choice([-1, 1]) * source.uniform(0.04, 0.08) if source.random() < 0.03 else 0.0 for _ in range(2000)
    ]
    found = called(make_family(2, steps))
    true = sum(hit for hit, step in zip(found, steps, strict=True) if step)
    assert true >= 0.9 * sum(bool(step) for step in steps)
    assert sum(found) - true <= 0.15 * sum(found)


def test_a_change_that_siblings_share_is_found_where_alone_it_would_not_be() -> None:
    together = [0.018] * 20 + [0.0] * 180
    hits = called(make_family(3, together))
    alone = [called([SeriesInput(values=one.values)])[0] for one in make_family(3, together)[:20]]
    assert sum(hits[:20]) >= sum(alone) + 5
    assert sum(hits[20:]) <= 3


def test_weights_are_equal_where_nothing_clusters() -> None:
    source = np.random.default_rng(5)
    p = source.random(400)
    weights = weigh_series(p, np.sign(source.standard_normal(400)), np.repeat(np.arange(20), 20), ["now"] * 400)
    assert weights is not None
    assert max(weights) / min(weights) < 5


def test_a_sibling_going_the_way_of_its_group_weighs_more_than_one_going_against_it() -> None:
    p = np.full(40, 0.5)
    p[:15] = 1e-4
    sign = np.ones(40)
    sign[16] = -1
    weights = weigh_series(p, sign, np.repeat([0, 1], 20), ["now"] * 40)
    assert weights is not None
    assert weights[15] > weights[16]
    assert weights[15] > 5 * weights[30]


def test_small_groups_and_strangers_have_no_weights() -> None:
    assert weigh_series(np.full(6, 0.01), np.ones(6), np.array([0, 0, 1, 1, -1, -1]), ["now"] * 6) is None


@pytest.mark.parametrize("step", [0.05, -0.05])
def test_siblings_at_other_releases_are_not_counted_together(step: float) -> None:
    family = make_family(4, [step] * 20)
    apart = [
        SeriesInput(values=one.values, group=one.group, labels=[f"{number}-{place}" for place in range(RELEASES)])
        for number, one in enumerate(family)
    ]
    assert sum(called(apart)) <= sum(called(family))


def test_hundreds_of_siblings_that_all_changed_have_finite_weights() -> None:
    weights = weigh_series(np.full(6000, 1e-9), np.ones(6000), np.zeros(6000, int), ["now"] * 6000)
    assert weights is not None
    assert all(math.isfinite(one) and one > 0 for one in weights)
    assert max(weights) == pytest.approx(min(weights))
