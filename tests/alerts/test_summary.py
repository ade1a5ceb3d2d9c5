from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.blocks import to_blocks
from alerts.message import Tone
from alerts.summary import NO_ANSWER, Answer, RowVerdict, SummaryRow
from alerts.summary_formats import to_dict, to_html, to_markdown, to_message
from alerts.texts import to_text
from alerts.wording import Direction
from tests.alerts.samples import make_row, make_summary, missing_row, mixed_summary, slower_row


def test_a_regression_is_the_first_thing_said_with_its_evidence() -> None:
    assert mixed_summary().sentence == (
        "1.28.0 is slower than 1.26.0: 2 of 4 gated series regressed "
        "(worst +15.2 % latency_p50_ms, prefill, isl 128); 1 missing."
    )
    assert mixed_summary().answer is Answer.NO


def test_yes_needs_every_gated_series_measured_and_judged() -> None:
    summary = make_summary(make_row(), make_row(series_id="s2"))
    assert summary.answer is Answer.YES
    assert summary.sentence.startswith("1.28.0 may go to production by these measurements: none of 2 gated series")


@pytest.mark.parametrize("verdict", NO_ANSWER)
def test_one_series_without_an_answer_is_enough_for_no_clearance(verdict: RowVerdict) -> None:
    summary = make_summary(make_row(), make_row(series_id="s2", verdict=verdict))
    assert summary.answer is Answer.UNCLEAR
    assert "is not cleared for production" in summary.sentence
    assert f"1 {verdict.words}" in summary.sentence


@pytest.mark.parametrize("rows", [(), (missing_row(),), (missing_row(), missing_row(series_id="s2"))])
def test_nothing_measured_never_reads_as_fine(rows: tuple[SummaryRow, ...]) -> None:
    summary = make_summary(*rows)
    assert summary.answer is Answer.UNCLEAR
    assert summary.sentence.startswith("No answer: onnxruntime 1.28.0 has not been measured")
    assert to_message(summary).tone is Tone.UNKNOWN


def test_a_release_that_changed_nothing_is_cleared_and_not_called_an_improvement() -> None:
    assert to_text(to_message(make_summary(make_row()))).startswith("CLEARED 1.28.0 may go to production")


def test_where_it_is_known_why_nothing_was_measured_the_sentence_says_it() -> None:
    summary = replace(make_summary(missing_row()), standing="2 of 5 runs are finished")
    assert "has not been measured: 2 of 5 runs are finished (1 series is expected)." in summary.sentence


def test_without_gated_series_or_an_earlier_release_there_is_no_answer() -> None:
    assert "none of its series is gated" in make_summary(make_row(gated=False)).sentence
    alone = make_summary(make_row(verdict=RowVerdict.TOO_FEW, before=None, effect_ratio=None), against=None)
    assert alone.answer is Answer.UNCLEAR
    assert "no earlier release" in alone.sentence


def test_what_is_not_gated_does_not_decide_but_is_listed() -> None:
    summary = make_summary(make_row(), slower_row(series_id="s2", series_name="loose", gated=False))
    assert summary.answer is Answer.YES
    assert "loose" in to_markdown(summary)
    assert any(line.label == "loose" for line in to_message(summary).lines)


def test_a_missing_series_is_listed_and_noted_everywhere() -> None:
    summary = mixed_summary()
    message = to_message(summary)
    assert any(line.label == "prefill, isl 1024" and line.mark == "×" for line in message.lines)
    assert "not the same as fine" in message.notes[0]
    assert "the run timed out" in to_markdown(summary)
    assert "verdict-missing" in to_html(summary)
    assert to_dict(summary)["counts"]["missing"] == 1


def test_mean_changes_are_geometric_over_comparable_series_of_one_metric() -> None:
    rows = [
        make_row(before=1.0, after=2.0, effect_ratio=1.0, verdict=RowVerdict.REGRESSED),
        make_row(series_id="s2", before=2.0, after=1.0, effect_ratio=-0.5, verdict=RowVerdict.IMPROVED),
        make_row(series_id="s3", before=1.0, after=9.0, effect_ratio=8.0, verdict=RowVerdict.CONFOUNDED),
        make_row(series_id="s4", before=0.0, after=9.0, effect_ratio=None),
        missing_row(series_id="s5"),
    ]
    (mean,) = make_summary(*rows).means
    assert math.isclose(mean.effect_ratio, 0.0, abs_tol=1e-12)
    assert mean.series == 2


def test_neutral_metrics_have_no_mean_and_cannot_regress() -> None:
    assert make_summary(make_row(direction=Direction.NEUTRAL, verdict=RowVerdict.CHANGED)).means == ()
    with pytest.raises(ValueError, match="neutral"):
        slower_row(direction=Direction.NEUTRAL)


def test_a_row_with_one_level_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="needs both levels"):
        make_row(after=None)


def test_the_data_form_survives_json_with_nothing_rounded() -> None:
    data = json.loads(json.dumps(to_dict(mixed_summary())))
    assert data["answer"] == "no"
    assert data["rows"][0]["effect_ratio"] == 0.152
    assert data["rows"][3]["after"] is None
    assert data["measured_from"] == "2026-03-01T09:30:00+00:00"


def test_names_are_escaped_in_html_and_markdown() -> None:
    summary = make_summary(slower_row(series_name="<script>x</script>", reason="a|b"))
    assert "<script>" not in to_html(summary)
    assert "<script>" not in to_markdown(summary)
    assert "a\\|b" in to_markdown(summary)


_verdicts = st.sampled_from(list(RowVerdict))


@given(st.lists(st.tuples(_verdicts, st.booleans()), max_size=8))
def test_the_answer_is_yes_only_without_a_regression_and_without_a_hole(found: list[tuple[RowVerdict, bool]]) -> None:
    rows = [make_row(series_id=str(n), verdict=verdict, gated=gated) for n, (verdict, gated) in enumerate(found)]
    summary = make_summary(*rows)
    gated = [verdict for verdict, is_gated in found if is_gated]
    fine = bool(gated) and not {RowVerdict.REGRESSED, *NO_ANSWER} & set(gated)
    assert (summary.answer is Answer.YES) == fine
    assert ("may go to production" in summary.sentence) == fine
    assert len(to_blocks(to_message(summary))) <= 50
