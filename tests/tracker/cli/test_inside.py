"""series inside: the same runs by the version of what is inside their images."""

from __future__ import annotations

from pathlib import Path

from sqlmodel import select

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.store.catalog import save_contents
from tracker.store.engine import open_store
from tracker.store.tables import BuildRow


def test_runs_are_told_by_the_version_inside(home: Path, seeded: Seeded, tracker: Tracker):
    store = open_store(f"sqlite:///{home / 'tracker.db'}")
    with store.write() as session:
        for place, build in enumerate(session.exec(select(BuildRow.id)).all()):
            save_contents(session, build or 0, {"cuda": f"13.{place % 2}"})
    store.close()
    series = tracker("series", "list", "--json").data["items"][0]

    answer = tracker("series", "inside", series["fingerprint"], "cuda", "--json")
    assert answer.code == 0
    assert [place["version"] for place in answer.data["places"]] == ["13.0", "13.1"]
    assert sum(len(place["releases"]) for place in answer.data["places"]) == series["n_points"]
    shown = tracker("series", "inside", series["fingerprint"], "cuda")
    assert shown.out.splitlines()[0].split() == ["inside", "level", "from", "to", "runs", "releases"]
    assert "by the cuda inside" in shown.err


def test_a_component_that_no_image_names_is_an_error_with_those_it_names(seeded: Seeded, tracker: Tracker):
    series = tracker("series", "list", "--json").data["items"][0]["fingerprint"]
    answer = tracker("series", "inside", series, "cuda")
    assert answer.code == 2
    assert "no build of this series says which 'cuda' is inside; what they say: nothing" in answer.err
