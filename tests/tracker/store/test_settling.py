"""A release waits for its planned runs, or for those asked for first; what is asked for once more holds nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from tracker.store import runs
from tracker.store.settling import find_held
from tracker.store.tables import AttemptRow, RunRow

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def open_releases(bench) -> set[tuple[str, int]]:
    with bench.store.read() as session:
        return {(one.suite, one.release_id) for one in find_held(session)}


def read(bench, claim, *, state: str = "done", outcome: str = "ok") -> bool:
    with bench.store.write() as session:
        return runs.finish_reading(
            session,
            claim.run_id,
            claim.attempt_id,
            state=state,
            reason="",
            flags="",
            facts="{}",
            outcome=outcome,
            now=NOW,
        )


@pytest.mark.parametrize("state", ["queued", "running", "measured"])
def test_a_planned_run_that_is_open_keeps_its_release_open(bench, state: str):
    bench.queue(1)
    if state != "queued":
        claim = bench.claim()
        if state == "measured":
            bench.end(claim)

    assert len(open_releases(bench)) == 1


@pytest.mark.parametrize("state", runs.FINAL_STATES)
def test_a_release_whose_planned_runs_are_final_is_settled(bench, state: str):
    bench.queue(1)
    claim = bench.claim()
    bench.end(claim, state=state)

    assert open_releases(bench) == set()


def test_a_rerun_does_not_open_a_settled_release(bench):
    bench.queue(1)
    bench.end(bench.claim(), state="done")
    bench.queue(1, requested_by="ann", now=LATER)

    assert open_releases(bench) == set()


def test_a_release_that_nobody_planned_waits_for_all_that_was_asked_for_first(bench):
    bench.queue(2, requested_by="ann")
    bench.end(bench.claim(), state="done")
    assert len(open_releases(bench)) == 1

    bench.end(bench.claim(), state="done")
    bench.queue(1, requested_by="bob", now=LATER)
    assert open_releases(bench) == set()


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_first_request_that_gave_nothing_is_not_the_first(bench, state: str):
    bench.queue(1, requested_by="ann")
    bench.end(bench.claim(), state=state)
    bench.queue(2, requested_by="bob", now=LATER)
    bench.end(bench.claim(now=LATER), state="done")

    assert len(open_releases(bench)) == 1


def test_results_that_were_handed_in_are_no_first_request(bench):
    bench.queue(1, requested_by="ann", prefix=runs.HANDED_IN)
    bench.end(bench.claim(), state="done")
    bench.queue(1, requested_by="bob", now=LATER)

    assert len(open_releases(bench)) == 1


def test_an_output_is_read_once(bench):
    bench.queue(1)
    claim = bench.claim()
    bench.end(claim)

    assert [read(bench, claim), read(bench, claim)] == [True, False]
    with bench.store.read() as session:
        assert runs.unread_attempts(session) == []


def test_an_output_that_cannot_be_read_makes_its_attempt_a_failed_one(bench):
    bench.queue(1)
    claim = bench.claim()
    bench.end(claim)

    read(bench, claim, state="failed", outcome="parse_failed")

    with bench.store.read() as session:
        assert session.exec(select(RunRow.state)).one() == "failed"
        assert session.exec(select(AttemptRow.outcome)).one() == "parse_failed"
