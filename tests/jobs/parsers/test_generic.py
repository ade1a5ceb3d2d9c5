from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.content import Content
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import CATALOGUE
from jobs.plugins import load
from jobs.reading import read_result, recognise


def parse(text: str, asked: Mapping[str, Label] | None = None) -> ParseResult:
    return read_result(Content.of_text(text), "generic", asked)


def recognised(text: str) -> bool:
    found = recognise(Content.of_text(text))
    return found is not None and found[1] == "generic"


def document(*runs: dict[str, Any], **keys: Any) -> str:
    return json.dumps({"tool": "my_bench", "version": "1.2.3", "runs": list(runs), **keys})


def with_metric(text: str) -> str:
    return '{"tool": "t", "runs": [{"metrics": {' + text + ', "accuracy": 1}}]}'


def only_run(text: str, outcome: ParseOutcome = ParseOutcome.OK) -> ParsedRun:
    result = parse(text)
    assert result.outcome is outcome, result.reason
    assert len(result.runs) == 1
    return result.runs[0]


def test_the_plugin_is_found_by_its_name() -> None:
    assert load("parser", "generic").create().tools == ("generic",)


def test_a_whole_file_gives_labels_facts_flags_and_readings() -> None:
    metric = {"value": 5.60, "unit": "ms", "samples": 60, "spread": 0.1}
    text = document(
        {
            "labels": {"scenario": "prefill", "isl": 128},
            "facts": {"load_s": 0.5, "cached": False, "numpy": "1.26.4"},
            "metrics": {"latency_p50_ms": metric},
            "flags": ["unpinned"],
        }
    )
    result = parse(text, {"tool": "my_bench"})
    run = result.runs[0]
    assert (result.outcome, result.version, result.tool) == (ParseOutcome.OK, "1.2.3", "generic")
    assert dict(run.labels) == {"scenario": "prefill", "isl": 128}
    assert dict(run.facts) == {"load_s": 0.5, "cached": False, "numpy": "1.26.4"}
    assert run.flags == ("unpinned",)
    reading = run.metrics["latency_p50_ms"]
    assert (reading.value, reading.unit, reading.samples, reading.spread) == (5.6, "ms", 60, 0.1)
    assert (reading.key, reading.raw, reading.raw_unit) == ("latency_p50_ms", "5.6", "ms")


def test_a_bare_number_is_in_the_metrics_own_unit() -> None:
    reading = only_run(document({"metrics": {"req_s": 12}})).metrics["req_s"]
    assert (reading.value, reading.unit, reading.samples, reading.spread) == (12.0, "req/s", None, None)


def test_another_unit_of_the_same_kind_is_converted_spread_included() -> None:
    reading = only_run(
        document({"metrics": {"latency_mean_ms": {"value": 0.0056, "unit": "s", "spread": 0.0001}}})
    ).metrics["latency_mean_ms"]
    assert (reading.value, reading.spread, reading.raw, reading.raw_unit) == (5.6, 0.1, "0.0056", "s")


def test_an_alias_becomes_the_canonical_name_and_keeps_its_key() -> None:
    run = only_run(document({"metrics": {"latency_median_ms": 3}}))
    assert run.metrics["latency_p50_ms"].key == "latency_median_ms"


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ('"latncy_p50_ms": 5', "did you mean latency_p50_ms"),
        ('"latency_p50_ms": {"value": 5, "unit": "tok/s"}', "cannot turn tok/s"),
        ('"latency_p50_ms": {"value": 5, "unit": "lightyears"}', "unknown unit"),
        ('"latency_p50_ms": {"value": 5, "unit": 3}', "'unit' must be a text"),
        ('"latency_p50_ms": {"value": 5, "unti": "ms"}', "did you mean 'unit'"),
        ('"latency_p50_ms": {"unit": "ms"}', "expected a number, found null"),
        ('"latency_p50_ms": NaN', "finite"),
        ('"latency_p50_ms": Infinity', "finite"),
        ('"latency_p50_ms": -Infinity', "finite"),
        ('"latency_p50_ms": -5', "outside the plausible range"),
        ('"latency_p50_ms": 0', "outside the plausible range"),
        ('"latency_p50_ms": 1e300', "outside the plausible range"),
        ('"latency_p50_ms": 1e999999', "finite"),
        ('"latency_p50_ms": ' + "9" * 5000, "finite"),
        ('"latency_p50_ms": true', "expected a number, found true"),
        ('"latency_p50_ms": "5.6"', "expected a number, found 5.6"),
        ('"latency_p50_ms": null', "expected a number, found null"),
        ('"latency_p50_ms": [5]', "expected a number"),
        ('"latency_p50_ms": {"value": 5, "samples": 0}', "'samples'"),
        ('"latency_p50_ms": {"value": 5, "samples": 1.5}', "'samples'"),
        ('"latency_p50_ms": {"value": 5, "samples": true}', "'samples'"),
        ('"latency_p50_ms": {"value": 5, "samples": 99999999999999999999}', "'samples'"),
        ('"latency_p50_ms": {"value": 5, "spread": -1}', "'spread'"),
        ('"latency_p50_ms": {"value": 5, "spread": NaN}', "finite"),
        ('"latency_p50_ms": {"value": 5, "spread": "1"}', "'spread'"),
    ],
)
def test_a_value_that_may_not_enter_a_series_is_rejected_with_its_reason(metric: str, reason: str) -> None:
    run = only_run(with_metric(metric), ParseOutcome.PARTIAL)
    assert set(run.metrics) == {"accuracy"}
    assert len(run.rejected) == 1
    assert reason in run.rejected[0].reason


def test_a_latency_of_zero_is_flagged() -> None:
    assert only_run(with_metric('"latency_p50_ms": 0.0'), ParseOutcome.PARTIAL).flags == ("implausible_zero",)


def test_one_metric_given_under_two_names_counts_once() -> None:
    run = only_run(document({"metrics": {"latency_p50_ms": 5, "latency_median_ms": 6}}), ParseOutcome.PARTIAL)
    assert run.metrics["latency_p50_ms"].value == 5
    assert "already given" in run.rejected[0].reason


@pytest.mark.parametrize(
    "run",
    [
        {"labels": {"presicion": "fp8"}},
        {"labels": {"isl": "128"}},
        {"labels": {"isl": True}},
        {"labels": {"model": None}},
        {"labels": []},
        {"flags": "unpinned"},
        {"flags": [1]},
        {"lables": {}},
    ],
    ids=str,
)
def test_a_run_whose_identity_is_in_doubt_gives_no_values(run: dict[str, Any]) -> None:
    result = parse(document({"metrics": {"req_s": 1}}, {"metrics": {"req_s": 2}, **run}))
    assert result.outcome is ParseOutcome.PARTIAL
    assert [dict(r.metrics).keys() for r in result.runs] == [{"req_s"}, set()]
    assert result.runs[1].rejected


def test_two_runs_with_the_same_labels_do_not_both_count() -> None:
    one = {"labels": {"isl": 1}, "metrics": {"req_s": 1}}
    result = parse(document(one, one))
    assert result.outcome is ParseOutcome.PARTIAL
    assert [len(run.metrics) for run in result.runs] == [1, 0]
    assert "same labels" in result.reason


def test_a_fact_that_is_no_plain_value_is_rejected_and_the_rest_kept() -> None:
    run = only_run(document({"metrics": {"req_s": 1}, "facts": {"a": {}, "b": 2}}), ParseOutcome.PARTIAL)
    assert (dict(run.facts), run.rejected[0].key, len(run.metrics)) == ({"b": 2}, "facts.a", 1)


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("", "refused", "empty"),
        ("  \n ", "refused", "empty"),
        ("hello", "refused", "what no parser knows; it starts with 'hello'"),
        ("\x00\x01\x02\ufffd", "refused", "binary"),
        ("[]", "refused", "expected a result of generic"),
        ("5", "refused", "expected a result of generic"),
        ('"text"', "refused", "expected a result of generic"),
        ("{}", "refused", "expected a result of generic"),
        ('{"tool": "t", "runs": [', "partial", "cut off"),
        ('{"tool": "t", "ver', "refused", "cut off"),
        ('{"tool": "t", "runs": [] trailing', "refused", "found something else"),
        ('{"tool": "t", "tool": "u", "runs": []}', "refused", "stands twice"),
        ('{"request_throughput": 7.1, "completed": 100}', "refused", "expected a result of generic"),
        ('{"tool": "t", "runs": []}', "failed", "'runs' is empty"),
        ('{"tool": "t", "runs": {}}', "refused", "'runs' must be a list"),
        ('{"tool": "t", "runs": [5]}', "failed", "expected an object"),
        ('{"tool": "t", "runs": [{}]}', "failed", "no run in the file has a metric"),
        ('{"tool": "t", "runs": [{"metrics": {"req_s": null}}]}', "failed", "expected a number"),
        ('{"runs": [{}]}', "refused", "'tool' must be a text"),
        ('{"tool": 5, "runs": [{}]}', "refused", "'tool' must be a text"),
        ('{"tool": "t", "version": 5, "runs": [{}]}', "refused", "'version' must be a text"),
        ('{"tool": "t", "rnus": [], "runs": [{}]}', "refused", "did you mean 'runs'"),
        ('{"error": "CUDA out of memory"}', "failed", "CUDA out of memory"),
        ('{"tool": "t", "error": " ", "runs": []}', "failed", "without a text"),
        ('{"tool": "t", "error": 5, "runs": []}', "refused", "'error' must be a text"),
        ("[" * 200_000, "refused", "nested too deeply"),
        ('{"a":' * 200_000, "refused", "nested too deeply"),
        ('{"tool": "\\ud800", "runs": []}', "refused", "U+D800"),
        ('{"tool": "a\\u0000b", "runs": []}', "refused", "U+0000"),
        ('{"tool": "other", "runs": [{"metrics": {"req_s": 1}}]}', "refused", "expected a result of my_bench"),
    ],
)
def test_what_is_no_result_has_an_outcome_and_a_reason(text: str, outcome: str, reason: str) -> None:
    result = parse(text, {"tool": "my_bench"} if "other" in text else {})
    assert (result.outcome, result.runs) == (ParseOutcome(outcome), ())
    assert reason in result.reason


def test_every_prefix_of_a_result_is_an_outcome_without_values() -> None:
    text = document({"labels": {"isl": 1}, "metrics": {"req_s": {"value": 1.5, "samples": 3}}, "flags": ["a"]})
    for end in range(len(text)):
        result = parse(text[:end])
        assert result.outcome in (ParseOutcome.PARTIAL, ParseOutcome.REFUSED)
        assert result.runs == ()
        assert result.reason


def test_it_recognises_its_own_files_only() -> None:
    assert recognised(document({"metrics": {"req_s": 1}}))
    assert recognised('{"error": "boom"}')
    assert not recognised('{"request_throughput": 7.1}')
    assert not recognised("Throughput: 130.298 qps")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
metric_entries = scalars | st.fixed_dictionaries(
    {}, optional={"value": scalars, "unit": st.sampled_from(["s", "ms", 1]), "samples": scalars, "spread": scalars}
)
run_entries = scalars | st.fixed_dictionaries(
    {},
    optional={
        "labels": scalars | st.dictionaries(st.sampled_from(["isl", "model", "wrong"]), scalars),
        "facts": scalars | st.dictionaries(st.text(max_size=3), scalars, max_size=2),
        "metrics": st.dictionaries(st.sampled_from(["latency_p50_ms", "accuracy", "wrong"]), metric_entries),
        "flags": scalars | st.lists(scalars, max_size=2),
    },
)


@settings(max_examples=100, deadline=None)
@given(scalars | st.lists(run_entries, max_size=2))
def test_no_content_makes_it_raise_and_every_reading_is_believable(runs: Any) -> None:
    result = parse(json.dumps({"tool": "t", "runs": runs}))
    for run in result.runs:
        for name, reading in run.metrics.items():
            assert CATALOGUE[name].doubt(reading.value) is None
    assert result.outcome is ParseOutcome.OK or result.reason


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    assert not parse(text).runs
