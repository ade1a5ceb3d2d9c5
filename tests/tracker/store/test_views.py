"""The views: medians, order, counts and what is left out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from tests.tracker.seed import NOW, VERSIONS, Seeded, Shape, copy_store, make_template, seed
from tracker.errors import UserError
from tracker.store.engine import Store
from tracker.store.tables import BuildRow, ChangePointRow, MeasurementRow, ReleaseRow, RunRow
from tracker.store.views import alerts, overview, releases, runs, series
from tracker.store.views.names import name_series
from tracker.store.views.plain import defuse, match_words, read_cursor, slice_page, to_plain


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seeded]:
    folder = tmp_path_factory.mktemp("template")
    seeded = make_template(folder)
    assert seeded is not None
    return folder, seeded


@pytest.fixture
def seeded(template: tuple[Path, Seeded]) -> Seeded:
    return template[1]


@pytest.fixture
def store(template: tuple[Path, Seeded], tmp_path: Path) -> Iterator[Store]:
    store = copy_store(template[0], tmp_path)
    yield store
    store.close()


def test_a_level_is_the_median_of_the_repeats_on_every_view(store: Store, seeded: Seeded) -> None:
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
        by_name = {item.fingerprint: item for item in series.list_series(session).items}
    assert detail is not None
    assert {point.n for point in detail.points} == {0, 2, 5}
    for point in detail.points:
        if point.n:
            assert point.level == median(value.value for value in point.values)
    assert by_name[seeded.series[0]].trend == detail.series.trend


def test_components_are_counted_apart(store: Store, tmp_path: Path) -> None:
    seed(store, tmp_path, Shape(component="llamacpp", model="llama", versions=("2026.1", "2026.2"), scenarios=1))
    with store.read() as session:
        views = {view.slug: view for view in overview.show_overview(session).components}
        listed = releases.list_releases(session, component="llamacpp").items
    assert (views["llamacpp"].n_releases, views["llamacpp"].n_series, len(views["llamacpp"].series)) == (2, 2, 1)
    assert (views["onnxruntime"].n_releases, views["onnxruntime"].n_series) == (11, 6)
    assert [one.identity for one in listed] == ["2026.2", "2026.1"]
    assert listed[0].runs == {"done": 5}


def test_releases_stand_in_their_order_whatever_their_ids(store: Store, seeded: Seeded) -> None:
    keys = [f"{place:06d}" for place in range(len(VERSIONS))]
    random.Random(3).shuffle(keys)
    with store.write() as session:
        for version, key in zip(VERSIONS, keys, strict=True):
            session.execute(update(ReleaseRow).where(col(ReleaseRow.identity) == version).values(sort_key=key))
    expected = [version for _, version in sorted(zip(keys, VERSIONS, strict=True))]
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
        listed = releases.list_releases(session).items
    assert detail is not None
    shown = [point.release.identity for point in detail.points]
    assert shown == expected[len(expected) - len(shown) :]
    assert [one.identity for one in listed] == expected[::-1]
    measured = [point.release.identity for point in detail.points if point.n]
    assert [level.release.identity for level in detail.series.trend] == measured


def test_the_axis_begins_at_the_first_release_that_was_tried(store: Store, seeded: Seeded) -> None:
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
    assert detail is not None
    first = detail.points[0]
    assert first.n or (first.missing or "").startswith("failed")
    assert [p.release.identity for p in detail.points] == list(VERSIONS)[-len(detail.points) :]


def test_a_superseded_build_does_not_count(store: Store, seeded: Seeded) -> None:
    with store.write() as session:
        release = session.exec(select(ReleaseRow).where(ReleaseRow.identity == "1.28.0")).one()
        session.execute(update(BuildRow).where(col(BuildRow.release_id) == release.id).values(superseded_at=NOW))
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
        item = series.list_series(session, text="isl 128", gated=True).items[0]
    assert detail is not None
    assert next(point for point in detail.points if point.release.identity == "1.28.0").level is None
    assert "1.28.0" not in [level.release.identity for level in item.trend]


def test_a_release_without_a_place_is_on_no_axis_but_in_the_list(store: Store, seeded: Seeded) -> None:
    with store.write() as session:
        session.execute(
            update(ReleaseRow)
            .where(col(ReleaseRow.identity) == "1.28.0")
            .values(sort_key=None, no_place_reason="a moving tag")
        )
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
        listed = releases.list_releases(session).items
        front = overview.show_overview(session)
    assert detail is not None
    assert "1.28.0" not in [point.release.identity for point in detail.points]
    assert listed[-1].identity == "1.28.0"
    assert listed[-1].no_place_reason == "a moving tag"
    assert front.components[0].newest is not None
    assert front.components[0].newest.identity == "1.32.0"


def test_a_withdrawn_change_is_not_shown(store: Store, seeded: Seeded) -> None:
    with store.write() as session:
        session.execute(update(ChangePointRow).values(withdrawn_at=NOW))
    with store.read() as session:
        detail = series.show_series(session, seeded.series[0])
        told = alerts.show_alert(session, seeded.alerts[0])
    assert detail is not None
    assert detail.changes == ()
    assert told is not None
    assert all(one.withdrawn for one in told.changes)


def test_points_count_releases_not_measurements(store: Store, seeded: Seeded) -> None:
    with store.write() as session:
        rows = session.exec(select(MeasurementRow).join(RunRow, col(RunRow.id) == MeasurementRow.run_id)).all()
        for row in rows:
            if row.series_id == 1 and row.release_id % 2:
                session.delete(row)
        left = {row.release_id for row in rows if row.series_id == 1 and not row.release_id % 2}
    with store.read() as session:
        counts = {item.fingerprint: item.n_points for item in series.list_series(session).items}
    assert counts[seeded.series[0]] == len(left)


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"failed": "x", "queued": ""}, "queued"),
        ({"failed": "x", "running": ""}, "being measured"),
        ({"done": "", "failed": "x"}, "its runs ended well but gave no valid value of this metric"),
        ({"failed": "out of memory"}, "failed: out of memory"),
        ({"cancelled": ""}, "cancelled"),
        ({}, "not measured"),
    ],
)
def test_the_most_hopeful_state_says_why_there_is_no_value(states: dict[str, str], words: str) -> None:
    assert series.explain_states(states) == words


def test_progress_counts_the_first_set_and_estimates_it(store: Store, seeded: Seeded) -> None:
    with store.write() as session:
        session.execute(update(RunRow).where(col(RunRow.state) == "queued").values(priority=1))
    with store.read() as session:
        progress = overview.show_overview(session).components[0].progress
    assert progress.runs == {"done": 37, "failed": 5, "queued": 2, "running": 1}
    assert (progress.left, progress.total, progress.first_left) == (3, 45, 1)
    assert progress.first_left_s == pytest.approx(8.4)


def test_searching_takes_percent_signs_as_they_are(store: Store, seeded: Seeded) -> None:
    with store.read() as session:
        assert runs.list_runs(session, text="%").items == ()
        assert len(runs.list_runs(session, text="1.28 bench").items) == 5
        assert series.list_series(session, text="PREFILL").items


def test_runs_of_an_unknown_state_are_refused_in_words(store: Store) -> None:
    with store.read() as session, pytest.raises(UserError, match="expected one of queued, running"):
        runs.list_runs(session, state="gone")


def test_unknown_names_give_none(store: Store, seeded: Seeded) -> None:
    with store.read() as session:
        assert series.show_series(session, "nope") is None
        assert runs.show_run(session, "nope") is None
        assert alerts.show_alert(session, "nope") is None
        assert releases.show_release(session, "onnxruntime", "9") is None


def test_every_view_survives_json(store: Store, seeded: Seeded) -> None:
    with store.read() as session:
        views = (
            overview.show_overview(session),
            series.list_series(session),
            series.show_series(session, seeded.series[0]),
            runs.show_run(session, seeded.runs["1.28.0"][0]),
            releases.show_release(session, "onnxruntime", "1.27.0"),
            alerts.show_alert(session, seeded.alerts[0]),
        )
    for view in views:
        plain = to_plain(view)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_cursors_and_limits_are_checked() -> None:
    assert read_cursor(None) == 0
    assert slice_page([1, 2, 3], 2, None).next == "2"
    assert slice_page([1, 2, 3], 2, "2").items == (3,)
    for wrong in ("-1", "x", "9" * 40, "²"):
        with pytest.raises(UserError, match="cursor"):
            read_cursor(wrong)
    with pytest.raises(UserError, match="limit"):
        slice_page([1], 0, None)
    assert match_words(None, []) == []


def test_a_name_tells_the_scenario_first_and_leaves_the_quiet_labels_out() -> None:
    labels = {"isl": 128, "tool": "x", "model": "tiny", "scenario": "prefill", "threads": 1, "request_rate": 2.5}
    assert name_series(labels, "cu129") == "prefill, tiny, isl 128, request rate 2.5, cu129"
    assert name_series({}) == ""


def test_no_text_of_an_export_is_a_formula_to_a_spreadsheet_and_numbers_stay_numbers() -> None:
    assert [defuse(cell) for cell in ("=1+1", "+1", "-1", "@x", "\t=1", "1.0")] == [
        "'=1+1", "'+1", "'-1", "'@x", "'\t=1", "1.0"
    ]  # fmt: skip
    assert [defuse(cell) for cell in (-1.5, None, True)] == [-1.5, None, True]
