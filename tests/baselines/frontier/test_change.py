"""Two fronts: gain, loss and where each is said to be, with the noise that the repeats show."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.frontier.change import SweepConfig, compare_fronts, pool_residuals, repeats_at, values_at

CURVE = {"c4": (180.0, 900.0), "c16": (140.0, 2500.0), "c64": (80.0, 5600.0), "c256": (30.0, 9000.0)}


def sweep(
    gains: dict[str, float] | float = 1.0, *, repeats: int = 3, noise: float = 0.005, seed: int = 1
) -> list[SweepConfig]:
    random = Random(seed)
    found = []
    for name, (x, y) in CURVE.items():
        times = gains if isinstance(gains, float) else gains.get(name, 1.0)
        drawn = [(math.exp(random.gauss(0, noise)), math.exp(random.gauss(0, noise))) for _ in range(repeats)]
        found.append(SweepConfig(name=name, repeats=tuple((x * a, y * times * b) for a, b in drawn)))
    return found


def line(low: float, high: float) -> list[SweepConfig]:
    """Return a front that is a straight line from 10 to 110 tok/s/user."""
    return [SweepConfig(name="a", repeats=((10.0, low),)), SweepConfig(name="b", repeats=((110.0, high),))]


def test_the_area_equals_the_sum_done_by_hand() -> None:
    found = compare_fronts(line(300, 100), line(330, 110))
    assert found.gain is not None
    assert found.loss is not None
    assert (found.gain.value, found.loss.value) == (pytest.approx(0.1, rel=1e-12), 0)
    crossed = compare_fronts(line(300, 100), line(260, 140))
    assert crossed.gain is not None
    assert crossed.loss is not None
    assert crossed.net is not None
    # two triangles of 50 x 40 / 2 over an area of 100 x 200
    assert crossed.gain.value == pytest.approx(0.05, rel=1e-12)
    assert crossed.loss.value == pytest.approx(0.05, rel=1e-12)
    assert crossed.net.value == pytest.approx(0, abs=1e-12)


def test_a_release_that_is_faster_at_one_end_and_slower_at_the_other_says_exactly_that() -> None:
    found = compare_fronts(sweep(), sweep({"c256": 1.2, "c64": 1.15, "c16": 0.85, "c4": 0.8}, seed=2))
    assert found.sentence.startswith("faster at the throughput end and slower at the interactive end: faster from 3")
    words = [one.word for one in found.stretches]
    assert words == ["faster", "same", "slower"]
    assert found.gain is not None
    assert found.loss is not None
    assert (found.gain.low or 0) > 0.02
    assert (found.loss.low or 0) > 0.02


def test_the_same_speed_measured_again_is_no_difference() -> None:
    quiet = [compare_fronts(sweep(seed=2 * n), sweep(seed=2 * n + 1)).sentence for n in range(20)]
    assert sum(said.startswith("no difference beyond the noise") for said in quiet) >= 18


def test_a_release_that_is_faster_throughout_is_faster_everywhere() -> None:
    found = compare_fronts(sweep(), sweep(1.2, seed=2))
    assert found.sentence.startswith("faster everywhere from ")
    assert found.net is not None
    assert found.net.low is not None
    assert found.net.high is not None
    assert 0.15 < found.net.low < 0.2 < found.net.high < 0.25


def test_the_answer_never_changes() -> None:
    assert compare_fronts(sweep(), sweep(1.1, seed=2)) == compare_fronts(sweep(), sweep(1.1, seed=2))


def test_without_repeats_nothing_is_judged_and_that_is_said() -> None:
    found = compare_fronts(sweep(repeats=1), sweep(1.2, repeats=1, seed=2))
    assert not found.judged
    assert found.sentence.endswith("nothing was repeated, so this may be noise")
    assert found.net is not None
    assert found.net.low is None


def test_fronts_that_cover_nothing_in_common_are_not_compared() -> None:
    far = [SweepConfig(name="c1", repeats=((400.0, 100.0), (401.0, 101.0)))]
    found = compare_fronts(sweep(), far)
    assert (found.low, found.gain, found.stretches) == (None, None, ())
    assert "cover no common interactivity" in found.sentence


def test_values_are_read_inside_the_coverage_only() -> None:
    inside, outside = values_at(sweep(noise=0.0), sweep({"c4": 1.1}, noise=0.0), [180.0, 181.0])
    assert inside.before is not None
    assert inside.after is not None
    assert (inside.before.value, inside.after.value) == (pytest.approx(900), pytest.approx(990))
    assert outside.before is None
    assert outside.after is None
    assert outside.reason.startswith("the earlier front covers 30 to 180 tok/s/user; the later front")


def test_noise_is_pooled_over_all_points_and_widened_for_their_number() -> None:
    configs = [
        SweepConfig(name="a", repeats=((10.0, 100.0), (10.0, 110.0))),
        SweepConfig(name="b", repeats=((5.0, 50.0),)),
    ]
    found = pool_residuals(configs)
    once = math.log(1.1) / 2 * math.sqrt(2) * (1 + (1.96**2 + 1) / 4)
    assert [y for _, y in found] == pytest.approx([-once, once])


def test_a_sweep_without_a_config_or_repeat_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a config or more"):
        compare_fronts([], sweep())
    with pytest.raises(ValueError, match="expected a repeat or more"):
        SweepConfig(name="c4", repeats=())


points = st.tuples(st.floats(5, 500), st.floats(10, 1e5))
sweeps = st.lists(points, min_size=1, max_size=6).map(
    lambda found: [SweepConfig(name=str(place), repeats=(one,)) for place, one in enumerate(found)]
)


@settings(deadline=None)
@given(sweeps, sweeps)
def test_gain_and_loss_are_never_negative_and_their_difference_is_the_net(
    before: list[SweepConfig], after: list[SweepConfig]
) -> None:
    found = compare_fronts(before, after)
    if found.gain is None or found.loss is None or found.net is None:
        return
    assert found.gain.value >= 0
    assert found.loss.value >= 0
    assert found.net.value == pytest.approx(found.gain.value - found.loss.value, abs=1e-9, rel=1e-9)
    assert found.low is not None
    assert found.stretches[0].low == found.low
    assert found.stretches[-1].high == found.high


@settings(deadline=None)
@given(sweeps, st.floats(1.05, 3))
def test_a_front_lifted_everywhere_gains_and_loses_nothing(before: list[SweepConfig], times: float) -> None:
    lifted = [SweepConfig(name=one.name, repeats=tuple((x, y * times) for x, y in one.repeats)) for one in before]
    found = compare_fronts(before, lifted)
    if found.gain is not None and found.loss is not None:
        assert found.gain.value == pytest.approx(times - 1, rel=1e-9)
        assert found.loss.value == 0


def test_repeats_at_an_interactivity_are_read_one_front_each() -> None:
    found = repeats_at(sweep(noise=0.01), 80.0)
    assert len(found) == 3
    assert len(set(found)) == 3
    assert repeats_at(sweep(noise=0.0), 80.0) == pytest.approx((5600.0,) * 3)
    assert repeats_at(sweep(), 500.0) == ()
    assert repeats_at([], 80.0) == ()
