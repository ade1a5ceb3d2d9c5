"""The shipped recordings play through the whole chain, as `tracker demo` does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.suite import recorded_suites
from tracker.app import App
from tracker.pipeline.analyze import analyze
from tracker.pipeline.execute import advance
from tracker.pipeline.ingest import ingest
from tracker.pipeline.plan import plan
from tracker.pipeline.recordings import list_recordings
from tracker.pipeline.watch import watch
from tracker.settings import load_settings
from tracker.store.views.series import list_series

SUITE = "onnxruntime-recorded"
VERSIONS = ("1.26.0", "1.28.0", "1.30.0", "1.32.0")


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    (recordings / f"{SUITE}.toml").write_text((recorded_suites() / f"{SUITE}.toml").read_text())
    lines = (recorded_suites() / "onnxruntime.jsonl").read_text().splitlines()
    kept = [line for line in lines if json.loads(line)["version"] in VERSIONS and json.loads(line)["repeat"] <= 3]
    (recordings / "some.jsonl").write_text("\n".join(kept))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    return App(load_settings(recordings=recordings, suites=[SUITE], suite_folders=[recordings]))


def test_recorded_results_become_series_on_the_hardware_they_were_taken_on(demo: App):
    watch(demo.context, SUITE, force=True)
    assert plan(demo.context, SUITE) == len(VERSIONS) * 5
    while advance(demo.context):
        pass
    ingest(demo.context)
    analyze(demo.context)

    with demo.store.read() as session:
        items = list_series(session, gated=True).items
    assert {item.hardware for item in items} == {"amd-epyc-2-cores"}
    assert [[level.n for level in item.trend] for item in items] == [[3] * len(VERSIONS)] * 2
    assert [level.release.identity for level in items[0].trend] == list(VERSIONS)
    assert demo.daemon_state()["demo"] is True

    recorded = [json.loads(line) for line in list_recordings(demo.context, SUITE)]
    assert {(one["version"], one["repeat"]) for one in recorded} == {(v, r) for v in VERSIONS for r in (1, 2, 3)}
    demo.close()
