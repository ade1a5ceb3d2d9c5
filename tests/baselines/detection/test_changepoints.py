from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines import ChangePoint, DetectOptions, SeriesInput, assess, detect, detect_many

LATENCY_MS = [
    [5.4, 5.5, 5.3, 5.45, 5.4],
    [6.4, 6.2, 6.3, 6.5, 6.35],
    [5.3, 5.35, 5.4, 5.2, 5.3],
    [5.6, 5.5, 5.55, 5.7, 5.5],
]
"""Prefill latency of four releases of which the second was slower, measured."""


def simulate(
    seed: int, levels: list[float], noise: float = 0.02, repeats: int = 5, between: float = 0.6
) -> list[list[float]]:
    """Return repeats around the levels: lognormal, the part between releases `between` times that of a repeat."""
    source = random.Random(seed)
    series = []
    for level in levels:
        shift = source.gauss(0, noise * between)
        series.append([level * math.exp(shift + source.gauss(0, noise)) for _ in range(repeats)])
    return series


def places(values: list[list[float]]) -> list[int]:
    return [change.index for change in detect(values)]


def decisions(changes: list[ChangePoint]) -> list[tuple[object, ...]]:
    return [(one.index, one.kind, one.confirmed, one.possible, round(one.effect_ratio, 6)) for one in changes]


seeds = st.integers(0, 10**6)
shapes = st.sampled_from([[100.0] * 12, [100.0] * 8 + [120.0] * 6, [100.0] * 9 + [88.0], [100.0] * 5 + [130.0] * 2])


def test_a_slow_release_among_four_and_its_recovery_are_found() -> None:
    slower, recovered = detect(LATENCY_MS)
    assert (slower.index, recovered.index) == (1, 2)
    assert slower.before == pytest.approx(5.4, abs=0.02)
    assert slower.after == pytest.approx(6.35, abs=0.02)
    assert slower.effect_ratio == pytest.approx(slower.after / slower.before - 1)
    assert slower.effect_low < slower.effect_ratio < slower.effect_high
    assert slower.possible == (1, 1)
    assert slower.confirmed
    assert slower.reason.startswith("up by 17.4 % from release number 2")
    assert recovered.effect_ratio < 0


def test_a_shift_seen_only_at_the_newest_release_is_unconfirmed_until_the_next() -> None:
    values = simulate(1, [100.0] * 8 + [125.0])
    (alone,) = detect(values)
    assert (alone.index, alone.confirmed) == (8, False)
    (joined,) = detect([*values, *simulate(2, [125.0])])
    assert (joined.index, joined.confirmed) == (8, True)


def test_the_newest_release_is_not_believed_when_half_of_its_repeats_stayed() -> None:
    values = simulate(3, [100.0] * 10, repeats=2)
    assert places([*values, [130.0, 130.0]]) == [10]
    assert places([*values, [100.0, 160.0]]) == []


def test_one_bad_day_inside_a_long_history_is_set_aside() -> None:
    assert places(simulate(4, [100.0] * 8 + [150.0] + [100.0] * 8)) == []


def test_a_newest_release_no_odder_than_an_earlier_bad_day_waits_for_a_second() -> None:
    values = simulate(4, [100.0] * 8 + [150.0] + [100.0] * 8)
    assert places([*values, *simulate(5, [140.0])]) == []
    assert places([*values, *simulate(5, [140.0, 140.0])]) == [17]


def test_constant_series_are_quiet_and_a_step_between_constants_is_found() -> None:
    assert detect([[7.0]] * 20) == []
    assert detect([[0, 0, 0]] * 10) == []
    assert places([[7.0]] * 10 + [[8.0]] * 10) == [10]
    assert places([[7.0]] * 10 + [[7.01]] * 10) == []


def test_rounded_values_that_flicker_between_neighbours_are_quiet() -> None:
    assert places([[10], [10], [11], [10], [10], [11], [11], [10], [10], [10], [11], [10]]) == []


def test_zeros_and_negatives_are_judged_by_difference() -> None:
    (change,) = detect([[0.0, -1.0, 1.0]] * 8 + [[50.0, 51.0, 49.0]] * 8)
    assert change.index == 8
    assert math.isfinite(change.effect_ratio)
    assert change.before == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_magnitudes_do_not_change_the_answer(size: float) -> None:
    values = simulate(6, [1.0] * 8 + [1.3] * 8)
    assert places([[one * size for one in repeats] for repeats in values]) == [8]


def test_an_unmeasured_or_excluded_release_widens_where_the_change_may_lie() -> None:
    values = simulate(7, [100.0] * 8 + [130.0] * 8)
    values[8] = []
    (change,) = detect(values)
    assert (change.index, change.possible) == (9, (8, 9))
    ((same,),) = detect_many([SeriesInput(values=[*values[:8], [1e6], *values[9:]], excluded={8: "wrong clock"})])
    assert (same.index, same.possible) == (9, (8, 9))


def test_the_reason_names_the_release_and_a_change_of_host() -> None:
    values = simulate(8, [100.0] * 4 + [130.0] * 4)
    labels = [f"1.{number}" for number in range(8)]
    ((change,),) = detect_many([SeriesInput(values=values, labels=labels, hosts=["a"] * 4 + ["b"] * 4)])
    assert "from release 1.4" in change.reason
    assert "host changed here too, from a to b" in change.reason
    assert change.confounded_by is not None
    ((shared,),) = detect_many([SeriesInput(values=values, labels=labels, hosts=["a", "b"] * 4)])
    assert shared.confounded_by is None


def test_a_family_of_quiet_series_weakens_a_lone_alarm_at_the_newest_release() -> None:
    borderline = simulate(13, [100.0] * 9 + [107.0])
    (alone,) = detect(borderline)
    assert alone.q > alone.p
    family = [borderline, *(simulate(seed, [100.0] * 10) for seed in range(200, 240))]
    together = detect_many([SeriesInput(values=values) for values in family])[0]
    assert all(change.q > alone.q for change in together)
    kept = detect_many([SeriesInput(values=v) for v in family], DetectOptions(false_discovery_ratio=0.999))[0]
    assert [change.index for change in kept] == [9]


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ([[1.0], [2.0, math.nan]], "release 1, repeat 1: expected a finite number, found nan"),
        ([[math.inf]], "release 0, repeat 0: expected a finite number"),
        ([[10**400]], "release 0, repeat 0: expected a finite number"),
        ([[1.0], None], "release 1: expected a list of repeats, found None"),
        ([[1.0], [None]], "release 1, repeat 0: expected a number, found None"),
        ([["5.4"]], "release 0, repeat 0: expected a number, found '5.4'"),
        ([[True]], "release 0, repeat 0: expected a number, found True"),
        (["12"], "release 0: expected a list of repeats"),
        ([5.4, 5.5], "write a single value as"),
        ("5.4", "values: expected a list"),
        (None, "values: expected a list"),
    ],
)
def test_malformed_values_say_what_and_where(values: object, where: str) -> None:
    with pytest.raises(ValueError, match=where.replace("[", r"\[")):
        detect(values)  # type: ignore[arg-type]


def test_malformed_companions_of_a_series_are_refused() -> None:
    with pytest.raises(ValueError, match="labels: expected one per release"):
        SeriesInput(values=[[1.0]], labels=["a", "b"])
    with pytest.raises(ValueError, match="found twice: a"):
        SeriesInput(values=[[1.0], [1.0]], labels=["a", "a"])
    with pytest.raises(ValueError, match="hosts: expected one per release"):
        SeriesInput(values=[[1.0]], hosts=[])
    with pytest.raises(ValueError, match="excluded: expected indices 0 to 0, found 3"):
        SeriesInput(values=[[1.0]], excluded=[3])
    with pytest.raises(ValueError, match="false_alarm_ratio"):
        DetectOptions(false_alarm_ratio=0)


@pytest.mark.parametrize("values", [[], [[]], [[1.0]], [[1.0], [2.0], [3.0]], [[1.0], [], [], [2.0], [3.0]]])
def test_too_few_releases_give_nothing_and_say_so(values: list[list[float]]) -> None:
    assert detect(values) == []
    assert assess(values).verdict == "too_few"


def test_a_series_is_assessed_in_one_word() -> None:
    assert assess(LATENCY_MS).verdict == "changed"
    quiet = assess(simulate(9, [100.0] * 20, noise=0.005))
    assert quiet.verdict == "stable"
    assert quiet.detectable_ratio is not None
    assert 0.005 < quiet.detectable_ratio < 0.05
    assert assess(simulate(9, [100.0] * 20, noise=0.2)).verdict == "noisy"


@settings(max_examples=15, deadline=None)
@given(seed=seeds, shape=shapes, factor=st.floats(1e-6, 1e6))
def test_another_unit_changes_no_decision(seed: int, shape: list[float], factor: float) -> None:
    values = simulate(seed, shape)
    scaled = detect([[one * factor for one in repeats] for repeats in values])
    assert decisions(scaled) == decisions(detect(values))


@settings(max_examples=15, deadline=None)
@given(seed=seeds, shape=shapes)
def test_the_inverse_metric_has_the_same_changes_with_the_opposite_sign(seed: int, shape: list[float]) -> None:
    values = simulate(seed, shape)
    inverse = detect([[1 / one for one in repeats] for repeats in values])
    given_changes = detect(values)
    assert [one.index for one in inverse] == [one.index for one in given_changes]
    for one, other in zip(inverse, given_changes, strict=True):
        assert (1 + one.effect_ratio) * (1 + other.effect_ratio) == pytest.approx(1)


@settings(max_examples=15, deadline=None)
@given(seed=seeds, shape=shapes, order=st.randoms(use_true_random=False))
def test_the_order_of_repeats_is_irrelevant(seed: int, shape: list[float], order: random.Random) -> None:
    values = simulate(seed, shape)
    shuffled = [order.sample(repeats, len(repeats)) for repeats in values]
    assert detect(shuffled) == detect(values)


@settings(max_examples=25, deadline=None)
@given(seed=seeds, length=st.integers(6, 30), place=st.integers(2, 30), up=st.booleans(), repeats=st.integers(1, 5))
def test_a_clear_step_is_found_where_it_was_planted(seed: int, length: int, place: int, up: bool, repeats: int) -> None:
    place = min(place, length - 2)
    values = simulate(seed, [100.0] * place + [200.0 if up else 50.0] * (length - place), noise=0.01, repeats=repeats)
    assert place in places(values)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=seeds, length=st.integers(5, 40), repeats=st.integers(1, 5))
def test_one_more_release_at_the_usual_level_creates_no_older_change(seed: int, length: int, repeats: int) -> None:
    values = simulate(seed, [100.0] * length, repeats=repeats)
    before = places(values)
    middles = sorted(sorted(one)[len(one) // 2] for one in values)
    after = places([*values, [middles[length // 2]] * repeats])
    assert set(after) <= set(before)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3)), max_size=4),
        max_size=20,
    )
)
def test_any_finite_values_give_an_answer_in_finite_numbers(values: list[list[float]]) -> None:
    for change in detect(values):
        assert values[change.index]
        assert change.possible[0] <= change.index <= change.possible[1]
        assert 0 <= change.p <= change.q <= 1
        assert not math.isnan(change.effect_ratio)
    assert assess(values).reason


@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_quiet_families_stay_quiet(repeats: int) -> None:
    source = random.Random(repeats)
    lengths = [source.randint(5, 40) for _ in range(200)]
    noises = [math.exp(source.uniform(math.log(0.003), math.log(0.08))) for _ in lengths]
    families = [
        simulate(1000 * repeats + number, [100.0] * length, noise=noise, repeats=repeats)
        for number, (length, noise) in enumerate(zip(lengths, noises, strict=True))
    ]
    alarms = sum(bool(detect(values)) for values in families)
    assert alarms <= 8, "more than 40 in 1000 quiet series alarm, each looked at alone"


def test_the_package_is_light_to_import() -> None:
    code = "import sys, baselines; print([m for m in ('numpy', 'scipy', 'ruptures', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
