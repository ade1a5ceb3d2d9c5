"""How often alerts were right: counted from decisions, with an interval; thresholds are suggested with evidence."""

from __future__ import annotations

import pytest

from alerts.precision import Judged, measure_precision, wilson


def judged(state: str, effect: float, metric: str = "ttft_p50_ms") -> Judged:
    return Judged(rule="default", metric=metric, state=state, effect_ratio=effect)


def test_decisions_are_counted_by_rule_and_metric():
    rows = measure_precision([judged("fixed", 0.2), judged("false_positive", 0.03), judged("infra", 0.1, "itl_p50_ms")])
    assert [(row.metric, row.real, row.false) for row in rows] == [("itl_p50_ms", 0, 1), ("ttft_p50_ms", 1, 1)]


@pytest.mark.parametrize("state", ["new", "acknowledged", "investigating", "recovered"])
def test_an_alert_without_an_answer_is_not_counted(state: str):
    assert measure_precision([judged(state, 0.2)]) == []


def test_a_threshold_between_false_and_real_is_suggested_with_what_it_costs():
    decisions = [judged("false_positive", 0.03)] * 6 + [judged("fixed", -0.1)] * 5 + [judged("fixed", 0.02)]
    (row,) = measure_precision(decisions)
    assert row.suggestion is not None
    assert row.suggestion.min_effect_ratio == 0.1
    assert (row.suggestion.false_dropped, row.suggestion.real_dropped) == (6, 1)


def test_few_decisions_or_few_errors_suggest_nothing():
    assert measure_precision([judged("false_positive", 0.03), judged("fixed", 0.1)])[0].suggestion is None
    assert measure_precision([judged("fixed", 0.1)] * 20)[0].suggestion is None


def test_one_case_proves_little():
    low, high = wilson(1, 1)
    assert low < 0.25
    assert high == pytest.approx(1.0)
