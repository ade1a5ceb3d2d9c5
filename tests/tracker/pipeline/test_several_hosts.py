"""One service, several hosts: planned for each hardware class, run side by side, each on its own engine."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from jobs.environment import Machine, read_machine
from jobs.errors import TryLater
from tests.fakes.nvidia_tools import host_nvidia_smi
from tests.tracker.pipeline.kit import FAST, REPEATS, SUITE, Play, Service, result
from tracker.errors import UserError
from tracker.pipeline.context import place_of
from tracker.pipeline.execute import advance, put_back, recover
from tracker.pipeline.hosts import add_host, look_at_others, look_there, place_named
from tracker.pipeline.plan import plan
from tracker.pipeline.requests import cancel, trigger
from tracker.store import hosts as store_hosts
from tracker.store import standing
from tracker.store.hosts import ServedHost
from tracker.store.tables import AttemptRow, HardwareClassRow, HostRow, RunRow, SeriesRow
from tracker.store.views.hosts import list_hosts, why_waiting
from tracker.store.views.runs import list_runs

CONTAINERS = SUITE.replace('executor = "local"', 'executor = "docker_engine"')
AWAY = TryLater("box-a does not answer: connection refused")


def machine(product: str = "NVIDIA B200", count: int = 8, *, celsius: int = 40) -> Machine:
    """A machine as its own system tells it by ssh."""
    smi = subprocess.run(["sh", "-s"], input=host_nvidia_smi(count, product), capture_output=True, text=True).stdout
    smi = smi.replace("</gpu>", f"<temperature><gpu_temp>{celsius} C</gpu_temp></temperature></gpu>")
    parts = {"smi": smi, "smi_code": "0", "machine": "x86_64", "disk": "x 9 9 900000000 1% /", "end": ""}
    return read_machine("".join(f"\n@@tracker@@ {name}\n{text}\n" for name, text in parts.items()))


def slugs(service: Service, table: Any) -> Counter[str]:
    """Count what is of each hardware class."""
    with service.store.read() as session:
        joined = select(HardwareClassRow.slug).join(table, col(table.hardware_class_id) == col(HardwareClassRow.id))
        return Counter(session.exec(joined).all())


def hosts_of(service: Service) -> dict[str, set[str]]:
    """Return host -> the keys of the attempts that were made there."""
    names = {row.id: row.slug for row in service.rows(HostRow)}
    found: dict[str, set[str]] = {}
    for row in service.rows(AttemptRow):
        found.setdefault(names[row.host_id], set()).add(row.key)
    return found


def set_pool(service: Service, name: str, *pools: str) -> None:
    with service.store.write() as session:
        standing.set_shape(session, name, slots=None, pools=pools, who="ann", now=service.clock.now())


@pytest.fixture
def hosts(service: Service) -> Service:
    """A service with two hosts of two kinds beside its own machine, and one release to be measured in containers."""
    service.write_suite(CONTAINERS)
    service.place = replace(service.place, containers=False)
    service.add_host("box-a", machine("NVIDIA B200"))
    service.add_host("box-b", machine("NVIDIA H200"))
    look_at_others(service.context)
    service.publish("1.0.0", level=FAST)
    return service


def test_a_suite_is_planned_for_every_hardware_class_that_its_executor_reaches(hosts: Service):
    assert hosts.look() == 2 * REPEATS
    assert slugs(hosts, RunRow) == {"8x-nvidia-b200": REPEATS, "8x-nvidia-h200": REPEATS}
    assert plan(hosts.context, "thing") == 0


def test_runs_go_side_by_side_each_on_a_host_of_its_class_and_belong_to_that(hosts: Service):
    hosts.look()
    for executor in hosts.executors.values():
        executor.hold_all = True
    assert advance(hosts.context) == 2
    assert {name: len(keys) for name, keys in hosts_of(hosts).items()} == {"box-a": 1, "box-b": 1}
    for executor in hosts.executors.values():
        executor.hold_all = False
        executor.held.clear()
    hosts.measure()
    hosts.judge()
    for name, executor in hosts.executors.items():
        assert set(executor.started) == hosts_of(hosts)[name]
    assert not hosts.executor.started
    assert set(slugs(hosts, SeriesRow)) == {"8x-nvidia-b200", "8x-nvidia-h200"}


def test_hosts_of_one_class_share_its_runs_and_a_pool_says_which_of_them_take_a_suite(hosts: Service):
    hosts.sights["box-b"] = machine("NVIDIA B200")
    look_there(hosts.context, place_named(hosts.context, "box-b") or hosts.place, who="ann")
    assert hosts.look() == REPEATS
    hosts.measure()
    assert {name: bool(keys) for name, keys in hosts_of(hosts).items()} == {"box-a": True, "box-b": True}

    set_pool(hosts, "box-b", "b200")
    hosts.write_suite(CONTAINERS + '[hardware]\npool = "b200"\n')
    before = hosts_of(hosts)["box-a"]
    hosts.publish("1.1.0", level=FAST)
    assert hosts.look() == REPEATS
    hosts.measure()
    assert hosts_of(hosts)["box-a"] == before


def test_a_host_that_is_away_holds_nothing_but_its_own_runs_and_is_told_once(hosts: Service):
    hosts.look()
    hosts.sights["box-a"] = AWAY
    for _ in range(4 * REPEATS):
        advance(hosts.context)
    assert set(hosts_of(hosts)) == {"box-b"}
    assert Counter(hosts.run_states()) == {"queued": REPEATS, "measured": REPEATS}
    with hosts.store.read() as session:
        item = next(one for one in list_hosts(session, now=hosts.clock.now()) if one.name == "box-a")
    assert (item.state, item.reach, item.away_why) == ("away", "away", str(AWAY))
    assert item.obstacle == "host box-a is away since 2026-12-01 12:00:00 UTC: " + str(AWAY)

    hosts.sights["box-a"] = machine("NVIDIA B200")
    look_at_others(hosts.context)
    hosts.measure()
    assert set(hosts.run_states()) == {"measured"}


def test_a_hardware_class_whose_host_is_away_holds_up_the_verdict_of_no_other(hosts: Service):
    hosts.go()
    hosts.sights["box-a"] = AWAY
    hosts.publish("1.1.0", level=FAST)
    hosts.look()
    for _ in range(4 * REPEATS):
        advance(hosts.context)
    hosts.judge_meanwhile()

    names = {row.id: row.slug for row in hosts.rows(HardwareClassRow)}
    releases = hosts.releases()
    told = {names[row.hardware_class_id] for row in hosts.summaries() if releases[row.release_id] == "1.1.0"}
    assert told == {"8x-nvidia-h200"}


def test_of_a_host_at_work_only_the_engine_is_asked_and_its_health_stays_as_it_was_seen(hosts: Service):
    hosts.look()
    hosts.executors["box-a"].hold_all = True
    advance(hosts.context)
    hosts.sights["box-a"] = machine("NVIDIA B200", celsius=90)
    look_at_others(hosts.context)
    row = next(row for row in hosts.rows(HostRow) if row.slug == "box-a")
    assert "90 C" not in row.health
    hosts.sights["box-a"] = AWAY
    look_at_others(hosts.context)
    row = next(row for row in hosts.rows(HostRow) if row.slug == "box-a")
    assert row.away_why == str(AWAY)


def test_a_host_that_is_not_fit_refuses_its_run_and_says_why(hosts: Service):
    hosts.look()
    hosts.sights["box-a"] = machine("NVIDIA B200", celsius=90)
    advance(hosts.context)
    assert "box-a" not in hosts_of(hosts)
    reasons = {run.reason for run in hosts.rows(RunRow) if run.reason}
    (reason,) = reasons
    assert "host box-a refused to start it (1 of 8): temperature: 90 C, wanted at most 65 C" in reason


def test_a_host_with_fewer_gpus_than_it_had_is_cordoned_and_keeps_its_class(hosts: Service):
    hosts.look()
    hosts.sights["box-a"] = machine("NVIDIA B200", count=7)
    look_at_others(hosts.context)
    advance(hosts.context)
    row = next(row for row in hosts.rows(HostRow) if row.slug == "box-a")
    assert (row.state, row.state_why) == ("cordoned", "GPUs: 7 answer, wanted the 8 of this host")
    assert place_named(hosts.context, "box-a").gpus == ("NVIDIA B200",) * 8  # type: ignore[union-attr]

    look_there(hosts.context, place_named(hosts.context, "box-a") or hosts.place, who="ann")
    assert len(place_named(hosts.context, "box-a").gpus or ()) == 7  # type: ignore[union-attr]


def test_a_host_that_never_answered_is_planned_for_when_it_first_does(service: Service):
    service.write_suite(CONTAINERS)
    service.place = replace(service.place, containers=False)
    service.add_host("box-a", AWAY)
    service.publish("1.0.0", level=FAST)
    assert service.look() == 0
    with pytest.raises(UserError, match="box-a: its hardware is not known yet"):
        trigger(service.context, "thing", "1.0.0", repeats=None, who="ann")
    service.sights["box-a"] = machine()
    assert look_at_others(service.context) == 1
    assert plan(service.context, "thing") == REPEATS


def test_a_host_that_only_its_engine_speaks_for_is_as_its_runs_found_it_until_it_is_named(service: Service):
    service.write_suite(CONTAINERS)
    service.add_host("box-c")
    service.place = replace(service.place, containers=False)
    service.publish("1.0.0")
    captured = {"hardware_class": {"slug": "1x-nvidia-h100", "labels": {"gpu": "NVIDIA H100", "gpu_count": 1}}}
    unseen: dict[str, Any] = {"hardware_class": None}
    environments = [captured] * (REPEATS - 1) + [unseen]
    service.plays["1.0.0"] = [Play(result=result(10.0, 5.0), environment=one) for one in environments]
    service.go()
    assert set(slugs(service, SeriesRow)) == {"1x-nvidia-h100", "unknown-hardware-of-box-c"}

    service.publish("1.1.0", level=FAST)
    service.look()
    h100 = {"gpu": "NVIDIA H100", "gpu_count": 8}
    add_host(service.context, "box-c", hardware=h100, slots=None, pools=None, who="ann")
    assert service.reasons("cancelled")[0] == (
        "host box-c is known to have 8x-nvidia-h100 now; releases are planned for that"
    )
    assert plan(service.context, "thing") == 2 * REPEATS
    assert slugs(service, RunRow)["8x-nvidia-h100"] == 2 * REPEATS


def test_hardware_of_a_host_that_tells_it_itself_is_not_named(hosts: Service):
    with pytest.raises(UserError, match="box-a is looked at by ssh, which tells its hardware"):
        add_host(hosts.context, "box-a", hardware={"cpu": "x", "cores": 1}, slots=None, pools=None, who="ann")


def test_after_a_restart_each_attempt_is_asked_for_on_the_host_that_it_was_started_on(hosts: Service):
    hosts.look()
    for executor in hosts.executors.values():
        executor.hold_all = True
    advance(hosts.context)
    keys = {name: set(executor.started) for name, executor in hosts.executors.items()}

    assert recover(hosts.context) == 2
    assert {executor.swept_but for executor in hosts.executors.values()} == {frozenset().union(*keys.values())}
    assert advance(hosts.context) == 2
    assert put_back(hosts.context) == 2
    for name, executor in hosts.executors.items():
        assert {key: play.detail for key, play in executor.plays.items()} == dict.fromkeys(keys[name], "cancelled")


def test_a_run_on_a_host_that_was_taken_out_of_the_settings_is_lost_with_the_reason(hosts: Service):
    hosts.look()
    for executor in hosts.executors.values():
        executor.hold_all = True
    advance(hosts.context)
    (key,) = hosts_of(hosts)["box-a"]
    folder = hosts.home / "attempts" / key
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({"executor": "docker_engine", "host": "box-a"}))
    del hosts.executors["box-a"]

    advance(hosts.context)
    attempt = next(row for row in hosts.rows(AttemptRow) if row.key == key)
    assert attempt.outcome == "lost"
    assert attempt.detail.startswith("host box-a is no longer in the settings")
    assert (folder / "cancel").exists()


def test_a_run_whose_hosts_are_not_for_its_suite_any_more_says_so_until_one_is_again(hosts: Service):
    hosts.look()
    hosts.write_suite(CONTAINERS + '[hardware]\npool = "b200"\n')
    set_pool(hosts, "box-a", "b200")
    plan(hosts.context, "thing")
    why = "no host of this hardware class is for thing now (executor, pool, state); it waits until one is"
    assert Counter(run.reason for run in hosts.rows(RunRow) if run.state == "queued")[why] == REPEATS
    set_pool(hosts, "box-b", "b200")
    plan(hosts.context, "thing")
    assert {run.reason for run in hosts.rows(RunRow)} == {""}


def test_local_runs_stay_on_this_machine_whatever_hosts_there_are(make_service: Callable[..., Service], tmp_path: Path):
    service = make_service()
    service.add_host("box-c")
    service.publish("1.0.0", level=FAST)
    service.go()
    assert set(hosts_of(service)) == {"here"}
    assert set(slugs(service, SeriesRow)) == {"cpu-2"}


def test_a_host_at_another_address_is_looked_at_anew_before_anything_starts_there(hosts: Service):
    hosts.look()
    with hosts.store.write() as session:
        for address in ("ssh://a@old/", "ssh://a@new/"):
            unknown = partial(store_hosts.unknown_class, session, "box-a")
            now = hosts.clock.now()
            store_hosts.serve_host(
                session, slug="box-a", engine=address, served_by="here", unknown_class=unknown, now=now
            )
    hosts.sights["box-a"] = machine("NVIDIA GB300")
    assert advance(hosts.context) >= 0
    assert "box-a" not in hosts_of(hosts)

    assert look_at_others(hosts.context) == 1
    assert place_named(hosts.context, "box-a").gpus == ("NVIDIA GB300",) * 8  # type: ignore[union-attr]
    plan(hosts.context, "thing")
    for _ in range(4 * REPEATS):
        advance(hosts.context)
    assert slugs(hosts, RunRow)["8x-nvidia-gb300"] == REPEATS
    with hosts.store.read() as session:
        waiting = list_runs(session, state="queued").items
        reasons = [why_waiting(session, run, now=hosts.clock.now()) for run in waiting]
    assert reasons == ["no host has 8x-nvidia-b200 now; it waits until one has, or is cancelled"] * REPEATS


def test_of_two_hosts_of_one_class_the_other_takes_all_while_one_is_cordoned(hosts: Service):
    hosts.sights["box-b"] = machine("NVIDIA B200")
    look_there(hosts.context, place_named(hosts.context, "box-b") or hosts.place, who="ann")
    hosts.look()
    with hosts.store.write() as session:
        standing.set_state(session, "box-a", standing.CORDONED, why="lent", who="ann", now=hosts.clock.now())
    hosts.measure()
    assert set(hosts_of(hosts)) == {"box-b"}
    assert set(hosts.run_states()) == {"measured"}


def test_a_run_that_is_cancelled_while_its_host_is_away_is_ended_when_it_is_back_and_not_tried_again(hosts: Service):
    hosts.look()
    hosts.executors["box-a"].hold_all = True
    advance(hosts.context)
    (key,) = hosts_of(hosts)["box-a"]
    row = next(row for row in hosts.rows(AttemptRow) if row.key == key)
    name = next(run.public_id for run in hosts.rows(RunRow) if run.id == row.run_id)
    end, executor = hosts.executors["box-a"].cancel, hosts.executors["box-a"]

    def away(_: str) -> None:
        raise AWAY

    executor.cancel = away  # type: ignore[method-assign]
    cancel(hosts.context, name, who="ann")
    advance(hosts.context)
    assert next(run.state for run in hosts.rows(RunRow) if run.public_id == name) == "running"
    executor.cancel, executor.hold_all = end, False  # type: ignore[method-assign]
    advance(hosts.context)
    found = next(run for run in hosts.rows(RunRow) if run.public_id == name)
    assert (found.state, found.reason) == ("cancelled", "cancelled by ann")


@pytest.mark.parametrize(
    ("labels", "gpus"),
    [
        ({"gpu": "NVIDIA H200", "gpu_count": 2}, ("NVIDIA H200", "NVIDIA H200")),
        ({"gpu": "NVIDIA H200"}, None),
        ({"cpu": "AMD EPYC", "cores": 64}, ()),
        ({"hardware": "unknown", "host": "box-a"}, None),
    ],
)
def test_a_host_has_no_gpu_only_where_that_is_known(labels: dict[str, Any], gpus: tuple[str, ...] | None):
    host = ServedHost(host_id=1, name="box-a", hardware_class_id=1, hardware_fingerprint="hw", labels=labels)
    assert place_of(host, tells=False).gpus == gpus
