from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.charts import render, trend_spec
from alerts.errors import ChartFailed
from alerts.trend import MissingRelease, Trend, TrendChange, TrendPoint
from alerts.wording import Change, Direction
from tests.alerts.samples import make_trend

SIZES = [0, 1, 4, 50]


def rows(spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return list(spec["datasets"][name])


@pytest.mark.parametrize("count", SIZES)
def test_the_specification_is_valid_vega_lite(count: int) -> None:
    from altair.vegalite.v6.schema.core import TopLevelSpec

    trend = make_trend(count, missing=(1,) if count > 3 else ())
    spec = trend_spec(trend)
    few = {name: found[:1] for name, found in spec.get("datasets", {}).items()}
    TopLevelSpec.from_dict(spec | ({"datasets": few} if few else {}), validate=True)


def test_releases_stand_in_release_order_and_all_have_a_place() -> None:
    spec = trend_spec(make_trend(12, missing=(4, 5)))
    assert [row["order"] for row in rows(spec, "points")] == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert [row["release"] for row in rows(spec, "missing")] == ["1.4.0", "1.5.0"]
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == list(range(12))


def test_points_given_out_of_order_are_drawn_in_order() -> None:
    trend = make_trend(5)
    turned = make_trend(5, points=tuple(reversed(trend.points)))
    assert trend_spec(turned) == trend_spec(trend)


def test_the_line_breaks_at_a_missing_release() -> None:
    stretches = [row["stretch"] for row in rows(trend_spec(make_trend(6, missing=(2,))), "points")]
    assert stretches == [0, 0, 1, 1, 1]


def test_a_change_point_is_told_by_arrow_figure_and_word() -> None:
    (change,) = rows(trend_spec(make_trend(6)), "changes")
    assert change["text"] == "▲ +14.3 % regressed"
    assert change["at"] == 2.5


def test_a_change_that_is_not_confirmed_carries_a_question_mark() -> None:
    change = TrendChange(order=3, verdict=Change.IMPROVED, effect_ratio=-0.1, confirmed=False)
    (row,) = rows(trend_spec(make_trend(6, changes=(change,))), "changes")
    assert row["text"] == "▼ -10.0 % improved?"


def test_levels_step_at_the_change_points() -> None:
    levels = rows(trend_spec(make_trend(6)), "levels")
    assert [(row["from"], row["to"], row["level"]) for row in levels] == [(-0.5, 2.5, 5.6), (2.5, 5.5, 6.4)]


def test_labels_of_near_changes_do_not_cover_one_another() -> None:
    changes = tuple(TrendChange(order=order, verdict=Change.REGRESSED, effect_ratio=0.1) for order in (10, 11, 12, 20))
    assert [row["row"] for row in rows(trend_spec(make_trend(25, changes=changes)), "changes")] == [0, 1, 2, 0]


def test_of_many_releases_the_newest_and_those_with_a_change_keep_their_label() -> None:
    shown = trend_spec(make_trend(120))["layer"][0]["encoding"]["x"]["axis"]["values"]
    assert {60, 119} <= set(shown)
    assert len(shown) <= 40


@pytest.mark.parametrize(
    ("direction", "words"), [(Direction.LOWER, "lower is better"), (Direction.HIGHER, "higher is better")]
)
def test_the_axis_says_which_way_is_better_and_the_unit(direction: Direction, words: str) -> None:
    title = trend_spec(make_trend(2, direction=direction))["layer"][0]["encoding"]["y"]["title"]
    assert words in title
    assert "ms" in title


def test_a_neutral_metric_claims_no_better() -> None:
    assert "better" not in json.dumps(trend_spec(make_trend(2, direction=Direction.NEUTRAL)))


def test_no_measurement_is_said_in_words() -> None:
    empty = make_trend(3, missing=(0, 1, 2))
    assert "No measurement yet (3 releases known)" in json.dumps(trend_spec(empty))


def test_a_page_gets_its_width_from_its_element_and_a_picture_a_fixed_one() -> None:
    assert trend_spec(make_trend(3))["width"] == "container"
    assert trend_spec(make_trend(3), width=500)["width"] == 500


def test_dark_and_light_differ_in_style_only() -> None:
    light, dark = trend_spec(make_trend(5)), trend_spec(make_trend(5), dark=True)
    assert light["config"] != dark["config"]
    assert light["datasets"] == dark["datasets"]


def test_points_with_a_flag_are_hollow_and_named() -> None:
    point = TrendPoint(release="1.0", order=0, level=5.0, flags=("provisional",))
    spec = trend_spec(Trend(title="t", unit="ms", direction=Direction.LOWER, points=(point,)))
    assert rows(spec, "points")[0]["hollow"] is True
    assert "hollow" in spec["title"]["subtitle"][0]


@given(st.text(max_size=30), st.floats(-1e12, 1e12), st.integers(1, 4))
@settings(max_examples=30)
def test_any_name_and_any_finite_level_make_a_specification(name: str, level: float, count: int) -> None:
    points = tuple(TrendPoint(release=name, order=order, level=level) for order in range(count))
    spec = trend_spec(Trend(title=name, unit="ms", direction=Direction.LOWER, points=points))
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low < level < high or low <= level < high
    json.dumps(spec, allow_nan=False)


def test_two_releases_in_one_place_are_refused() -> None:
    with pytest.raises(ValueError, match="own place"):
        make_trend(3, missing=(0,), points=make_trend(3).points)


def test_a_change_where_nothing_was_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="measured releases"):
        make_trend(3, changes=(TrendChange(order=7, verdict=Change.CHANGED),))


def test_a_level_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        TrendPoint(release="1.0", order=0, level=float("inf"))


def test_missing_releases_say_why() -> None:
    gap = MissingRelease(release="1.1.0", order=1, reason="no fitting wheel")
    points = tuple(point for point in make_trend(3).points if point.order != 1)
    spec = trend_spec(Trend(title="t", unit="ms", direction=Direction.LOWER, points=points, missing=(gap,)))
    assert rows(spec, "missing") == [{"order": 1, "release": "1.1.0", "reason": "no fitting wheel"}]


def test_a_picture_is_a_png_of_the_asked_size() -> None:
    picture = render(trend_spec(make_trend(6), width=400), "png", scale=1.0)
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, _ = struct.unpack(">II", picture[16:24])
    assert 400 < width < 520


def test_a_picture_of_a_pages_chart_gets_a_width() -> None:
    svg = render(trend_spec(make_trend(6, missing=(1,))), "svg")
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) > 700
    assert b"regressed" in svg


def test_a_picture_that_cannot_be_drawn_says_why() -> None:
    with pytest.raises(ChartFailed, match="exit code 1"):
        render({"mark": 3, "width": 10})


def test_drawing_stops_at_the_time_limit() -> None:
    with pytest.raises(ChartFailed, match=r"longer than 0\.01 s"):
        render(trend_spec(make_trend(3)), timeout_s=0.01)


def test_charts_load_without_the_heavy_libraries() -> None:
    heavy = ("altair", "vl_convert", "pandas", "numpy", "slack_sdk", "httpx")
    code = f"import sys, alerts.charts, alerts.plugins; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
