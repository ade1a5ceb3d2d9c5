"""`tracker detect` on files as people have them: right ones are judged, wrong ones are told where and what."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from baselines.detection.detectors import DETECTORS
from tests.tracker.cli.conftest import Tracker
from tracker.cli import detect
from tracker.cli.csv_series import order_labels

LEVELS = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0, 12.1, 12.0]


def rows_of(levels: list[float], name: str = "1.{}.0") -> str:
    lines = [
        f"{name.format(place)},{level * factor:.3f}"
        for place, level in enumerate(levels, 1)
        for factor in (0.999, 1.0, 1.001)
    ]
    return "\n".join(["release,value", *lines]) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "series.csv"
    path.write_text(rows_of(LEVELS), encoding="utf-8")
    return path


def test_a_step_is_told_with_release_size_and_verdict(tracker: Tracker, file: Path) -> None:
    answer = tracker("detect", str(file))
    assert answer.code == 0
    assert answer.out.startswith("value, tracker: 1 change; the last at 1.7.0: regressed +")
    assert "by version" in answer.out
    assert "higher" not in answer.out
    assert "improved" in tracker("detect", str(file), "--direction", "higher").out


def test_programs_get_json(tracker: Tracker, file: Path) -> None:
    data = tracker("detect", str(file), "--json", "--against", "ruptures-kernel").data
    assert [item["release"] for item in data["items"]] == ["1.7.0"]
    assert data["against"]["detector"] == "ruptures-kernel"


def test_a_detect_needs_no_service_folder(tracker: Tracker, file: Path, home: Path) -> None:
    assert tracker("detect", str(file)).code == 0
    assert not home.exists()


def test_standard_input_is_read(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(rows_of(LEVELS).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", text)
    assert "1.7.0" in tracker("detect", "-").out


def test_chart_and_report_are_written(tracker: Tracker, file: Path, tmp_path: Path) -> None:
    chart, report = tmp_path / "chart.png", tmp_path / "report.html"
    answer = tracker(
        "detect", str(file), "--chart", str(chart), "--against", "otava-like-t-test", "--report", str(report)
    )
    assert answer.code == 0
    assert chart.read_bytes().startswith(b"\x89PNG")
    page = report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "They agree." in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; expected a line of column names"),
        (b"\x89PNG\x00\x01", "is not UTF-8 text (byte 0)"),
        (b"release,value\n1.0,\x00\n", "is a binary file"),
        (b"release,value\n", "has column names and no rows"),
        (b"release,value\n1.0,5\n1.1,fast\n", "line 3, column value: expected a number, found 'fast'"),
        (b"release,value\n1.0,inf\n", "line 2, column value: expected a finite number, found 'inf'"),
        (b'release,value\n1.0,"5,4"\n', "line 2, column value: '5,4' has a decimal comma"),
        (
            b"release;value\n1.0;1.234\n1.1;12,5\n",
            "line 2, column value: expected one decimal sign throughout, found '1.234'",
        ),
        (b"release;value\n1.0;1,234\n1.1;2,345\n", "line 2, column value: '1,234' may be 1.234 or 1234"),
        (b"release,value,Value\n1.0,5,6\n", "line 1: expected different column names, found twice: value"),
        (b"name,value\n1.0,5\n", "line 1: expected a column named one of release, version"),
        (b"release,ttft,itl\n1.0,5,6\n", "which column is the value? name it with --metric; found ttft, itl"),
        (b"release,value\n1.0\n", "line 2: expected 2 columns or more, found 1"),
        (b"release,value\n,5\n", "line 2: the release is empty"),
    ],
)
def test_bad_input_says_where_and_what_was_expected(
    content: bytes, said: str, tracker: Tracker, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    answer = tracker("detect", str(path))
    assert answer.code == 2
    assert said in answer.err
    assert answer.out == ""


def test_empty_cells_and_nan_are_releases_not_measured(tracker: Tracker, file: Path) -> None:
    file.write_text(rows_of(LEVELS) + "1.13.0,\n1.14.0,NaN\n", encoding="utf-8")
    answer = tracker("detect", str(file), "--json")
    assert answer.data["releases"] == 14
    assert answer.data["not_measured"] == 2


def test_semicolons_may_come_with_decimal_commas(tracker: Tracker, file: Path) -> None:
    file.write_text(rows_of(LEVELS).replace(",", ";").replace(".999", ",999"), encoding="utf-8")
    assert tracker("detect", str(file)).code == 0


@pytest.mark.parametrize("arguments", [("--detector", "x"), ("--direction", "x"), ("--report", "x.html")])
def test_wrong_options_are_told(arguments: tuple[str, str], tracker: Tracker, file: Path) -> None:
    assert tracker("detect", str(file), *arguments).code == 2


def test_few_releases_are_no_error(tracker: Tracker, file: Path) -> None:
    file.write_text("release,value\n1.0,5\n", encoding="utf-8")
    assert "no change found in 1 measured release (at least four are needed)" in tracker("detect", str(file)).out


def test_releases_stand_by_version_by_time_or_as_they_came() -> None:
    assert order_labels(["1.10.0", "1.9.0"]) == ([["1.9.0"], ["1.10.0"]], "by version")
    assert order_labels(["2026-02-01", "2026-01-31"]) == ([["2026-01-31"], ["2026-02-01"]], "by time")
    assert order_labels(["second thing", "first thing"])[1] == "as in the file"


def test_the_help_names_every_detector() -> None:
    assert tuple(DETECTORS) == detect.DETECTORS
