"""What commands answer on an empty and on a seeded store."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded

LISTS = (
    "releases list",
    "suites list",
    "suites check",
    "runs list",
    "series list",
    "alerts list",
    "tokens list",
    "audit",
    "prune --dry-run",
)


@pytest.mark.parametrize("line", LISTS)
def test_a_list_is_items_and_next_on_an_empty_store(line: str, tracker: Tracker) -> None:
    answer = tracker(*line.split(), "--json")
    assert answer.code == 0
    assert {"items", "next"} <= answer.data.keys()


@pytest.mark.parametrize("line", ["releases list", "runs list", "series list", "alerts list"])
def test_a_list_has_items_on_a_seeded_store_and_a_line_for_each(line: str, seeded: Seeded, tracker: Tracker) -> None:
    items = tracker(*line.split(), "--json").data["items"]
    lines = tracker(*line.split()).out.splitlines()
    assert items
    assert len(lines) == len(items) + 1


def test_an_empty_store_says_what_to_do_next_on_the_side(tracker: Tracker) -> None:
    answer = tracker("releases", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "tracker releases check" in answer.err


def test_a_series_is_drawn_with_its_changes_and_why_releases_are_missing(seeded: Seeded, tracker: Tracker) -> None:
    out = tracker("series", "show", seeded.series[0]).out
    assert "▲ slower" in out
    assert "withdrawn by its publisher" in out
    assert out.index("1.26.0") < out.index("1.27.0")


def test_a_series_is_found_by_words_of_its_name(seeded: Seeded, tracker: Tracker) -> None:
    assert tracker("series", "show", "latency_p50_ms prefill 128", "--json").data["series"]["n_points"] > 3


def test_a_chart_is_written_as_a_picture(seeded: Seeded, tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "trend.svg"
    assert tracker("series", "show", seeded.series[0], "--chart", str(file)).code == 0
    assert file.read_text(encoding="utf-8").startswith("<svg")


def test_an_export_holds_every_measurement(seeded: Seeded, tracker: Tracker) -> None:
    rows = list(csv.DictReader(io.StringIO(tracker("series", "export", seeded.series[0]).out)))
    data = tracker("series", "export", seeded.series[0], "--format", "json").data["items"]
    detail = tracker("series", "show", seeded.series[0], "--json").data
    values = [value["value"] for point in detail["points"] for value in point["values"]]
    assert [row["value"] for row in data] == values
    assert [float(row["value"]) for row in rows] == values


def test_runs_and_alerts_are_found_by_the_end_of_their_id_that_lists_show(seeded: Seeded, tracker: Tracker) -> None:
    for group, one in (("runs", seeded.runs["1.26.0"][0]), ("alerts", seeded.alerts[0])):
        shown = one[-12:]
        assert shown in tracker(group, "list", "--limit", "500").out
        assert one in tracker(group, "show", shown, "--json").out


def test_the_log_of_a_run_is_printed(seeded: Seeded, tracker: Tracker) -> None:
    run = seeded.runs["1.26.0"][0]
    said = tracker("runs", "logs", run, "--json").data
    assert said["run"] == run
    assert tracker("runs", "logs", "-f", run).out.strip() == (said["text"] or "").strip()


@pytest.mark.parametrize(("form", "sign"), [("md", "## "), ("html", "<section"), ("text", "REGRESSION"), ("json", "{")])
def test_a_summary_comes_in_every_form(form: str, sign: str, seeded: Seeded, tracker: Tracker) -> None:
    answer = tracker("summary", "1.27.0", "--against", "1.26.0", "--format", form)
    assert answer.code == 0
    assert answer.out.startswith(sign)


def test_compare_judges_the_second_release_by_the_first(seeded: Seeded, tracker: Tracker) -> None:
    one = tracker("compare", "1.26.0", "1.27.0", "--json").data["items"][0]
    assert (one["release"]["identity"], one["against"]["identity"], one["answer"]) == ("1.27.0", "1.26.0", "no")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("compare 1.26.0 1.27.0", 0),
        ("compare 1.26.0 1.27.0 --fail-on regression", 1),
        ("compare 1.27.0 1.30.0 --fail-on regression", 0),
        ("alerts list --fail-on regression", 1),
        ("alerts list --state wont_fix --fail-on any", 0),
    ],
)
def test_bad_news_is_exit_code_1_only_where_asked(line: str, code: int, seeded: Seeded, tracker: Tracker) -> None:
    assert tracker(*line.split()).code == code


def test_tags_are_put_in_order(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "tags.txt"
    file.write_text("26.02-py3\n25.12-py3\nlatest\n", encoding="utf-8")
    answer = tracker("releases", "order", "--component", "tensorrt-container", str(file), "--json")
    assert answer.data["order"] == [["25.12-py3"], ["26.02-py3"]]
    assert [one["tag"] for one in answer.data["excluded"]] == ["latest"]
    assert set(answer.data["tags"]) == {"26.02-py3", "25.12-py3", "latest"}
    assert "26.02" in tracker("releases", "order", str(file)).out


def test_a_plan_says_how_much_work_a_release_is(seeded: Seeded, tracker: Tracker) -> None:
    plan = tracker("suites", "plan", "onnxruntime", "--json").data
    assert plan["runs_per_release"] == len(plan["configs"]) * plan["repeats"]
    assert {"1.24.0", "1.25.1"} <= {one["release"] for one in plan["releases"] if one["obstacle"]}


def test_a_release_says_how_its_runs_stand_and_why_one_failed(seeded: Seeded, tracker: Tracker) -> None:
    said = tracker("releases", "show", "1.31.0")
    assert "runs: 5 failed" in said.err
    assert "the newest that failed: could not be installed: no matching distribution for numpy" in said.err
    data = tracker("releases", "show", "1.31.0", "--json").data
    assert (data["runs"]["failed"], data["runs"]["done"]) == (5, 0)
    assert data["failure"].startswith("could not be installed")
