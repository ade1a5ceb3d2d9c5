"""Shipped figures are whole, editions are compared row by row, and a series is matched only where all agrees."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import pytest

from baselines.references import (
    Measured,
    Reference,
    compare_editions,
    content_hash,
    from_record,
    match_series,
    read_csv,
    read_page,
    to_record,
    write_csv,
)

PAGE = """
| Model | TP | Input Length | Output Length | Throughput | GPU | Server | Precision | Framework |
|---|---|---|---|---|---|---|---|---|
| gpt-oss 120B | TP2 | 1024 | 1024 | 8,000 output tokens/sec | 2x B200 | DGX B200 | FP4 | TensorRT-LLM 1.1 |
| gpt-oss 120B | TP2 | 2048 | 128 | 1,500 output tokens/sec | 2x B200 | DGX B200 | FP4 | TensorRT-LLM 1.1 |
""".replace(" TP |", " Parallelism |")
LABELS = {"model": "openai/gpt-oss-120b", "tp": 2, "isl": 1024, "osl": 1024, "precision": "mxfp4"}


def shipped() -> list[Reference]:
    return read_csv(
        resources.files("baselines.references").joinpath("data/nvidia-inference-performance.csv").read_text("utf-8")
    )


def rows(text: str = PAGE) -> list[Reference]:
    return list(read_page(text).references)


def measured(**labels: str | int) -> Measured:
    return Measured(labels={**LABELS, **labels}, metric="output_tok_s", value=8800.0, gpu="NVIDIA B200", gpus=8)


def test_the_shipped_figures_are_whole_with_their_doubts() -> None:
    found = shipped()
    assert len(found) == 214
    assert sum(one.value is not None for one in found) == 213
    assert Counter(flag.code for one in found for flag in one.flags) == {
        "target_of_another_model": 10,
        "rate_contradicts_latency": 3,
        "figure_missing": 1,
        "out_of_line": 1,
        "gpu_contradicts_system": 1,
    }


def test_figures_survive_being_written_and_read() -> None:
    found = shipped()
    assert read_csv(write_csv(found)) == found
    assert [from_record(to_record(one)) for one in found] == found
    assert content_hash(found) == content_hash(read_csv(write_csv(found)))


def test_the_same_page_has_no_changes_and_a_new_figure_is_one() -> None:
    assert compare_editions(rows(), rows()) == []
    (change,) = compare_editions(rows(), rows(PAGE.replace("1,500", "1,800").replace("\n| gpt", "\n| gpt", 1)))
    assert (change.kind, change.ratio) == ("figure", pytest.approx(1.2))


def test_rows_that_came_and_went_are_told() -> None:
    lines = PAGE.strip().splitlines()
    fewer = rows("\n".join(lines[:-1]))
    assert [one.kind for one in compare_editions(rows(), fewer)] == ["removed"]
    assert [one.kind for one in compare_editions(fewer, rows())] == ["added"]


def test_a_new_version_under_the_same_figure_is_a_change_of_labels() -> None:
    (change, _) = compare_editions(rows(), rows(PAGE.replace("LLM 1.1", "LLM 1.2")))
    assert change.kind == "labels"
    assert [(one.name, one.after) for one in change.labels] == [("framework", "TensorRT-LLM 1.2")]


def test_a_series_that_agrees_in_all_is_held_against_its_figure() -> None:
    (found,) = match_series(measured(), rows()).exact
    assert found.published == 8000
    assert found.ratio == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("label", "value", "words"),
    [("isl", 512, "ISL 512 instead of 1024"), ("tp", 4, "GPU count 4 instead of 2"), ("precision", "fp8", "precision"),
     ("concurrency", 16, "concurrency 16 instead of full load")],
)  # fmt: skip
def test_what_differs_is_named_and_nothing_is_matched_by_force(label: str, value: str | int, words: str) -> None:
    found = match_series(measured(**{label: value}), rows())
    assert found.exact == ()
    assert any(words in str(difference) for difference in found.near[0].differences)
