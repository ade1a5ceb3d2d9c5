from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines import ChangePoint, CompareOptions, Comparison, ComparisonInput, compare, compare_many, detect, judge
from baselines.multiplicity import adjust_p_values

OLD = [100.0, 101.0, 99.9, 100.2, 100.5]
SLOWER = [112.0, 113.0, 111.9, 112.2, 112.5]
ALIKE = [100.1, 100.6, 100.0, 99.8, 100.7]
WILD = [90.0, 112.0, 101.0, 97.0, 108.0]

readings = st.lists(st.floats(50, 200), min_size=2, max_size=6)


@pytest.mark.parametrize(
    ("direction", "word"), [("lower", "regressed"), ("higher", "improved"), ("neutral", "changed")]
)
def test_the_direction_of_the_metric_names_a_proven_difference(direction: str, word: str) -> None:
    found = compare(OLD, SLOWER, direction)  # type: ignore[arg-type]
    assert found.verdict == word
    assert found.effect_ratio == pytest.approx(112.2 / 100.2 - 1)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < 0.12 < found.high
    assert found.repeats_needed == 0


def test_same_is_said_only_when_the_whole_interval_is_within_the_margin() -> None:
    assert compare(OLD, ALIKE, "higher").verdict == "same"
    assert compare(OLD, ALIKE, "higher", CompareOptions(margin_ratio=0.005)).verdict == "noisy"
    assert compare(OLD, WILD, "higher").verdict == "noisy"


def test_noisy_says_what_could_be_seen_and_how_many_repeats_would_settle_it() -> None:
    found = compare([100.0, 102.0, 104.0], [105.0, 107.0, 109.0], "higher")
    assert found.verdict == "noisy"
    assert found.minimum_detectable_ratio is not None
    assert found.minimum_detectable_ratio > 0.06
    assert found.repeats_needed is not None
    assert f"{found.repeats_needed} more on each side" in found.reason
    assert compare(WILD, [value + 0.5 for value in WILD], "higher").repeats_needed is None


def test_exact_values_need_no_noise_to_differ() -> None:
    assert compare([512, 512, 512], [520, 520, 520], "lower").verdict == "regressed"
    assert compare([512, 512, 512], [512, 512, 512], "lower").verdict == "same"
    assert compare([0, 0], [0, 0], "lower").verdict == "same"


def test_repeats_that_agree_do_not_prove_what_days_differ_by() -> None:
    found = compare([100.0, 100.01, 100.02, 100.01, 100.0], [100.6, 100.61, 100.6, 100.59, 100.6], "higher")
    assert found.verdict != "improved"
    assert found.p is not None
    assert found.p > 0.05


def test_absence_and_too_few_repeats_are_said_without_numbers() -> None:
    for found, word in [
        (compare([], OLD, "lower"), "missing"),
        (compare(OLD, [], "lower"), "missing"),
        (compare(OLD, [3.0], "lower"), "too_few"),
    ]:
        assert found.verdict == word
        assert found.effect_ratio is None
        assert found.q is None


def test_another_environment_confounds_but_keeps_the_numbers() -> None:
    found = compare(OLD, SLOWER, "lower", confounded_by="driver 570 and 580")
    assert found.verdict == "confounded"
    assert found.effect_ratio == pytest.approx(0.1198, abs=1e-3)
    assert "driver 570 and 580" in found.reason


def test_a_family_is_judged_by_q() -> None:
    border = ComparisonInput(reference=OLD, candidate=[value * 1.022 for value in OLD], direction="lower")
    quiet = ComparisonInput(reference=OLD, candidate=ALIKE, direction="lower")
    alone = compare_many([border])[0]
    together = compare_many([border, *[quiet] * 40])[0]
    assert alone.verdict == "regressed"
    assert together.verdict != "regressed"
    assert (together.p, together.effect_ratio) == (alone.p, alone.effect_ratio)
    assert together.q is not None
    assert alone.q is not None
    assert together.q > alone.q


def test_malformed_repeats_say_where() -> None:
    with pytest.raises(ValueError, match="candidate, repeat 1: expected a finite number"):
        compare(OLD, [1.0, math.nan], "lower")
    fine = ComparisonInput(reference=OLD, candidate=OLD, direction="lower")
    text = ComparisonInput(reference=["x"], candidate=OLD, direction="lower")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="comparison 1, reference, repeat 0"):
        compare_many([fine, text])
    with pytest.raises(ValueError, match="direction: expected one of higher, lower, neutral"):
        compare(OLD, OLD, "down")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="margin_ratio"):
        CompareOptions(margin_ratio=-1)


@given(reference=readings, candidate=readings)
def test_swapping_the_better_side_swaps_improved_and_regressed(reference: list[float], candidate: list[float]) -> None:
    swap = {"improved": "regressed", "regressed": "improved"}
    lower, higher = compare(reference, candidate, "lower"), compare(reference, candidate, "higher")
    assert lower.verdict == swap.get(higher.verdict, higher.verdict)
    assert lower.effect_ratio == higher.effect_ratio


@given(reference=readings, candidate=readings, factor=st.floats(1e-6, 1e6))
def test_another_unit_changes_no_verdict(reference: list[float], candidate: list[float], factor: float) -> None:
    scaled = compare([one * factor for one in reference], [one * factor for one in candidate], "lower")
    assert scaled.verdict == compare(reference, candidate, "lower").verdict


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5),
)
def test_any_finite_repeats_give_an_answer(reference: list[float], candidate: list[float]) -> None:
    found = compare(reference, candidate, "higher")
    if found.effect_ratio is not None:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.effect_ratio <= found.high


def test_q_values_are_those_of_benjamini_and_hochberg() -> None:
    assert adjust_p_values([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert adjust_p_values([]) == []


def changed_at_4(low: float, high: float) -> list[ChangePoint]:
    return detect([[low, low * 1.001, low * 1.002]] * 4 + [[high, high * 1.001, high * 1.002]] * 4)


def comparison(word: str) -> Comparison:
    repeats = {"same": ALIKE, "noisy": WILD, "missing": []}[word]
    return compare(OLD, repeats, "lower")


@pytest.mark.parametrize(
    ("direction", "word"), [("lower", "regressed"), ("higher", "improved"), ("neutral", "changed")]
)
def test_a_change_point_at_the_release_outweighs_the_comparison(direction: str, word: str) -> None:
    verdict = judge(4, changed_at_4(100, 120), comparison("noisy"), direction)  # type: ignore[arg-type]
    assert (verdict.word, verdict.source) == (word, "change_point")
    assert verdict.effect_ratio == pytest.approx(0.2, abs=1e-3)


def test_an_improvement_is_never_called_a_regression() -> None:
    assert judge(4, changed_at_4(120, 100), comparison("same"), "lower").word == "improved"


def test_without_a_change_point_at_the_release_the_comparison_decides() -> None:
    verdict = judge(5, changed_at_4(100, 120), comparison("same"), "lower")
    assert (verdict.word, verdict.source) == ("same", "comparison")


def test_what_was_not_measured_or_not_comparable_is_not_judged() -> None:
    assert judge(4, changed_at_4(100, 120), comparison("missing"), "lower").word == "missing"
    confounded = compare(OLD, SLOWER, "lower", confounded_by="host a and b")
    assert judge(4, changed_at_4(100, 120), confounded, "lower").word == "confounded"


def test_the_history_of_a_series_finds_a_step_that_six_repeats_alone_cannot_show() -> None:
    source = random.Random(11)

    def measure(level: float) -> list[float]:
        centre = level * math.exp(source.gauss(0, 0.01))
        return [centre * math.exp(source.gauss(0, 0.03)) for _ in range(3)]

    alone, known, false = 0, 0, 0
    for _ in range(120):
        history = [measure(100) for _ in range(12)]
        reference, candidate, same = measure(100), measure(113), measure(100)
        alone += compare(reference, candidate, "higher").verdict == "improved"
        known += compare(reference, candidate, "higher", history=history).verdict == "improved"
        false += compare(reference, same, "higher", history=history).verdict in ("improved", "regressed")
    assert known >= alone + 20
    assert false <= 12


def test_an_accuracy_that_falls_to_nothing_fell_by_all_of_it() -> None:
    found = compare([0.94, 0.95, 0.93], [0.0, 0.0, 0.0], "higher")
    assert found.effect_ratio == pytest.approx(-1)
    assert found.verdict == "regressed"
