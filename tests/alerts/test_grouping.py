from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.grouping import group_changes
from alerts.rules import Rule
from alerts.wording import Change, Direction
from tests.alerts.samples import DEFAULT_RULE, HARDWARE, make_fact, three_compared, two_facts

ALL = Rule(name="all", sinks=("console",), only_gated=False, changes=tuple(Change))


def test_changes_of_one_release_and_direction_become_one_alert_with_the_worst_first() -> None:
    groups = group_changes(two_facts(), [DEFAULT_RULE])
    assert [[fact.change_id for fact in group.facts] for group in groups] == [["c1", "c2"]]
    assert groups[0].key == ("default", "onnxruntime", "1.28.0", HARDWARE, "regressed")


def test_headline_says_what_where_how_many_and_how_much() -> None:
    group = group_changes(two_facts(), [DEFAULT_RULE], three_compared())[0]
    assert group.headline == (
        f"onnxruntime 1.28.0 is slower on {HARDWARE}: 2 of 3 series, worst +15.2 % latency_p50_ms (prefill, isl 128)"
    )


def test_headline_counts_only_what_it_knows() -> None:
    assert ": 2 series, worst" in group_changes(two_facts(), [DEFAULT_RULE])[0].headline


def test_improvements_and_regressions_of_one_release_are_two_alerts() -> None:
    better = make_fact(change_id="c9", after=5.0, effect_ratio=-0.104, verdict=Change.IMPROVED)
    groups = group_changes([*two_facts(), better], [DEFAULT_RULE])
    assert [(group.change, len(group.facts)) for group in groups] == [(Change.REGRESSED, 2), (Change.IMPROVED, 1)]
    assert "is faster on" in groups[1].headline
    assert "best -10.4 %" in groups[1].headline


@pytest.mark.parametrize(("unit", "word"), [("tok/s", "slower"), ("GB", "worse"), ("fraction", "worse")])
def test_only_times_and_rates_are_called_slow(unit: str, word: str) -> None:
    fact = make_fact(unit=unit, direction=Direction.HIGHER, after=4.0, effect_ratio=-0.28)
    assert f"is {word} on" in group_changes([fact], [DEFAULT_RULE])[0].headline


@pytest.mark.parametrize("verdict", [Change.REGRESSED, Change.IMPROVED])
def test_a_neutral_metric_never_regresses_or_improves(verdict: Change) -> None:
    with pytest.raises(ValueError, match="neutral is better"):
        make_fact(direction=Direction.NEUTRAL, verdict=verdict)


def test_a_verdict_against_the_direction_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lower is better.*\+15\.2 % cannot have improved"):
        make_fact(verdict=Change.IMPROVED)


def test_a_level_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        make_fact(after=float("nan"))


def test_the_default_rule_leaves_out_what_is_not_gated_and_what_is_neutral() -> None:
    loose = make_fact(gated=False)
    neutral = make_fact(direction=Direction.NEUTRAL, verdict=Change.CHANGED)
    assert group_changes([loose, neutral], [DEFAULT_RULE]) == []
    assert [group.change for group in group_changes([neutral], [ALL])] == [Change.CHANGED]


def test_a_rule_selects_by_globs_size_and_kind() -> None:
    rule = Rule(
        name="r", sinks=("slack",), component="onnx*", metric="latency_*", suite="onnx?untime", min_effect_ratio=0.14
    )
    assert [fact.change_id for group in group_changes(two_facts(), [rule]) for fact in group.facts] == ["c1"]
    assert group_changes([make_fact(component="ONNXruntime")], [rule]) == []


def test_a_change_from_zero_is_the_worst_and_always_told() -> None:
    zero = make_fact(change_id="c0", metric="requests_failed", unit="count", before=0.0, after=3.0, effect_ratio=None)
    group = group_changes([make_fact(), zero], [Rule(name="r", sinks=("console",), min_effect_ratio=0.1)])[0]
    assert group.facts[0].change_id == "c0"
    assert "worst from zero requests_failed" in group.headline


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"sinks": ()}, "names no sink"),
        ({"changes": ()}, "selects no kind of change"),
        ({"min_effect_ratio": -1.0}, "0 or more"),
        ({"min_effect_ratio": float("nan")}, "0 or more"),
    ],
)
def test_an_impossible_rule_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rule(**({"name": "r", "sinks": ("console",)} | values))  # type: ignore[arg-type]


_places = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["h1", "h2"]), st.floats(-0.9, 5).filter(bool))


@given(st.lists(_places, max_size=12))
def test_no_change_is_lost_or_told_twice_by_a_rule_that_takes_all(places: list[tuple[str, str, float]]) -> None:
    facts = [
        make_fact(
            change_id=str(number),
            component=component,
            hardware_class=hardware,
            before=1.0,
            after=1.0 + ratio,
            effect_ratio=ratio,
            verdict=Change.REGRESSED if ratio > 0 else Change.IMPROVED,
        )
        for number, (component, hardware, ratio) in enumerate(places)
    ]
    groups = group_changes(facts, [ALL])
    told = [fact.change_id for group in groups for fact in group.facts]
    assert sorted(told) == sorted(fact.change_id for fact in facts)
    assert len({group.key for group in groups}) == len(groups)
    assert all(one.size >= two.size for group in groups for one, two in zip(group.facts, group.facts[1:], strict=False))
