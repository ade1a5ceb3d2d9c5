"""AIPerf, GenAI-Perf, perf_analyzer and InferenceX: who wrote what, and what no number may come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.content import Content
from jobs.measurements import ParseOutcome, ParseResult
from jobs.reading import read_result

CASES = Path(__file__).parent / "cases"
TOOLS = ("aiperf", "genai_perf", "inferencex_agg", "inferencex_agentic")
DOCUMENTS = [json.loads(path.read_text()) for tool in TOOLS for path in sorted(CASES.glob(f"{tool}/*/input.json"))]


def parse(text: str) -> ParseResult:
    return read_result(Content.of_text(text))


def record(
    number: int, *, error: Any = None, phase: str = "profiling", key: str = "benchmark_phase", ms: float = 1
) -> str:
    metadata = {"x_request_id": f"r{number}", "worker_id": "w", key: phase}
    metrics = {"time_to_first_token": {"value": ms, "unit": "ms"}}
    return json.dumps({"metadata": metadata, "metrics": metrics, "error": error}) + "\n"


def test_the_mean_is_over_the_requests_that_finished() -> None:
    text = (
        record(0, phase="warmup", ms=500) + record(1, ms=10) + record(2, error={"code": 500}, ms=999) + record(3, ms=13)
    )
    result = parse(text)
    run = result.runs[0]
    assert run.metrics["ttft_mean_ms"].value == 11.5
    assert run.metrics["ttft_mean_ms"].samples == 2
    assert (run.metrics["requests_ok"].value, run.metrics["requests_failed"].value) == (2, 1)
    assert run.flags == ("requests_failed",)


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        (record(1, error={"code": 500}), ParseOutcome.FAILED, "no request finished; 1 failed"),
        (record(1) + record(2)[:-20], ParseOutcome.PARTIAL, "line 2 is not a whole JSON value"),
        (record(1) + record(2, key="credit_phase"), ParseOutcome.REFUSED, "another version of the tool"),
        (record(1) + '{"something": "else"}\n', ParseOutcome.REFUSED, "expected the record of a request in line 2"),
        (record(1).replace("ms", "parsecs"), ParseOutcome.REFUSED, "unknown unit 'parsecs'"),
    ],
    ids=["all failed", "cut", "two versions", "foreign line", "unit"],
)
def test_records_that_are_no_whole_run_give_no_mean(text: str, outcome: ParseOutcome, said: str) -> None:
    result = parse(text)
    assert (result.tool, result.outcome, result.runs) == ("aiperf", outcome, ())
    assert said in result.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\n0,1,2,Request Latency,ms,avg,45.2\n", "time series"),
        (
            "metric,mean,std,min,max,cv,se,ci_low,ci_high,t_critical,unit\nttft_avg,1,0,1,1,0,0,1,1,2,ms\n",
            "several runs",
        ),
        (
            "Endpoint,Type,Metric,Unit,total,rate\nlocalhost,counter,vllm:prompt_tokens,tokens,1,2\n",
            "counters of the server",
        ),
    ],
    ids=["time slices", "confidence", "server metrics"],
)
def test_tables_beside_the_result_are_refused_with_what_they_are(text: str, said: str) -> None:
    result = parse(text)
    assert (result.tool, result.outcome) == ("aiperf", ParseOutcome.REFUSED)
    assert said in result.reason


def test_two_results_glued_into_one_table_give_no_value() -> None:
    whole = (CASES / "genai_perf/csv_decimal_commas/input.csv").read_text()
    result = parse(whole + "\n" + whole.replace("20.00", "30.00"))
    assert (result.outcome, result.runs) == (ParseOutcome.REFUSED, ())
    assert "more than one result" in result.reason


def test_a_row_that_stands_twice_with_other_values_is_set_aside() -> None:
    text = "Metric,avg,min,max,p99,p25\nRequest Latency (ms),5.00,1.00,9.00,8.00,2.00\n\nMetric,Value\n"
    result = parse(text + "Request Throughput (per sec),2.00\nRequest Throughput (per sec),3.00\n")
    run = result.runs[0]
    assert set(run.metrics) == {"e2e_mean_ms", "e2e_p99_ms"}
    assert {rejected.reason for rejected in run.rejected} == {"this row stands twice, with other values"}


def test_a_throughput_in_a_strange_unit_is_set_aside() -> None:
    text = "Metric,avg,min,max,p99,p25\nRequest Latency (ms),5.00,1.00,9.00,8.00,2.00\n\nMetric,Value\n"
    result = parse(text + "Request Throughput (requests/min),120.00\n")
    assert "req_s" not in result.runs[0].metrics
    assert "requests/min" in result.runs[0].rejected[0].reason


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_value_at(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = with_value_at(copy[path[0]], path[1:], value)
    return copy


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_is_answered_with_an_outcome(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([(), *places(document)]))
        document = with_value_at(document, path, data.draw(ANY_JSON))
        if not isinstance(document, dict | list):
            break
    result = parse(json.dumps(document))
    assert result.outcome is ParseOutcome.OK or result.reason
