"""The service's own CSV: what refuses a whole file, and what only sets a value aside."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.content import Content
from jobs.measurements import ParseOutcome, ParseResult
from jobs.reading import read_result


def read(text: str, asked: dict[str, str | int | float | bool] | None = None) -> ParseResult:
    return read_result(Content.of_text(text), "generic_csv", asked)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("metric,value,model\nreq_s,5,a\nreq_s,6,a\n", "line 3: req_s stands in line 2"),
        ("model,req_s\na,5\na,6\n", "line 3: req_s stands in line 2"),
        ("version,req_s\n1,5\n2,6\n", "expected one version"),
        ("model,model,req_s\na,b,5\n", "stands twice"),
        ("modle,req_s\na,5\n", "did you mean 'model'"),
        ("batch,req_s\n0,5\n", "line 2: label 'batch'"),
        ('model,req_s\n"a,5\n', "line 2 is no row"),
        ("model,req_s\na,5,6\n", "expected 2 cells"),
        ("model,req_s\nname,rate\n", "expected numbers"),
    ],
)
def test_what_makes_a_series_doubtful_refuses_the_file(text: str, reason: str) -> None:
    result = read(text)
    assert (result.outcome, result.runs) == (ParseOutcome.REFUSED, ())
    assert reason in result.reason


def test_a_file_of_another_tool_is_refused() -> None:
    assert read("tool,req_s\nmine,5\n", {"tool": "other"}).outcome is ParseOutcome.REFUSED
    assert read("tool,req_s\nmine,5\n", {"tool": "mine"}).outcome is ParseOutcome.OK


def test_samples_and_spread_are_kept_in_the_metrics_unit() -> None:
    (run,) = read("metric,value,unit,samples,spread\nlatency_mean_ms,1.5,s,20,0.25\n").runs
    reading = run.metrics["latency_mean_ms"]
    assert (reading.value, reading.samples, reading.spread) == (1500.0, 20, 250.0)


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6), st.sampled_from(["unit", "model", "samples"]))
def test_any_cells_give_an_outcome_and_no_error(rows: list[list[str]], third: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["metric", "value", third], *rows])
    result = read(out.getvalue())
    assert result.outcome is ParseOutcome.OK or result.reason
