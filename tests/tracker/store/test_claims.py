"""Claims: one owner at a time, most urgent first, and an owner that lost its lease changes nothing."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from threading import Barrier, Thread

import pytest
from sqlalchemy import func, text
from sqlmodel import select

from tracker.errors import TrackerError, TryLater, UserError
from tracker.store import claims, runs
from tracker.store.engine import open_store
from tracker.store.tables import AttemptRow, RunRow
from tracker.store.views.runs import count_states

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
LEASE = timedelta(seconds=30)


def states(bench) -> dict[str, int]:
    with bench.store.read() as session:
        return {state: number for state, number in count_states(session).items() if number}


def claim_all(bench, found: list[int], slots: int) -> None:
    """Claim until nothing is queued; being told to try again later is part of the game."""
    while states(bench).get("queued"):
        try:
            claim = bench.claim(slots=slots)
        except TryLater:
            continue
        if claim is not None:
            found.append(claim.run_id)


def test_threads_claim_a_hundred_runs_and_none_twice(bench):
    bench.queue(100)
    found: list[int] = []

    threads = [Thread(target=claim_all, args=(bench, found, 100)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)

    assert Counter(found).most_common(1)[0][1] == 1
    assert len(found) == 100
    with bench.store.read() as session:
        assert session.exec(select(func.count()).select_from(AttemptRow)).one() == 100


def claim_elsewhere(url: str, host: int, hardware: int, results) -> None:
    store = open_store(url)
    found, misses = [], 0
    while misses < 3:
        try:
            with store.write() as session:
                claim = claims.claim_next(
                    session,
                    owner="o",
                    host_id=host,
                    hardware_class_id=hardware,
                    lease=timedelta(60),
                    now=NOW,
                )
        except TryLater:
            continue
        misses += claim is None
        found += [claim.run_id] if claim else []
    store.close()
    results.put(found)


def test_processes_claim_a_hundred_runs_and_none_twice(bench, store_url: str):
    bench.queue(100)
    with bench.store.write() as session:
        session.execute(text("UPDATE host SET slots = 100"))
    bench.store.close()
    processes = get_context("fork")
    results = processes.SimpleQueue()

    workers = [
        processes.Process(target=claim_elsewhere, args=(store_url, bench.host, bench.hardware, results))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    found = results.get() + results.get()
    for worker in workers:
        worker.join(60)

    assert sorted(found) == sorted(set(found))
    assert len(found) == 100


def test_two_claims_at_once_never_share_a_slot(bench):
    bench.queue(20)
    together = Barrier(4)
    made: list[object] = []

    def claim() -> None:
        together.wait()
        try:
            made.append(bench.claim(slots=2))
        except TrackerError as error:
            made.append(error)

    threads = [Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    with bench.store.read() as session:
        slots = session.exec(select(RunRow.slot).where(RunRow.state == "running")).all()
    assert sorted(slots) == [0, 1]
    assert sum(isinstance(one, claims.Claim) for one in made) == 2
    assert sum(one is None for one in made) == 2


def test_the_most_urgent_run_comes_first_then_the_repeats_are_interleaved(bench):
    bench.queue(2, version="1.0.0", priority=5)
    bench.queue(2, version="2.0.0", priority=5)
    bench.queue(1, version="3.0.0", priority=9)

    order = []
    while (claim := bench.claim()) is not None:
        order.append((claim.release, claim.repeat))
        bench.end(claim)

    assert order == [("3.0.0", 1), ("1.0.0", 1), ("2.0.0", 1), ("1.0.0", 2), ("2.0.0", 2)]


def test_without_a_free_slot_nothing_is_claimed(bench):
    bench.queue(2)
    assert bench.claim() is not None

    assert bench.claim() is None
    assert states(bench) == {"running": 1, "queued": 1}


def test_a_run_for_other_hardware_is_left_alone(bench):
    bench.queue(1)
    bench.hardware += 1

    assert bench.claim() is None


def test_planning_the_same_runs_again_adds_none(bench):
    bench.queue(3)
    bench.queue(3)

    assert states(bench) == {"queued": 3}


def test_an_owner_that_lost_its_lease_changes_nothing(bench):
    bench.queue(1)
    lost = bench.claim()
    with bench.store.write() as session:
        taken = claims.take_over(session, owner="host-b:/home", host_ids=[bench.host], lease=bench.lease, now=LATER)

    assert taken == 1
    assert bench.end(lost, state="failed", outcome="lost", now=LATER) is False
    with bench.store.write() as session:
        claims.renew(session, [lost], lease=timedelta(days=1), now=LATER)
    with bench.store.read() as session:
        (held,) = claims.owned_claims(session, owner="host-b:/home")
        assert claims.owned_claims(session, owner=bench.owner) == []
    assert held.lease_until == LATER + bench.lease
    assert bench.end(held) is True


def test_a_lease_that_still_runs_is_not_taken_over_by_another(bench):
    bench.queue(1)
    bench.claim()

    with bench.store.write() as session:
        assert not claims.take_over(session, owner="host-b:/home", host_ids=[bench.host], lease=bench.lease, now=NOW)


def test_a_daemon_finds_its_own_runs_again_at_once(bench):
    bench.queue(1)
    first = bench.claim()

    with bench.store.write() as session:
        assert claims.take_over(session, owner=bench.owner, host_ids=[bench.host], lease=bench.lease, now=NOW) == 1

    with bench.store.read() as session:
        (again,) = claims.owned_claims(session, owner=bench.owner)
    assert (again.attempt_key, again.fence) == (first.attempt_key, first.fence + 1)


def test_a_run_ends_once(bench):
    bench.queue(1)
    claim = bench.claim()

    assert [bench.end(claim), bench.end(claim)] == [True, False]


def test_a_run_that_waits_for_its_next_try_is_not_claimed_before_its_time(bench):
    bench.queue(1)
    bench.end(bench.claim(), state="queued", outcome="infra_failed", failures=1, not_before=NOW + timedelta(seconds=5))

    assert bench.claim(now=NOW + timedelta(seconds=4)) is None
    again = bench.claim(now=NOW + timedelta(seconds=5))
    assert (again.attempt_number, again.failures) == (2, 1)


def test_every_attempt_has_a_key_of_its_own(bench):
    bench.queue(1)
    first = bench.claim()
    bench.end(first, state="queued", outcome="lost", failures=1)

    assert bench.claim().attempt_key != first.attempt_key


def test_a_queued_run_is_cancelled_at_once_a_running_one_is_asked_to(bench):
    bench.queue(2)
    claim = bench.claim()
    with bench.store.write() as session:
        rows = session.exec(select(RunRow).order_by(RunRow.id)).all()
        for row in rows:
            runs.request_cancel(session, row, who="ann", now=NOW)

    assert states(bench) == {"running": 1, "cancelled": 1}
    with bench.store.read() as session:
        (held,) = claims.owned_claims(session, owner=bench.owner)
    assert (held.run_id, held.cancel_requested_by) == (claim.run_id, "ann")


def test_a_run_that_has_ended_cannot_be_cancelled(bench):
    bench.queue(1)
    bench.end(bench.claim(), state="failed", outcome="timeout")

    with bench.store.write() as session, pytest.raises(UserError, match="has ended"):
        runs.request_cancel(session, session.exec(select(RunRow)).one(), who="ann", now=NOW)


def test_a_run_is_found_by_the_beginning_of_its_id_but_not_by_one_that_fits_several(bench):
    bench.queue(2)
    with bench.store.read() as session:
        first = session.exec(select(RunRow).order_by(RunRow.id)).first()

        assert runs.find_run(session, first.public_id.upper()).id == first.id
        with pytest.raises(UserError, match="several runs begin with"):
            runs.find_run(session, first.public_id[:3])
        for nonsense in ("", "%", "no-such-run", "9" * 40):
            with pytest.raises(UserError, match="no run"):
                runs.find_run(session, nonsense)
