"""How long the first set of runs may still take."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tracker.cli.estimate import FirstSet, Pace
from tracker.pipeline.plan import PRIORITY_BACKFILL, PRIORITY_FIRST, PRIORITY_REQUESTED
from tracker.store.views.levels import ReleaseName
from tracker.store.views.runs import RunItem

START = datetime(2026, 12, 1, 17, tzinfo=UTC)
SAID = {"tiny": 2.0}


def make_run(name: str, release: str, state: str = "queued", priority: int = PRIORITY_FIRST) -> RunItem:
    """Return a run as lists show it."""
    return RunItem(
        id=name,
        state=state,
        reason="",
        component="tiny",
        release=ReleaseName(identity=release, display=release),
        suite="tiny",
        config="none",
        hardware="cpu",
        host=None,
        repeat=1,
        priority=priority,
        requested_by=None,
        attempts=0,
        cancel_requested_by=None,
        created_at=START,
        started_at=None,
        finished_at=None,
        duration_s=None,
    )


RUNS = [make_run(f"{release}-{repeat}", release) for repeat in (1, 2, 3) for release in ("1.0", "1.1")]


def with_states(**states: str) -> FirstSet:
    """Return the set with some runs, named as `r1_0_1`, in other states."""
    named = {name.removeprefix("r").replace("_", ".", 1).replace("_", "-"): state for name, state in states.items()}
    return FirstSet.of([replace(run, state=named.get(run.id, run.state)) for run in RUNS])


def test_before_anything_has_ended_the_suite_is_believed() -> None:
    assert Pace().estimate_s(with_states(), SAID) == 12.0
    assert Pace().estimate_s(with_states(), {}) is None


def test_set_up_is_counted_once_for_each_release() -> None:
    pace = Pace()
    pace.see(with_states(r1_0_1="running"), START)
    pace.see(with_states(r1_0_1="done", r1_1_1="running"), START + timedelta(seconds=20))
    left = with_states(r1_0_1="done", r1_1_1="running")
    assert pace.estimate_s(left, SAID) == 20.0 + 4 * 2.0


def test_later_runs_are_expected_to_take_what_such_runs_took() -> None:
    pace = Pace()
    first = {"r1_0_1": "done", "r1_1_1": "done"}
    pace.see(with_states(**first, r1_0_2="running"), START)
    done = with_states(**first, r1_0_2="done")
    pace.see(done, START + timedelta(seconds=5))
    assert pace.estimate_s(done, SAID) == 3 * 5.0


def test_background_runs_are_no_part_of_the_first_set() -> None:
    first = FirstSet.of([*RUNS, make_run("old", "0.9", "running", PRIORITY_BACKFILL)])
    assert (first.total, first.left, first.waiting) == (6, 6, 1)
    assert first.running is None
    assert first.at_work is not None


def test_runs_that_were_asked_for_are_no_part_of_the_first_set_but_wait_with_the_others() -> None:
    asked = replace(make_run("asked", "0.8", "running", PRIORITY_REQUESTED), requested_by="ana")
    first = FirstSet.of(
        [*RUNS, asked, replace(asked, id="again", state="queued"), replace(asked, id="x", state="done")]
    )
    assert (first.total, first.left, first.waiting) == (6, 6, 2)
    assert first.at_work == asked
    assert FirstSet.of([*RUNS, replace(asked, state="failed")]).failed_besides == (replace(asked, state="failed"),)
    assert first.releases == {"1.0", "1.1"}


def test_a_release_is_settled_when_none_of_its_runs_is_left() -> None:
    done = [replace(run, state="done") for run in RUNS]
    begun = make_run("old", "0.9", "running", PRIORITY_BACKFILL)
    assert FirstSet.of([*done, begun, replace(begun, id="o2", state="done")]).settled == {"1.0", "1.1"}
    assert FirstSet.of([*done, replace(begun, state="failed")]).settled == {"0.9", "1.0", "1.1"}
