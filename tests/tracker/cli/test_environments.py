"""Where a run was measured, as the command line shows it, and what differs between two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.store.engine import open_store
from tracker.store.tables import OutputRow
from tracker.store.views.runs import show_run

RECORD: dict[str, Any] = {
    "schema": 2,
    "host": {
        "cpu_model": "Example CPU",
        "kernel": "6.1.0",
        "gpus": [
            {
                "product": "NVIDIA Example A",
                "driver": "575.57.08",
                "memory_bytes": 96_000_000_000,
                "power_limit_w": 700.0,
                "state": {"temperature_c": 41.0, "held_down_by": ["gpu_idle"]},
            }
        ]
        * 2,
        "gpu_links": {"NV18": 1},
    },
    "container": {"inside": ["docker"]},
    "packages": ["torch==2.9.0", "numpy==1.26.4"],
    "software": {"libraries": [{"name": "torch", "version": "2.9.0", "source": "pip torch"}]},
}


def capture(home: Path, run: str, record: dict[str, Any]) -> None:
    """Write what an attempt of the run captured, as its executor would have left it."""
    store = open_store(f"sqlite:///{home / 'tracker.db'}")
    try:
        with store.read() as session:
            detail = show_run(session, run)
        assert detail is not None
        key, number = detail.attempts[-1].key, int(detail.attempts[-1].key.split("-")[1])
        text = json.dumps(record)
        path = f"attempts/{key}/environment.json"
        (home / path).write_text(text)
        row = OutputRow(
            attempt_id=number, kind="environment", name="environment.json", path=path, size_bytes=len(text), sha256="0"
        )
        with store.write() as session:
            session.add(row)
    finally:
        store.close()


def test_a_run_shows_its_gpus_and_its_bill_of_materials(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    run = seeded.runs["1.28.0"][0]
    capture(home, run, RECORD)
    out = tracker("runs", "show", run).out
    assert "  host: Example CPU, kernel 6.1.0, in docker\n" in out
    assert "  gpu: 2x NVIDIA Example A, memory 96 GB, driver 575.57.08, power limit W 700.0\n" in out
    assert "  gpu: 1: 41.0 C, held down by gpu_idle, as it started\n" in out
    assert "  links: NV18 1\n" in out
    assert "  software: torch 2.9.0\n" in out
    assert tracker("runs", "show", run, "--json").data["attempts"][0]["environment"] == RECORD


def test_two_runs_are_compared_by_where_they_were_measured(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    one, two = seeded.runs["1.28.0"][0], seeded.runs["1.29.0"][0]
    capture(home, one, RECORD)
    capture(home, two, {**RECORD, "packages": ["torch==2.9.1", "numpy==1.26.4"]})
    difference = {"part": "packages", "name": "torch", "before": "2.9.0", "after": "2.9.1"}
    assert tracker("runs", "diff", one, two, "--json").data["items"] == [difference]
    assert tracker("runs", "diff", one, two).out.split() == [
        *("part", "what", "before", "after"),
        *("packages", "torch", "2.9.0", "2.9.1"),
    ]
    same = tracker("runs", "diff", one, one)
    assert (same.code, same.out) == (0, "")
    assert "nothing differs" in same.err


@pytest.mark.parametrize("release", ["1.31.0"])
def test_a_run_that_captured_nothing_says_so(seeded: Seeded, tracker: Tracker, release: str) -> None:
    answer = tracker("runs", "diff", seeded.runs[release][0], seeded.runs["1.28.0"][0])
    assert answer.code == 2
    assert "no captured environment" in answer.err
