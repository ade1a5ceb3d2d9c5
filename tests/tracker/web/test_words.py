"""Numbers, times and small pictures as people read them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracker.seed import NOW
from tracker.store.views.levels import Level, ReleaseName
from tracker.store.views.releases import ReleaseItem
from tracker.store.views.series import SeriesItem
from tracker.web.charts import ScriptBundle
from tracker.web.sparklines import HEIGHT, WIDTH, draw_sparkline
from tracker.web.wording import describe_release, draw_mark, format_age, format_duration, format_size, format_time

RELEASE = ReleaseItem(
    component="x",
    identity="1",
    display="1",
    track="stable",
    published_at=None,
    first_seen_at=NOW,
    historic=False,
    no_place_reason=None,
    obstacle=None,
    runs={},
    verdicts={},
    changes={},
)
SERIES = SeriesItem(
    fingerprint="f",
    name="n",
    component="x",
    suite="x",
    metric="m",
    unit="ms",
    direction="lower",
    gated=True,
    hardware="h",
    variant="",
    labels={},
    n_points=0,
)


@pytest.mark.parametrize(
    ("runs", "verdicts", "tone", "words"),
    [
        ({}, {}, "unknown", "not measured yet"),
        ({"queued": 2, "done": 3}, {}, "busy", "being measured: 3 of 5 runs finished"),
        ({"failed": 1}, {}, "bad", "could not be measured: 1 run failed"),
        ({"cancelled": 1}, {}, "unknown", "its runs were cancelled"),
        ({"queued": 5}, {}, "unknown", "waits to be measured: 5 runs queued"),
        ({"done": 5}, {}, "neutral", "measured; no gated series was compared"),
        ({"done": 5, "failed": 1}, {"regressed": 1, "same": 2}, "bad", "1 of 3 gated series regressed"),
        ({"done": 5}, {"improved": 1, "same": 2}, "good", "1 of 3 gated series improved, none regressed"),
        ({"done": 5}, {"noisy": 1, "same": 2}, "unknown", "1 of 3 gated series without an answer"),
        ({"done": 5}, {"noisy": 1, "improved": 2}, "unknown", "1 of 3 gated series without an answer, 2 improved"),
        ({"done": 5}, {"same": 3}, "neutral", "no change in 3 gated series"),
    ],
)
def test_a_release_stands_as_its_runs_and_verdicts_say(
    runs: dict[str, int], verdicts: dict[str, int], tone: str, words: str
) -> None:
    assert describe_release(replace(RELEASE, runs=runs, verdicts=verdicts)) == (tone, words)


def test_an_unmeasured_release_says_what_is_in_the_way() -> None:
    assert describe_release(replace(RELEASE, obstacle="no wheel")) == ("unknown", "no wheel")
    assert describe_release(None) == ("neutral", "no release known yet")


@pytest.mark.parametrize(
    ("verdict", "effect", "mark"),
    [
        ("regressed", 0.15, "▲"),
        ("regressed", -0.15, "▼"),
        ("improved", -0.1, "▼"),
        ("same", 0.001, "="),
        ("noisy", 0.1, "?"),
        ("missing", None, "×"),
        ("changed", None, "="),
    ],
)
def test_an_arrow_says_what_the_value_did(verdict: str, effect: float | None, mark: str) -> None:
    assert draw_mark(verdict, effect) == mark


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "–"), (8.44, "8.4 s"), (42.2, "42 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_short(seconds: float | None, words: str) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(minutes=12), "12 min ago"),
        (timedelta(hours=47), "1 d ago"),
        (timedelta(days=40), "2026-10-22"),
        (timedelta(days=-1), "2026-12-02 17:00:00 UTC"),
    ],
)
def test_ages_are_short_and_old_ones_are_dates(ago: timedelta, words: str) -> None:
    assert format_age(NOW - ago, NOW) == words


def test_what_is_not_known_is_a_dash() -> None:
    assert (format_time(None), format_size(None), format_age(None, NOW)) == ("–", "–", "never")
    assert (format_size(640), format_size(18_400_000), format_size(3_200_000_000)) == ("640 B", "18.4 MB", "3.2 GB")


@given(st.lists(st.floats(min_value=-1e12, max_value=1e12), min_size=2, max_size=80))
def test_a_small_trend_stays_in_its_frame(values: list[float]) -> None:
    trend = tuple(
        Level(release=ReleaseName(identity=str(place), display="<b>"), level=value, n=1)
        for place, value in enumerate(values)
    )
    picture = draw_sparkline(replace(SERIES, trend=trend))
    assert "<b>" not in picture
    points = picture.split('points="')[1].split('"')[0].split()
    assert len(points) == min(60, len(values))
    for point in points:
        x, y = map(float, point.split(","))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT


def test_one_level_is_no_trend() -> None:
    level = Level(release=ReleaseName(identity="1", display="1"), level=5.0, n=1)
    assert draw_sparkline(replace(SERIES, trend=(level,))) == ""


def test_scripts_that_cannot_be_kept_leave_pages_with_pictures(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    bundle = ScriptBundle(tmp_path / "cache")
    bundle.build()
    assert not bundle.path.exists()
