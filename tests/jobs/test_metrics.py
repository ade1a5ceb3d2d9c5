from __future__ import annotations

import math

import pytest

from jobs.errors import UserError
from jobs.labels import IDENTITY_LABELS, label_problem, series_labels
from jobs.metrics import CATALOGUE, STATISTICS, Direction, Key, Kind, Metric, find_metric, statistic_keys


def test_the_catalogue_holds_every_canonical_name() -> None:
    families = {f"{f}_{s}_ms" for f in ("ttft", "tpot", "itl", "e2e", "latency") for s in STATISTICS}
    singles = {
        *("output_tok_s", "total_tok_s", "prompt_tok_s", "output_tok_s_per_gpu", "total_tok_s_per_gpu", "req_s"),
        *("tok_s_user", "power_w", "energy_j", "memory_gb", "accuracy", "requests_ok", "requests_failed"),
    }
    assert set(CATALOGUE) == families | singles


@pytest.mark.parametrize("metric", CATALOGUE.values(), ids=lambda metric: metric.name)
def test_the_name_tells_the_unit(metric: Metric) -> None:
    endings = {"ms": "_ms", "W": "_w", "J": "_j", "GB": "_gb", "tok/s": "_tok_s", "req/s": "req_s"}
    assert metric.name.endswith(endings.get(metric.unit, ""))
    assert metric.meaning


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("latency_p50_ms", "lower"),
        ("ttft_p99_ms", "lower"),
        ("prompt_tok_s", "higher"),
        ("req_s", "higher"),
        ("accuracy", "higher"),
        ("power_w", "lower"),
        ("requests_failed", "lower"),
        ("requests_ok", "neutral"),
    ],
)
def test_a_metric_knows_which_way_is_better(name: str, direction: str) -> None:
    assert find_metric(name).direction == Direction(direction)


def test_a_metric_cannot_be_made_without_a_direction() -> None:
    with pytest.raises(TypeError, match="direction"):
        Metric(name="x", unit="ms", kind=Kind.LATENCY, low=0, high=1, meaning="m")  # type: ignore[call-arg]


def test_a_key_of_a_tool_cannot_have_a_unit_of_another_kind() -> None:
    assert Key("ttft_p50_ms", "s").metric == "ttft_p50_ms"
    with pytest.raises(ValueError, match="cannot be turned into"):
        Key("ttft_p50_ms", "tok/s")
    with pytest.raises(UserError, match="unknown metric"):
        Key("ttft", "s")


def test_the_keys_of_a_latency_family_follow_the_tools_words() -> None:
    keys = statistic_keys("{}_ttft_ms", "ttft", "ms", {"p50": "median", "p99": "p99"})
    assert keys == {"median_ttft_ms": Key("ttft_p50_ms", "ms"), "p99_ttft_ms": Key("ttft_p99_ms", "ms")}


def test_an_unknown_metric_names_the_near_ones_or_all() -> None:
    with pytest.raises(UserError, match="did you mean latency_p50_ms"):
        find_metric("latency_p50")
    with pytest.raises(UserError, match="known: accuracy, "):
        find_metric("zzz")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latency_p50_ms", 0.0),
        ("latency_p50_ms", -1.0),
        ("latency_p50_ms", 1e9),
        ("output_tok_s", 0.0),
        ("accuracy", 1.01),
        ("accuracy", math.nan),
        ("req_s", math.inf),
    ],
)
def test_an_implausible_value_is_doubted(name: str, value: float) -> None:
    assert CATALOGUE[name].doubt(value)


@pytest.mark.parametrize(
    ("name", "value"), [("accuracy", 0.0), ("accuracy", 1.0), ("requests_failed", 0), ("req_s", 9)]
)
def test_a_plausible_value_is_not(name: str, value: float) -> None:
    assert CATALOGUE[name].doubt(value) is None


@pytest.mark.parametrize("value", ["128", True, 0, -1, 1.5, None, 10**13])
def test_a_length_must_be_a_whole_number_from_1_on(value: object) -> None:
    assert "whole number" in str(label_problem("isl", value))


def test_labels_are_known_by_name_and_type() -> None:
    assert label_problem("isl", 128) is None
    assert label_problem("model", "m") is None
    assert label_problem("request_rate", 2.5) is None
    assert "not empty" in str(label_problem("model", " "))
    assert "above 0" in str(label_problem("request_rate", 0))
    assert "did you mean 'precision'" in str(label_problem("presicion", "fp8"))
    assert "driver" not in IDENTITY_LABELS


def test_the_results_own_labels_win_over_the_configs() -> None:
    assert series_labels({"model": "m", "isl": 1}, {"isl": 128}) == {"model": "m", "isl": 128}


def test_a_count_is_a_whole_number() -> None:
    assert find_metric("requests_ok").doubt(89.0) is None
    assert "whole number" in str(find_metric("requests_ok").doubt(150.5))
