"""Published figures on the command line: read, kept, shown, compared, and wrong input told with its cure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.published_page import NEWER, PAGE, as_html

LABELS = {"model": "openai/gpt-oss-20b", "precision": "fp8", "isl": 8192, "osl": 1024, "tp": 1, "gpu_count": 1}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "vendor.txt"
    file.write_text(PAGE, encoding="utf-8")
    return file


def hand_in(
    tracker: Tracker, folder: Path, *runs: tuple[dict[str, Any], str, float, str], hardware: str = "gpu=NVIDIA H200"
) -> None:
    """Hand in results: labels, metric, value, unit."""
    told = [{"labels": labels, "metrics": {metric: {"value": v, "unit": unit}}} for labels, metric, v, unit in runs]
    file = folder / "result.json"
    file.write_text(json.dumps({"tool": "bench", "version": "1.2.0", "runs": told}), encoding="utf-8")
    origin = ("--component", "engine", "--release", "1.2.0", "--host", "box", "--label", hardware)
    assert tracker("ingest", str(file), *origin).code == 0


def test_import_prints_every_row_with_its_line_and_keeps_the_page(tracker: Tracker, page: Path) -> None:
    answer = tracker("references", "import", str(page), "--json")
    assert answer.code == 0
    rows = answer.data["rows"]
    assert set(answer.data) == {"rows"}
    assert [(row["line"], row["model"], row["value"], row["value_per_gpu"]) for row in rows] == [
        (4, "Borealis 70B", 4200, 2100.0),
        (5, "Borealis 70B", 640, 320.0),
        (6, "Quartz 8B", None, None),
    ]
    assert rows[0]["canonical"] == {"metric": "output_tok_s", "value": 4200.0, "unit": "tok/s", "direction": "higher"}
    assert [flag["code"] for flag in rows[2]["flags"]] == ["figure_missing", "gpu_contradicts_system"]
    assert "kept as vendor/" in answer.err
    again = tracker("references", "import", str(page))
    assert again.code == 0
    assert again.out.startswith("unchanged: vendor/")


def test_a_dry_run_says_what_would_be_kept_and_makes_nothing(home: Path, tracker: Tracker, page: Path) -> None:
    answer = tracker("references", "import", str(page), "--dry-run", "--date", "2026-11-01")
    assert answer.out.splitlines()[0] == "would be kept as vendor/2026-11-01: 3 rows in 1 table, 1 without a figure"
    assert not home.exists()
    tracker("references", "import", str(page), "--date", "2026-11-01")
    page.write_text(NEWER, encoding="utf-8")
    told = tracker("references", "import", str(page), "--dry-run").out
    assert "against vendor/2026-11-01: 1 figure changed, 1 row changed its labels" in told
    assert len(tracker("references", "list", "--json").data["items"]) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_a_page_that_a_browser_saved_is_read_in_its_encoding(tracker: Tracker, page: Path, encoding: str) -> None:
    text = as_html(PAGE.replace("Quartz", "Café")).replace("<html>", f'<html><meta charset="{encoding}">')
    page.write_bytes(text.encode(encoding))
    rows = tracker("references", "import", str(page), "--json").data["rows"]
    assert [row["model_printed"] for row in rows] == ["Borealis 70B", "Borealis 70B", "Café 8B"]


def test_editions_are_listed_with_where_they_are_from(tracker: Tracker, page: Path) -> None:
    tracker("references", "import", str(page), "--date", "2026-11-01")
    listed = tracker("references", "list", "--json").data["items"]
    assert [(one["name"], one["figures"], one["shipped"], one["newest"]) for one in listed] == [
        ("nvidia-inference-performance/2026-04-30", 214, True, True),
        ("vendor/2026-11-01", 3, False, True),
    ]
    assert "shipped" in tracker("references", "list").out


def test_rows_are_shown_with_why_they_are_doubtful(tracker: Tracker) -> None:
    told = tracker("references", "show", "--model", "GPT-OSS 20B", "--gpu", "H200").out
    assert "9,154 output tokens/sec/gpu" in told
    assert "no figure" in told
    assert "line 167, out_of_line: at 32768/1024" in told
    items = tracker("references", "show", "--doubtful", "--json", "--limit", "5").data
    assert (len(items["items"]), items["next"]) == (5, "5")
    assert items["items"][0]["edition"] == "nvidia-inference-performance/2026-04-30"
    nothing = tracker("references", "show", "--model", "nobody")
    assert (nothing.code, nothing.out) == (0, "")
    assert "models: BEVFusion Head, DLRMv3" in nothing.err


def test_what_a_vendor_changed_is_told_row_by_row(tracker: Tracker, page: Path) -> None:
    assert "no source has two editions yet" in tracker("references", "diff").err
    tracker("references", "import", str(page), "--date", "2026-11-01")
    page.write_text(NEWER, encoding="utf-8")
    tracker("references", "import", str(page))
    found = tracker("references", "diff", "--json").data
    assert found["before"] == "vendor/2026-11-01"
    assert [(one["kind"], one["ratio"]) for one in found["items"]] == [("figure", 1.2), ("labels", None)]
    assert found["items"][1]["labels"] == [
        {"name": "framework", "before": "TensorRT-LLM 1.1", "after": "TensorRT-LLM 1.2"}
    ]
    assert "framework TensorRT-LLM 1.1 -> TensorRT-LLM 1.2" in tracker("references", "diff").out


def test_a_release_is_held_against_the_rows_that_fit(tracker: Tracker, tmp_path: Path) -> None:
    per_gpu = ({**LABELS, "isl": 1000, "osl": 1000}, "output_tok_s_per_gpu", 13_858.0, "tok/s/GPU")
    hand_in(tracker, tmp_path, (LABELS, "output_tok_s", 4416.5, "tok/s"), per_gpu)
    found = tracker("references", "compare", "--release", "engine/1.2.0", "--json").data
    assert [(one["reference"]["line"], one["ratio"]) for one in found["items"]] == [
        (163, pytest.approx(1.0)),
        (166, pytest.approx(1.1)),
    ]
    assert found["items"][1]["published"] == 4015.0
    assert (found["near"], found["series"]) == ([], 2)
    told = tracker("references", "compare", "--release", "1.2.0").out
    assert "1.100" in told
    assert "TensorRT-LLM 1.1" in told


def test_beside_two_editions_each_line_says_of_which_it_is(tracker: Tracker, tmp_path: Path, page: Path) -> None:
    assert tracker("references", "import", str(page), "--source", "vendor").code == 0
    unsaid = {name: value for name, value in LABELS.items() if name != "precision"}
    hand_in(tracker, tmp_path, (LABELS, "output_tok_s", 4416.5, "tok/s"), (unsaid, "output_tok_s", 4000.0, "tok/s"))
    told = tracker("references", "compare", "--release", "1.2.0").out
    assert "edition" in told.splitlines()[1]
    assert "166  nvidia-inference-performance/2026-04-30" in told
    assert "nearest is line 166 of nvidia-inference-performance/2026-04-30, which differs" in told


def test_tables_that_are_not_read_are_named_on_import(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    other = "| AI Thing | Speed |\n|---|---|\n| Borealis | 55 tokens/sec |\n"
    file.write_text(f"{PAGE}\n\n{other}", encoding="utf-8")
    answer = tracker("references", "import", str(file), "--dry-run")
    assert "a table with figures is not read, its header names no model and throughput: AI Thing | Speed" in answer.out


def test_where_nothing_fits_the_nearest_rows_are_told_with_what_to_do(tracker: Tracker, tmp_path: Path) -> None:
    unsaid = {name: value for name, value in LABELS.items() if name not in ("precision", "tp")}
    loaded = {**LABELS, "isl": 1024, "osl": 1024, "concurrency": 16}
    hand_in(tracker, tmp_path, (unsaid, "output_tok_s", 4000.0, "tok/s"), (loaded, "output_tok_s", 900.0, "tok/s"))
    answer = tracker("references", "compare", "--release", "1.2.0")
    assert answer.code == 0
    assert "no published figure fits one of 2 series in all; the nearest:" in answer.out
    assert "nearest is line 166, which differs:\n  precision not stated instead of FP8" in answer.out
    assert "to compare: state precision=FP8 if that is what was measured" in answer.out
    assert "nearest is line 163, which differs:\n  ISL 1024 instead of 1000\n  OSL 1024 instead of 1000" in answer.out
    assert "to compare: measure with ISL 1000, OSL 1000, no limit on concurrency" in answer.out
    near = tracker("references", "compare", "--release", "1.2.0", "--json").data["near"]
    assert [len(one["near"]) for one in near] == [3, 3]


def test_a_release_of_other_models_says_which_are_published(tracker: Tracker, tmp_path: Path) -> None:
    hand_in(tracker, tmp_path, ({**LABELS, "model": "own"}, "output_tok_s", 4000.0, "tok/s"))
    told = tracker("references", "compare", "--release", "1.2.0").out
    assert "none of 1 series is of a published model and metric" in told
    assert "gpt-oss-120b" in told


def test_mlperf_rows_are_only_for_results_of_mlperf(tracker: Tracker, tmp_path: Path) -> None:
    labels = {"model": "llama2-70b-99", "scenario": "Offline", "gpu_count": 8}
    hand_in(tracker, tmp_path, (labels, "output_tok_s", 100_000.0, "tok/s"), hardware="gpu=NVIDIA B200")
    told = tracker("references", "compare", "--release", "1.2.0").out
    assert "benchmark generic instead of MLPerf" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("import", "nowhere.txt"), "nowhere.txt: cannot be read: no such file or directory; check the path"),
        (("import", "."), ".: cannot be read: is a directory"),
        (("import", "PAGE", "--source", "No Name"), "--source: expected small letters, digits"),
        (("import", "PAGE", "--date", "yesterday"), "--date: expected a day such as 2026-04-30, found 'yesterday'"),
        (("import", "PAGE", "--date", "2999-01-01"), "which is after today"),
        (("show", "nobody"), "no edition 'nobody'; known: nvidia-inference-performance/2026-04-30"),
        (("show", "--metric", "speed"), "unknown metric 'speed'"),
        (("show", "--limit", "0"), "--limit"),
        (("diff", "nobody"), "no edition 'nobody'"),
        (("diff", "--source", "nobody"), "no source 'nobody'"),
        (("compare", "--release", "9.9"), "no release '9.9'"),
        (("compare",), "--release"),
    ],
)
def test_wrong_input_is_exit_code_2_and_keeps_nothing(
    tracker: Tracker, page: Path, arguments: tuple[str, ...], words: str
) -> None:
    answer = tracker("references", *(str(page) if one == "PAGE" else one for one in arguments))
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert len(tracker("references", "list", "--json").data["items"]) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty; expected a saved page"),
        (b"\xff\xfe\x00\xd8", "save the page again as text"),
        (b"caf\xe9", "is no text in UTF-8 (byte 3)"),
        (b"just words\n", "no table of figures was found"),
        (b"\x00" * 100, "no table of figures was found"),
    ],
)
def test_a_file_that_is_no_page_says_what_was_expected(
    tracker: Tracker, page: Path, content: bytes, words: str
) -> None:
    page.write_bytes(content)
    answer = tracker("references", "import", str(page), "--json")
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
