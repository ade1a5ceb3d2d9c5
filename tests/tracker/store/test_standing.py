"""What a host may take: states, maintenance, holds and slots decide in the claim itself, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlmodel import select

from tracker.errors import UserError
from tracker.store import claims, standing
from tracker.store.audit import latest
from tracker.store.tables import AttemptRow, HostRow, RunRow
from tracker.store.views.hosts import list_hosts, show_host, why_waiting
from tracker.store.views.runs import list_runs

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def set_state(bench, state: str, why: str = "", now: datetime = NOW) -> bool:
    with bench.store.write() as session:
        return standing.set_state(session, "host-a", state, why=why, who="ann", now=now)


def maintain(bench, starts_at: datetime, ends_at: datetime, why: str = "new driver") -> int:
    with bench.store.write() as session:
        return standing.plan_maintenance(
            session, "host-a", starts_at=starts_at, ends_at=ends_at, why=why, who="ann", now=NOW
        )


def lift(bench, number: int) -> None:
    with bench.store.write() as session:
        standing.lift_maintenance(session, "host-a", number, who="bob", now=NOW)


def events(bench) -> list[tuple[str, str, str]]:
    with bench.store.read() as session:
        return [(row.event, row.subject, row.who) for row in reversed(latest(session))]


def obstacle(bench, now: datetime = NOW) -> str | None:
    with bench.store.read() as session:
        return standing.standing_of(session, bench.host, now=now).obstacle(now)


@pytest.mark.parametrize("state", ["cordoned", "draining"])
def test_a_host_that_is_out_of_service_is_given_nothing_until_it_is_ready_again(bench, state: str):
    bench.queue(2)
    running = bench.claim(slots=2)

    assert set_state(bench, state, "lent out")
    assert bench.claim(slots=2) is None
    assert obstacle(bench) == f"host host-a is {state} by ann: lent out"
    assert bench.end(running)

    assert set_state(bench, "ready")
    assert bench.claim(slots=2) is not None
    assert events(bench) == [(f"host:{state}", "host-a", "ann"), ("host:ready", "host-a", "ann")]


def test_saying_the_same_again_changes_nothing_and_is_not_put_on_record(bench):
    assert not set_state(bench, "ready")
    assert [set_state(bench, "cordoned", "x"), set_state(bench, "cordoned", "x")] == [True, False]
    assert set_state(bench, "cordoned", "y")
    assert len(events(bench)) == 2


def test_in_maintenance_nothing_starts_and_after_it_or_without_it_something_does(bench):
    bench.queue(3)
    first = maintain(bench, NOW + HOUR, NOW + 2 * HOUR)

    assert bench.claim(slots=3) is not None
    assert bench.claim(slots=3, now=NOW + HOUR) is None
    assert obstacle(bench, NOW + HOUR) == "host host-a is in maintenance until 2026-12-01 14:00 UTC: new driver"
    assert bench.claim(slots=3, now=NOW + 2 * HOUR) is not None

    lift(bench, first)
    assert bench.claim(slots=3, now=NOW + HOUR) is not None
    assert [event for event, _, _ in events(bench)] == ["host:maintenance", "host:maintenance_lifted"]


def test_windows_that_overlap_last_until_the_later_end(bench):
    maintain(bench, NOW, NOW + HOUR, "short")
    maintain(bench, NOW, NOW + 2 * HOUR, "long")

    assert "14:00 UTC: long" in (obstacle(bench) or "")


@pytest.mark.parametrize(
    ("starts", "ends", "why", "words"),
    [
        (NOW, NOW, "x", "expected a time after"),
        (NOW - 2 * HOUR, NOW - HOUR, "x", "which is over"),
        (NOW, NOW + HOUR, " ", "expected a reason"),
        (NOW, NOW + HOUR, "x" * 501, "at most 500 characters"),
    ],
)
def test_a_window_that_cannot_be_is_refused(bench, starts: datetime, ends: datetime, why: str, words: str):
    with pytest.raises(UserError, match=words):
        maintain(bench, starts, ends, why)
    assert events(bench) == []


def test_the_same_window_twice_names_the_first_and_a_lifted_one_can_be_planned_again(bench):
    number = maintain(bench, NOW, NOW + HOUR)
    with pytest.raises(UserError, match=f"already, as number {number}"):
        maintain(bench, NOW, NOW + HOUR)

    lift(bench, number)
    with pytest.raises(UserError, match=f"no maintenance {number} to lift"):
        lift(bench, number)
    assert maintain(bench, NOW, NOW + HOUR) != number


def test_a_held_host_is_given_something_when_its_time_is_up_or_somebody_says_so(bench):
    bench.queue(2)
    with bench.store.write() as session:
        standing.hold_host(session, bench.host, refusal="disk: full", until=NOW + HOUR / 4, now=NOW)

    assert bench.claim(slots=2) is None
    assert obstacle(bench) == "host host-a refused a run and is looked at again at 2026-12-01 12:15:00 UTC: disk: full"
    assert bench.claim(slots=2, now=NOW + HOUR / 4) is not None
    assert set_state(bench, "ready")
    assert bench.claim(slots=2) is not None


def test_a_host_takes_as_many_runs_as_it_has_slots(bench):
    bench.queue(4)
    with bench.store.write() as session:
        standing.set_shape(session, "host-a", slots=2, pools=["b", "a", "b"], who="ann", now=NOW)

    with bench.store.read() as session:
        host = standing.standing_of(session, bench.host, now=NOW)
    assert (host.slots, host.pools) == (2, ("a", "b"))
    assert [bench.claim(slots=2) is None for _ in range(3)] == [False, False, True]

    with pytest.raises(UserError, match="expected 1 to 64, found 65"), bench.store.write() as session:
        standing.set_shape(session, "host-a", slots=65, pools=None, who="ann", now=NOW)


def test_two_claimers_at_once_on_one_slot_start_one_run(bench):
    bench.queue(4)
    together = Barrier(2)
    made: list[claims.Claim | None] = []

    def claim(owner: str) -> None:
        together.wait()
        made.append(bench.claim(owner=owner, slots=1))

    threads = [Thread(target=claim, args=(owner,)) for owner in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(one is None for one in made) == [False, True]
    with bench.store.read() as session:
        assert len(session.exec(select(RunRow).where(RunRow.state == "running")).all()) == 1


def test_the_database_refuses_a_second_run_in_a_slot_whoever_puts_it_there(bench):
    bench.queue(2)
    claim = bench.claim()
    assert claim is not None

    with pytest.raises(IntegrityError), bench.store.write() as session:
        session.execute(
            update(RunRow).where(RunRow.id != claim.run_id).values(state="running", host_id=bench.host, slot=0)
        )


def test_a_cordon_and_a_claim_at_once_come_one_after_the_other(bench):
    bench.queue(1)
    together = Barrier(2)
    made: list[object] = []

    def claim() -> None:
        together.wait()
        made.append(bench.claim())

    def cordon() -> None:
        together.wait()
        set_state(bench, "cordoned", "now")

    threads = [Thread(target=claim), Thread(target=cordon)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(made) == 1
    with bench.store.read() as session:
        assert session.get_one(HostRow, bench.host).state == "cordoned"
    assert bench.claim(slots=2) is None


def waiting(bench) -> claims.Waiting:
    with bench.store.read() as session:
        found = claims.next_waiting(session, host_id=bench.host, hardware_class_id=bench.hardware, now=NOW)
    assert found is not None
    return found


def refuse(bench, one: claims.Waiting, *, give_up: bool = False, counted: bool = True) -> bool:
    with bench.store.write() as session:
        return claims.refuse(session, one, host_id=bench.host, why="too hot", give_up=give_up, counted=counted, now=NOW)


def test_a_refused_run_waits_with_the_reason_and_counts_until_it_is_claimed(bench):
    bench.queue(1)

    assert refuse(bench, waiting(bench))
    assert refuse(bench, waiting(bench), counted=False)
    again = waiting(bench)
    assert again.refusals == 1
    with bench.store.read() as session:
        run = session.get_one(RunRow, again.run_id)
        assert (run.state, run.reason) == ("queued", "too hot")
        assert session.exec(select(AttemptRow)).all() == []

    assert bench.claim() is not None
    with bench.store.read() as session:
        run = session.get_one(RunRow, again.run_id)
    assert (run.state, run.refusals, run.reason) == ("running", 0, "")


def test_a_run_that_is_given_up_has_failed_with_an_attempt_that_says_why(bench):
    bench.queue(1)

    assert refuse(bench, waiting(bench), give_up=True)

    with bench.store.read() as session:
        run = session.exec(select(RunRow)).one()
        attempt = session.exec(select(AttemptRow)).one()
    assert (run.state, run.reason, run.finished_at) == ("failed", "too hot", NOW)
    assert (attempt.outcome, attempt.detail, attempt.started_at) == ("infra_failed", "too hot", None)


def test_a_run_that_was_claimed_meanwhile_is_not_refused(bench):
    bench.queue(1)
    seen = waiting(bench)
    assert bench.claim() is not None

    assert not refuse(bench, seen)


def test_the_list_says_what_each_host_is_up_to(bench):
    bench.queue(3)
    bench.claim()
    set_state(bench, "draining", "goes back")

    with bench.store.read() as session:
        (host,) = list_hosts(session, now=NOW)
        detail = show_host(session, "host-a", now=NOW)
        (queued, _) = list_runs(session, state="queued").items
        why = why_waiting(session, queued, now=NOW)
    assert (host.state, host.running, host.slots, host.waiting, host.health) == ("draining", 1, 1, 2, None)
    assert detail is not None
    assert [run.state for run in detail.running] == ["running"]
    assert why == "host host-a is draining by ann: goes back"


def test_a_drained_host_says_that_nothing_runs_there_any_more(bench):
    set_state(bench, "draining")

    with bench.store.read() as session:
        assert list_hosts(session, now=NOW)[0].state == "drained"


def test_a_host_that_is_not_known_names_the_list(bench):
    missing = pytest.raises(UserError, match="no host 'nowhere'; `tracker hosts list` shows them")
    with missing, bench.store.write() as session:
        standing.set_state(session, "nowhere", "cordoned", why="", who="ann", now=NOW)
