"""Fronts on the command line: two releases, from the store and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.cli.sweeps import CURVE, ingest_sweep, sweep_csv
from tests.tracker.seed import Seeded

CROSSED = {256: 1.2, 64: 1.15, 16: 0.85, 4: 0.8}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    file = tmp_path / "sweep.csv"
    file.write_text(sweep_csv(("1.9.0", {}), ("1.10.0", CROSSED)), encoding="utf-8")
    return file


def test_a_file_is_compared_and_what_is_faster_where_is_said(tracker: Tracker, sweep: Path) -> None:
    answer = tracker("frontier", str(sweep))
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == "all rows: 1.10.0 against 1.9.0"
    assert lines[1].startswith("  faster at the throughput end and slower at the interactive end: faster from ")
    assert "1.9.0 covers 30 to 180 tok/s/user with 4 configs" in answer.out
    assert "concurrency 256" in answer.out


def test_values_are_given_inside_the_coverage_and_none_outside(tracker: Tracker, sweep: Path) -> None:
    item = tracker("frontier", str(sweep), "--at", "80,500", "--json").data["items"][0]
    inside, outside = item["values"]
    assert inside["before"]["value"] == pytest.approx(5600)
    assert inside["before"]["low"] < 5600 < inside["before"]["high"]
    assert (outside["before"], outside["after"]) == (None, None)
    assert outside["reason"].startswith("the earlier front covers 30 to 180 tok/s/user; the later front covers")
    assert item["gain"]["low"] > 0
    assert item["loss"]["low"] > 0
    assert [one["word"] for one in item["stretches"]].index("faster") == 0
    assert item["before"]["configs"][0]["repeats"] == 3


def test_stored_sweeps_are_compared_between_any_two_releases(tracker: Tracker, tmp_path: Path) -> None:
    ingest_sweep(tracker, tmp_path / "a", "1.0.0", "2026-04-01")
    ingest_sweep(tracker, tmp_path / "b", "1.1.0", "2026-06-01")
    ingest_sweep(tracker, tmp_path / "c", "1.2.0", "2026-08-01", gain=CROSSED)
    newest = tracker("frontier", "--json").data["items"][0]
    assert (newest["before"]["release"], newest["after"]["release"]) == ("1.1.0", "1.2.0")
    assert newest["sentence"].startswith("faster at the throughput end and slower at the interactive end")
    quiet = tracker("frontier", "1.0.0", "tensorrt-llm/1.1.0", "--component", "tensorrt-llm")
    assert "no difference beyond the noise from 30 to 180 tok/s/user" in quiet.out
    unknown = tracker("frontier", "1.0.0", "9.9.9")
    assert unknown.code == 2
    assert "expected two releases of one sweep; known: 1.0.0, 1.1.0, 1.2.0" in unknown.err


def test_tokens_choose_what_is_counted(tracker: Tracker, tmp_path: Path) -> None:
    ingest_sweep(tracker, tmp_path / "a", "1.0.0", "2026-04-01")
    ingest_sweep(tracker, tmp_path / "b", "1.1.0", "2026-06-01")
    item = tracker("frontier", "--tokens", "total", "--at", "80", "--json").data["items"][0]
    assert item["tokens"] == "total"
    assert item["values"][0]["before"]["value"] == pytest.approx(11200)


def test_a_file_may_hold_several_sweeps_and_name_times_instead_of_rates(tracker: Tracker, tmp_path: Path) -> None:
    rows = ["release,model,concurrency,output_tok_s,gpus,tpot_p50_ms"]
    for release in ("1.0", "1.1"):
        for model in ("small", "large"):
            rows += [f"{release},{model},4,8000,8,10", f"{release},{model},64,40000,8,25"]
    file = tmp_path / "two.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    items = tracker("frontier", str(file), "--at", "100", "--json").data["items"]
    assert [one["name"] for one in items] == ["model small", "model large"]
    before = items[0]["values"][0]["before"]
    assert before == {"value": pytest.approx(1000.0, rel=1e-12), "low": None, "high": None}
    assert "nothing was repeated, so this may be noise" in items[0]["sentence"]


def test_a_value_of_the_front_is_followed_over_the_releases_like_any_series(tracker: Tracker, tmp_path: Path) -> None:
    faster = dict.fromkeys(CURVE, 1.25)
    rows = [(f"1.{place}.0", faster if place > 5 else {}) for place in range(10)]
    file, chart = tmp_path / "sweep.csv", tmp_path / "trend.svg"
    file.write_text(sweep_csv(*rows), encoding="utf-8")
    asked = ("frontier", str(file), "--history", "--at", "80,500")
    inside, outside = tracker(*asked, "--json").data["items"]
    (change,) = inside["changes"]
    assert (change["release"], change["verdict"]) == ("1.6.0", "improved")
    assert change["effect_low"] > 0.25
    assert inside["releases"][0]["values"] == pytest.approx([5600] * 3, rel=0.02)
    assert [one["values"] for one in outside["releases"]] == [[]] * 10
    said = tracker(*asked, "--chart", str(chart))
    assert "1.6.0" in said.out
    assert "none: outside the coverage at 500" in said.out
    assert chart.read_bytes().startswith(b"<svg")
    assert tracker("frontier", str(file), "--history").code == 2
    assert "leave out 1.0.0 and 1.1.0" in tracker("frontier", str(file), "1.0.0", "1.1.0", "--history").err


@pytest.mark.parametrize("name", ["front.png", "front.svg", "front.html"])
def test_the_chart_is_a_file(tracker: Tracker, sweep: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    answer = tracker("frontier", str(sweep), "--chart", str(file))
    assert answer.code == 0, answer.err
    start = {"png": b"\x89PNG", "svg": b"<svg", "html": b"<!doctype html>"}[name[6:]]
    assert file.read_bytes().startswith(start)


def test_without_a_sweep_it_says_what_to_do(tracker: Tracker, tmp_path: Path) -> None:
    assert "nothing has been measured yet" in tracker("frontier").err
    ingest_sweep(tracker, tmp_path / "a", "1.0.0", "2026-04-01")
    one = tracker("frontier")
    assert one.code == 0
    assert "no sweep was measured at two releases yet" in one.err
    assert "measure two releases at several concurrencies" in one.err
    assert tracker("frontier", "--json").data == {"items": [], "next": None}


def test_a_store_without_interactivity_says_so(tracker: Tracker, seeded: Seeded) -> None:
    answer = tracker("frontier")
    assert answer.code == 0
    assert answer.out == ""
    assert "no sweep" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--at", "fast"), "--at: expected numbers above 0 with commas, such as 20,50,100; found 'fast'"),
     (("--tokens", "input"), "--tokens: expected output or total, found 'input'"),
     (("1.0.0",), "expected two releases, the earlier first, or none for the newest two; found 1.0.0"),
     (("1.0.0", "1.0.0"), "expected two different releases, found 1.0.0 twice"),
     (("--chart", "front.gif"), "--chart: expected a file that ends in .png, .svg or .html"),
     (("nowhere.csv",), "nowhere.csv: cannot be read")],
)  # fmt: skip
def test_wrong_input_is_refused_with_what_was_expected(tracker: Tracker, arguments: tuple[str, ...], said: str) -> None:
    answer = tracker("frontier", *arguments)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("release,concurrency,tok/s/gpu\n1.0,4,5\n", "expected a column tok_s_user or tpot_p50_ms"),
     ("release,concurrency,tok/s/gpu,tok/s/user\n1.0,4,5,-1\n", "line 2, column tok_s_user: expected a number above 0"),
     ("release,concurrency,tok/s/gpu,tok/s/user\n1.0,4,5,6\n", "expected points of two releases or more, found 1.0"),
     ("release,concurrency,tok/s/gpu,tok/s/user,repeat\n1.0,4,5,6,1\n1.0,4,5,6,1\n1.1,4,5,6,1\n",
      "line 3: expected each repeat once, found it in"),
     ("release,concurrency,tok/s/gpu,tpot_p50_ms,tpot_p50_us\n1.0,4,5,6,6000\n1.1,4,5,6,6000\n", "column tpot_p50_us"),
     ("release,concurrency,tok/s/gpu,tok/s/user\n1.0,4,,6\n1.1,4,5,6\n", "line 2: expected throughput per GPU"),
     ("release,concurrency,output_tok_s,tok/s/user\n1.0,4,5,6\n1.1,4,5,6\n", "label gpu_count")],
)  # fmt: skip
def test_a_malformed_file_is_refused_with_its_place(tracker: Tracker, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "sweep.csv"
    file.write_text(text, encoding="utf-8")
    answer = tracker("frontier", str(file))
    assert answer.code == 2
    assert said in answer.err


def test_a_column_of_another_measurement_does_not_tell_points_apart(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "sweep.csv"
    head = "release,concurrency,tok/s/gpu,tok/s/user,ttft_p50_ms"
    file.write_text(f"{head}\n1.0,4,900,180,100\n1.0,64,5600,80,300\n1.1,4,880,181,101\n1.1,64,5900,80,302\n", "utf-8")
    assert "not measured" not in tracker("frontier", str(file)).out
