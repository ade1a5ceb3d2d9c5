"""Each of the chosen rows of NVIDIA's inference page is read rightly, from the page and from the copy that ships.

`right_rows.csv` was read off the page by eye. The page itself is no part of the project: `--samples FOLDER` names
the samples beside whose folder `seeds/nvidia-inference-performance.txt` lies.
"""

from __future__ import annotations

import csv
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from baselines.references import Reference, as_json, read_csv, read_page

_TEXT = (Path(__file__).parent / "right_rows.csv").read_text(encoding="utf-8")
RIGHT = list(csv.DictReader(_TEXT.splitlines(), delimiter=";"))
NUMBERS = frozenset({"line", "table", "value", "gpus", "isl", "osl", "batch", "latency_ms"})
#: Unit as printed -> metric, unit and direction of ours, and what the printed figure is multiplied with.
MEANINGS = {
    "tokens/sec": ("output_tok_s", "tok/s", "higher", 1),
    "output tokens/sec": ("output_tok_s", "tok/s", "higher", 1),
    "output tokens/sec/gpu": ("output_tok_s_per_gpu", "tok/s/GPU", "higher", 1),
    "queries/sec": ("req_s", "req/s", "higher", 1),
    "samples/sec": ("req_s", "req/s", "higher", 1),
    "images/sec": ("req_s", "req/s", "higher", 1),
    "videos/min": ("req_s", "req/s", "higher", 1 / 60),
    "seconds": ("latency_p90_ms", "ms", "lower", 1000),
}
KEYS = [
    "line", "table", "model", "model_printed", "gpu", "gpus", "system", "value", "unit", "value_per_gpu", "canonical",
    "scenario", "parallelism", "isl", "osl", "batch", "latency_ms", "efficiency", "precision", "framework", "container",
    "dataset", "constraints", "target_accuracy", "flags",
]  # fmt: skip


def shipped() -> list[Reference]:
    data = resources.files("baselines.references") / "data" / "nvidia-inference-performance.csv"
    return read_csv(data.read_text(encoding="utf-8"))


def saved_page(config: pytest.Config) -> Path | None:
    """The page as somebody saved it, None where it is not beside the samples that were named."""
    samples: Path | None = config.getoption("samples")
    page = samples.parent / "seeds" / "nvidia-inference-performance.txt" if samples else None
    return page if page and page.is_file() else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "rows" in metafunc.fixturenames:
        sources = ["shipped", "page"] if saved_page(metafunc.config) else ["shipped"]
        metafunc.parametrize("rows", sources, indirect=True, scope="module")


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> dict[int, dict[str, Any]]:
    """Line -> row as `tracker references import --json` shows it."""
    page = saved_page(request.config) if request.param == "page" else None
    found = read_page(page.read_text(encoding="utf-8")).references if page else shipped()
    return {one.printed.line: as_json(one) for one in found}


@pytest.mark.parametrize("right", RIGHT, ids=lambda one: f"line {one['line']}")
def test_a_row_is_read_rightly(rows: dict[int, dict[str, Any]], right: dict[str, str]) -> None:
    row = rows[int(right["line"])]
    wanted: dict[str, Any] = {name: text or None for name, text in right.items()}
    wanted |= {name: float(right[name]) for name in NUMBERS if right[name]}
    begins, flag = wanted.pop("target_begins"), wanted.pop("flag")
    assert {name: row[name] for name in wanted} == wanted
    assert [one["code"] for one in row["flags"]] == ([flag] if flag else [])
    assert all(one["reason"] for one in row["flags"])
    assert row["target_accuracy"] == begins or row["target_accuracy"].startswith(begins)


@pytest.mark.parametrize("right", RIGHT, ids=lambda one: f"line {one['line']}")
def test_what_a_figure_means_follows_from_its_unit(rows: dict[int, dict[str, Any]], right: dict[str, str]) -> None:
    row = rows[int(right["line"])]
    if not right["value"]:
        assert (row["canonical"], row["value_per_gpu"]) == (None, None)
        return
    metric, unit, direction, times = MEANINGS[right["unit"]]
    value = float(right["value"])
    told = (row["canonical"]["metric"], row["canonical"]["unit"], row["canonical"]["direction"])
    assert told == (metric, unit, direction)
    assert row["canonical"]["value"] == pytest.approx(value * times, rel=1e-12)
    of_one = None if unit == "ms" else value if unit == "tok/s/GPU" else value / int(right["gpus"])
    assert row["value_per_gpu"] == (None if of_one is None else pytest.approx(of_one, rel=1e-12))


def test_what_was_computed_by_hand(rows: dict[int, dict[str, Any]]) -> None:
    assert rows[7]["value_per_gpu"] == pytest.approx(8660.798611, rel=1e-9)  # 2,494,310 / 288
    assert rows[58]["value_per_gpu"] == pytest.approx(11251.444444, rel=1e-9)  # 810,104 / 72
    assert rows[211]["canonical"]["value"] == pytest.approx(0.122, rel=1e-12)  # 7.32 / 60
    assert rows[63]["canonical"]["value"] == 31_000


def test_the_chosen_rows_are_from_every_table_and_hold_every_doubt(rows: dict[int, dict[str, Any]]) -> None:
    assert len(RIGHT) >= 60
    assert {int(one["table"]) for one in RIGHT} == set(range(1, 17)) == {one["table"] for one in rows.values()}
    doubted = {line for line, row in rows.items() if row["flags"]}
    assert doubted == {int(one["line"]) for one in RIGHT if one["flag"]}


def test_the_whole_page_is_there(rows: dict[int, dict[str, Any]]) -> None:
    assert len(rows) == 214
    assert sum(row["value"] is not None for row in rows.values()) == 213
    assert len({row["model_printed"] for row in rows.values()}) == 31
    assert len({row["gpu"] for row in rows.values()}) == 10
    assert Counter(row["table"] for row in rows.values()) == {
        1: 30, 2: 28, 3: 16, 4: 20, 5: 16, 6: 6, 7: 13, 8: 6, 9: 22, 10: 10, 11: 8, 12: 6, 13: 10, 14: 7, 15: 9, 16: 7,
    }  # fmt: skip
    assert all(list(row) == KEYS for row in rows.values())
