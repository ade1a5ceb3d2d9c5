"""Hosts on other machines in the store: served by one service, away or not, known or not; and whose runs they take."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from tests.tracker.store.conftest import NOW
from tracker.store import claims, hosts, standing
from tracker.store.audit import latest

LATER = NOW + timedelta(minutes=5)


def serve(bench, name: str, *, by: str = "svc", engine: str = "ssh://a") -> None:
    with bench.store.write() as session:
        unknown = partial(hosts.unknown_class, session, name)
        hosts.serve_host(session, slug=name, engine=engine, served_by=by, unknown_class=unknown, now=NOW)


def served(bench, by: str = "svc") -> list[hosts.ServedHost]:
    with bench.store.read() as session:
        return hosts.served_hosts(session, served_by=by)


def test_each_unknown_host_is_a_class_of_its_own_until_it_is_known(bench):
    serve(bench, "box-a")
    serve(bench, "box-b")
    first, second = served(bench)
    assert (first.name, first.is_known, second.is_known) == ("box-a", False, False)
    assert first.hardware_class_id != second.hardware_class_id
    with bench.store.write() as session:
        hosts.save_host(session, slug="box-a", hardware_class_id=bench.hardware, now=NOW)
    serve(bench, "box-a")
    assert served(bench)[0].is_known


def test_a_service_leaves_only_hosts_of_its_own_and_a_host_comes_back_as_it_was(bench):
    serve(bench, "box-a")
    serve(bench, "box-b", by="other")
    with bench.store.write() as session:
        hosts.leave_hosts(session, served_by="svc", but=[], now=NOW)
    assert (served(bench), [one.name for one in served(bench, "other")]) == ([], ["box-b"])
    with bench.store.read() as session:
        assert "is away since" in str(standing.standing_of(session, bench.host + 1, now=NOW).obstacle(NOW))
        assert latest(session)[0].event == "host:left"
    serve(bench, "box-a")
    with bench.store.read() as session:
        assert standing.standing_of(session, served(bench)[0].host_id, now=NOW).obstacle(NOW) is None


def test_a_host_is_away_since_it_first_did_not_answer_and_starts_nothing(bench):
    bench.queue(1)
    with bench.store.write() as session:
        assert hosts.note_away(session, bench.host, why="no route", now=NOW)
        assert not hosts.note_away(session, bench.host, why="refused", now=LATER)
    assert bench.claim() is None
    with bench.store.read() as session:
        host = standing.standing_of(session, bench.host, now=LATER)
    assert (host.state_at(LATER), host.away_since, host.away_why) == ("away", NOW, "refused")
    with bench.store.write() as session:
        assert hosts.note_answer(session, bench.host, now=LATER)
        assert not hosts.note_answer(session, bench.host, now=LATER)
    assert bench.claim() is not None


def test_a_host_waits_for_no_run_of_a_suite_that_does_not_suit_it(bench):
    bench.queue(1)
    here = {"host_id": bench.host, "hardware_class_id": bench.hardware, "now": NOW}
    with bench.store.read() as session:
        assert claims.next_waiting(session, **here, suits=lambda text, file: False) is None
        assert claims.next_waiting(session, **here, suits=lambda text, file: True) is not None
