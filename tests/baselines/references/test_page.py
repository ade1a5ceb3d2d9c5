"""Pages of published figures are read whatever their mess, and what is doubtful is told, never repaired."""

from __future__ import annotations

from typing import Any

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


HEAD = ("Network", "Input Length", "Output Length", "Throughput", "GPU", "Server", "Precision")
ROW = ("Borealis 70B", "1000", "2000", "345 tokens/sec", "8x H200", "DGX H200", "FP8")


def table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_cell(row: tuple[str, ...], heading: str, cell: str) -> tuple[str, ...]:
    place = HEAD.index(heading)
    return (*row[:place], cell, *row[place + 1 :])


def only(text: str) -> dict[str, Any]:
    (found,) = (as_json(one) for one in rows_of(text))
    return found


def codes(row: dict[str, Any]) -> list[str]:
    return [flag["code"] for flag in row["flags"]]


@pytest.mark.parametrize(
    "figure",
    [
        "345<sup>2</sup> tokens/sec", "1,200-1,300 tokens/sec", "1200–1300 tok/s", "12,345* tokens/sec",
        "up to 345 tok/s",
        "~345 tokens/sec", "8.5k tokens/sec", "-5 tokens/sec", "8.471,5 tokens/sec", "12,34 tokens/sec",
        "NaN tokens/sec",
    ],
)  # fmt: skip
def test_what_is_not_one_plain_figure_is_left_out_and_flagged(figure: str) -> None:
    row = only(table(HEAD, with_cell(ROW, "Throughput", figure)))
    assert (row["value"], row["value_per_gpu"], row["canonical"]) == (None, None, None)
    assert codes(row) == ["cell_unread", "figure_missing"]
    assert (row["isl"], row["osl"], row["gpus"]) == (1000, 2000, 8)


def test_a_footnote_above_a_word_goes_and_one_above_a_number_stays_apart() -> None:
    named = only(table(HEAD, with_cell(ROW, "Network", "Borealis 70B<sup>1</sup>")))
    assert (named["model_printed"], codes(named)) == ("Borealis 70B", [])
    page = f"<table><tr>{''.join(f'<th>{one}</th>' for one in HEAD)}</tr><tr>{{}}</tr></table>"
    cells = with_cell(ROW, "Input Length", "100<sup><a href='#1'>0</a></sup>")
    row = only(page.format("".join(f"<td>{one}</td>" for one in cells)))
    assert (row["isl"], row["value"], codes(row)) == (None, 345, ["cell_unread"])


def test_what_a_browser_does_not_show_in_a_cell_is_not_read() -> None:
    page = f"<table><tr>{''.join(f'<th>{one}</th>' for one in HEAD)}</tr><tr>{{}}</tr></table>"
    keys = '<span style="display: none">000<b>12</b></span>345 tokens/sec', "<i hidden>9</i>345 tokens/sec"
    for cell in keys:
        cells = with_cell(ROW, "Throughput", cell)
        row = only(page.format("".join(f"<td>{one}</td>" for one in cells)))
        assert (row["value"], row["gpus"], codes(row)) == (345, 8, [])


@pytest.mark.parametrize(
    ("heading", "cell", "metric", "per_gpu"),
    [
        ("Throughput", "345 tokens/sec", "output_tok_s", 43.125),
        ("Throughput per GPU", "345 tokens/sec", "output_tok_s_per_gpu", 345),
        ("Throughput/GPU (tokens/sec)", "345", "output_tok_s_per_gpu", 345),
        ("Throughput [tokens/sec/GPU]", "345", "output_tok_s_per_gpu", 345),
        ("Throughput per user", "345 tokens/sec", "tok_s_user", None),
        ("Total Token Throughput", "345 tokens/sec", "total_tok_s", 43.125),
        ("Output Token Throughput (tok/s)", "345", "output_tok_s", 43.125),
    ],
)
def test_what_the_heading_says_of_a_figure_counts(heading: str, cell: str, metric: str, per_gpu: float | None) -> None:
    head = with_cell(HEAD, "Throughput", heading)
    row = only(table(head, with_cell(ROW, "Throughput", cell)))
    assert (row["canonical"]["metric"], row["canonical"]["value"]) == (metric, 345)
    assert (row["value_per_gpu"], codes(row)) == (per_gpu, [])


@pytest.mark.parametrize("heading", ["Latency (s)", "Latency (µs)", "Latency [seconds]"])
def test_a_latency_whose_heading_says_another_unit_is_told_and_not_taken(heading: str) -> None:
    head = ("Network", heading, "Throughput", "GPU", "Server")
    row = only(table(head, ("Heron-50", "0.5", "800 images/sec", "1x H200", "DGX H200")))
    assert (row["latency_ms"], codes(row)) == (None, ["cell_unread"])


def test_a_comma_that_may_be_a_decimal_sign_does_not_make_a_latency_ten_times_as_long() -> None:
    head = ("Network", "Latency (ms)", "Throughput", "GPU", "Server")
    row = only(table(head, ("Heron-50", "371,5", "800 images/sec", "1x H200", "DGX H200")))
    assert (row["latency_ms"], codes(row)) == (None, ["cell_unread"])


@pytest.mark.parametrize(
    ("figures", "doubted"),
    [
        (["8.471 tok/s", "3.105 tok/s"], [True, True]),
        (["8.471 tok/s", "3.1 tok/s"], [False, False]),
        (["8.471 tok/s", "12,345 tok/s"], [False, False]),
        (["8.471 tok/s", "1.234,5 tok/s"], [True, False]),
        (["8,471 tok/s", "17,5 tok/s"], [True, False]),
        (["8,471 tok/s", "3,105 tok/s"], [False, False]),
        (["0.037 tok/s", "471 tok/s"], [False, False]),
    ],
)
def test_a_point_or_comma_that_may_be_meant_otherwise_is_flagged(figures: list[str], doubted: list[bool]) -> None:
    rows = [with_cell(with_cell(ROW, "Throughput", one), "Network", f"Model {one[:2]}") for one in figures]
    found = [as_json(one) for one in rows_of(table(HEAD, *rows))]
    assert ["separator_unclear" in codes(one) for one in found] == doubted


def test_a_figure_of_0_is_flagged() -> None:
    row = only(table(HEAD, with_cell(ROW, "Throughput", "0 tokens/sec")))
    assert (row["value"], codes(row)) == (0, ["figure_zero"])


@pytest.mark.parametrize(
    ("first", "second"), [("GPU", "# GPUs"), ("GPU", "GPUs"), ("Number of GPUs", "GPU"), ("GPU Count", "GPU")]
)
def test_the_number_of_gpus_may_have_a_column_of_its_own(first: str, second: str) -> None:
    cells = tuple("H200" if name == "GPU" else "8" for name in (first, second))
    row = only(table((*HEAD[:4], first, second, *HEAD[5:]), (*ROW[:4], *cells, *ROW[5:])))
    assert (row["gpu"], row["gpus"], row["value_per_gpu"], codes(row)) == ("H200", 8, 43.125, [])


@pytest.mark.parametrize("cell", ["H200 x8", "2x 8x H200", "0x H200", "H200 (8x)"])
def test_a_count_of_gpus_that_cannot_be_read_is_no_name_of_a_gpu(cell: str) -> None:
    row = only(table(HEAD, with_cell(ROW, "GPU", cell)))
    assert (row["gpu"], row["gpus"], row["value_per_gpu"], codes(row)) == (None, None, None, ["cell_unread"])


def test_columns_of_tp_and_pp_are_the_parallelism() -> None:
    assert [as_json(one)["parallelism"] for one in rows_of(SERVING)] == ["TP2", "TP2", "TP2", "TP1"]


def test_cells_unlike_their_headings_stay_where_they_are() -> None:
    row = only(table(HEAD, ("Borealis 70B", "1K", "8K", *ROW[3:])))
    assert (row["model_printed"], row["isl"], row["osl"], row["value"]) == ("Borealis 70B", None, None, 345)
    assert codes(row) == ["cell_unread", "cell_unread"]


def test_a_second_column_of_figures_is_told_and_not_taken() -> None:
    row = only(table((*HEAD, "Peak Throughput"), (*ROW, "43 tokens/sec/gpu")))
    assert (row["canonical"]["metric"], codes(row)) == ("output_tok_s", ["cell_unread"])
    assert "'43 tokens/sec/gpu' stands under a heading that is not read" in row["flags"][0]["reason"]


def test_tables_of_figures_under_unknown_headings_are_named() -> None:
    other = table(("AI Thing", "Speed", "Card"), ("Borealis 70B", "55 tokens/sec", "4x B300"))
    page = read_page(table(HEAD, ROW) + "\n" + other)
    assert (len(page.references), page.tables) == (1, 1)
    assert page.passed_over == ((5, "AI Thing | Speed | Card"),)
    with pytest.raises(ValueError, match=r"the header of line 1 is 'AI Thing \| Speed \| Card'"):
        read_page(other)
