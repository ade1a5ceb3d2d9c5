"""Quality gates speed: a gain whose answers became worse is a quality regression."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.comparison.compare import compare
from baselines.detection.changepoints import ChangePoint
from baselines.verdicts.quality import Quality, QualityReference, gate, judge_quality, neighbour_reference
from baselines.verdicts.verdict import judge

FASTER = compare([100.0, 101.0, 99.0], [130.0, 131.0, 129.0], "higher")
LOST = Quality(outcome="lost", value=0.0, reason="accuracy 0 where 3 neighbours had 0.94 (tolerance 0.02)")


def test_gpt_oss_120b_on_b200_with_one_parallelism_broken_is_no_gain() -> None:
    """The public case: one parallelism setting answered GSM8K with 0.0 while its neighbours had 0.94."""
    gsm8k = {"tp1": [0.94], "tp2": [0.941], "tp4": [0.0], "tp8": [0.938]}
    found = {
        name: judge_quality(
            values,
            list(filter(None, [neighbour_reference({other: one for other, one in gsm8k.items() if other != name})])),
        )
        for name, values in gsm8k.items()
    }
    assert {name: one.outcome for name, one in found.items()} == {
        "tp1": "kept", "tp2": "kept", "tp4": "lost", "tp8": "kept",
    }  # fmt: skip
    gated = gate(FASTER, found["tp4"])
    assert FASTER.verdict == "improved"
    assert gated.verdict == "regressed"
    assert gated.reason == "quality regression: accuracy 0 where 3 neighbours had 0.94 (tolerance 0.02)"
    assert gate(FASTER, found["tp1"]) == FASTER


def test_a_change_point_does_not_make_it_an_improvement_again() -> None:
    change = ChangePoint(
        index=1, possible=(1, 1), kind="step", confirmed=True, before=100.0, after=130.0, effect_ratio=0.3,
        effect_low=0.28, effect_high=0.32, noise_ratio=0.01, p=1e-6, q=1e-5, confidence=0.99, reason="a step",
    )  # fmt: skip
    assert judge(1, [change], FASTER, "higher").word == "improved"
    verdict = judge(1, [change], gate(FASTER, LOST), "higher")
    assert verdict.word == "regressed"
    assert verdict.reason.startswith("quality regression: ")


@pytest.mark.parametrize("verdict", ["regressed", "same", "noisy", "too_few", "missing", "confounded"])
def test_only_a_gain_is_gated(verdict: str) -> None:
    given_ = replace(FASTER, verdict=verdict)  # type: ignore[arg-type]
    assert gate(given_, LOST) == given_


def test_the_edge_of_the_tolerance_is_inside() -> None:
    reference = QualityReference(value=0.94, whence="1.0.0")
    assert judge_quality([0.92], [reference]).outcome == "kept"
    assert judge_quality([0.919], [reference]).outcome == "lost"
    assert judge_quality([0.97], [reference]).outcome == "kept"


def test_what_is_not_known_is_unknown_and_gates_nothing() -> None:
    reference = QualityReference(value=0.94, whence="1.0.0")
    for found in (judge_quality([], [reference]), judge_quality([0.5], [])):
        assert found.outcome == "unknown"
        assert gate(FASTER, found) == FASTER
    assert neighbour_reference({"tp1": [0.94], "tp2": []}) is None


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_share_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="expected shares from 0 to 1"):
        judge_quality([value], [])
    with pytest.raises(ValueError, match="expected a share from 0 to 1"):
        QualityReference(value=value, whence="1.0.0")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0, 1), st.floats(0, 0.5))
def test_better_answers_are_never_lost(accuracies: list[float], reference: float, tolerance: float) -> None:
    lifted = [max(value, reference) for value in accuracies]
    assert judge_quality(lifted, [QualityReference(value=reference, whence="a", tolerance=tolerance)]).outcome == "kept"
