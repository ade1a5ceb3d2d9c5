"""Pages of published figures are read whatever their mess, and what is doubtful is told, never repaired."""

from __future__ import annotations

import pytest

from baselines.references import Reference, as_json, read_page

SERVING = """
| Model | PP | TP | Input Length | Output Length | Throughput | GPU | Server | Precision | Framework | GPU Version |
|---|---|---|---|---|---|---|---|---|---|---|
| Borealis 70B | 1 | 2 | 128 | 2048 | 4,210 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 0.21.0 | H200 |
| | 1 | 2 | 128 | 4096 | 3,105.5 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 0.21.0 | H200 |
| | 1 | 2 | 2048 | 128 | .75 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 0.21.0 | H200 |
| Quartz 8B | 1 | 1 | 500 | 2000 | output tokens/sec | 1x H100 | DGX H100 | FP8 | TensorRT-LLM 0.21.0 | H100 |
"""


def rows_of(text: str) -> list[Reference]:
    return list(read_page(text).references)


def test_a_cell_that_spans_rows_names_the_model_of_each() -> None:
    found = [as_json(one) for one in rows_of(SERVING)]
    assert [one["model_printed"] for one in found] == ["Borealis 70B"] * 3 + ["Quartz 8B"]
    assert [one["value"] for one in found] == [4210, 3105.5, 0.75, None]
    assert [(one["isl"], one["osl"]) for one in found] == [(128, 2048), (128, 4096), (2048, 128), (500, 2000)]
    assert found[0]["gpus"] == 2
    assert found[0]["value_per_gpu"] == pytest.approx(2105)
    assert [one["line"] for one in found] == [4, 5, 6, 7]


def test_a_missing_figure_is_flagged_and_never_0() -> None:
    missing = as_json(rows_of(SERVING)[3])
    assert missing["value"] is None
    assert missing["value_per_gpu"] is None
    assert [flag["code"] for flag in missing["flags"]] == ["figure_missing"]


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_do_not_matter(ending: str) -> None:
    assert rows_of(SERVING.replace("\n", ending)) == rows_of(SERVING)


def test_columns_in_another_order_give_the_same_figures() -> None:
    lines = [line.strip("|").split("|") for line in SERVING.strip().splitlines()]
    order = [0, 6, 7, 5, 3, 4, 2, 1, 9, 8, 10]
    turned = "\n" + "\n".join("|" + "|".join(cells[place] for place in order) + "|" for cells in lines) + "\n"
    keep = ("model", "value", "unit", "gpus", "isl", "osl", "precision", "framework", "parallelism")
    assert [[as_json(one)[key] for key in keep] for one in rows_of(turned)] == [
        [as_json(one)[key] for key in keep] for one in rows_of(SERVING)
    ]


def test_the_same_table_as_html_gives_the_same_figures() -> None:
    lines = [line.strip("|").split("|") for line in SERVING.strip().splitlines()]
    head = "".join(f"<th>{cell.strip()}</th>" for cell in lines[0])
    body = "".join("<tr>" + "".join(f"<td>{cell.strip()}</td>" for cell in row) + "</tr>" for row in lines[2:])
    page = f"<!DOCTYPE html><html><body><table><tr>{head}</tr>{body}</table></body></html>"
    assert [as_json(one)["value"] for one in rows_of(page)] == [4210, 3105.5, 0.75, None]


@pytest.mark.parametrize("text", ["", "no table here", "| a | b |\n|---|---|\n| 1 | 2 |\n", "\x00\x01\x02" * 50])
def test_a_page_without_figures_says_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="no table of figures was found: expected a header"):
        read_page(text)


def test_a_figure_that_contradicts_batch_and_latency_is_kept_and_flagged() -> None:
    page = """
| Network | Batch Size | Throughput | Efficiency | Latency (ms) | GPU | Server | Container | Precision | Dataset |
|---|---|---|---|---|---|---|---|---|---|
| Heron-50 | 8 | 800 images/sec | 4 images/sec/watt | 10.0 | 1x H200 | DGX H200 | 25.08-py3 | INT8 | Synthetic |
| Heron-50 | 16 | 1,900 images/sec | 4 images/sec/watt | 10.0 | 1x H200 | DGX H200 | 25.08-py3 | INT8 | Synthetic |
"""
    right, wrong = (as_json(one) for one in rows_of(page))
    assert right["flags"] == []
    assert wrong["value"] == 1900
    assert [flag["code"] for flag in wrong["flags"]] == ["rate_contradicts_latency"]


def test_a_latency_in_another_unit_is_told_and_not_taken() -> None:
    page = """
| Network | Batch Size | Throughput | Latency | GPU | Server | Precision |
|---|---|---|---|---|---|---|
| Heron-50 | 8 | 800 images/sec | 0.01 s | 1x H200 | DGX H200 | INT8 |
"""
    (found,) = (as_json(one) for one in rows_of(page))
    assert found["latency_ms"] is None
    assert [flag["code"] for flag in found["flags"]] == ["cell_unread"]
    assert "not in ms" in found["flags"][0]["reason"]
