"""Releases that recordings hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from jobs.sources import recorded


def test_a_release_has_the_day_that_its_recording_states_or_none(tmp_path: Path) -> None:
    lines = [
        {"component": "thing", "version": "1.0", "published_at": "2026-01-02T09:00:00+00:00"},
        {"component": "thing", "version": "1.1"},
        {"component": "other", "version": "2.0", "published_at": "2026-01-03T09:00:00+00:00"},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    builds = recorded.create({"path": str(tmp_path), "component": "thing"}).list_builds().builds
    assert {one.tag: one.published_at for one in builds} == {"1.0": datetime(2026, 1, 2, 9, tzinfo=UTC), "1.1": None}
