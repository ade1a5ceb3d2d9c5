"""Before a run starts: what a host may take, the look at it (nvidia-smi is a program of our own), and refusals."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.pipeline.kit import FAST, SUITE, Service
from tracker.errors import UserError
from tracker.pipeline.execute import advance
from tracker.pipeline.hosts import add_host, look_here, name_here
from tracker.pipeline.plan import plan
from tracker.pipeline.requests import trigger
from tracker.pipeline.watch import watch
from tracker.store import standing
from tracker.store.audit import latest
from tracker.store.tables import AttemptRow, HostRow, RunRow

ANSWER = """<nvidia_smi_log><driver_version>{driver}</driver_version><gpu id="00000000:0A:00.0">
 <product_name>NVIDIA Example</product_name>
 <clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle></clocks_event_reasons>
 <fb_memory_usage><used>10 MiB</used></fb_memory_usage><ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
 <ecc_errors><volatile><dram_uncorrectable>{errors}</dram_uncorrectable></volatile></ecc_errors>
 <temperature><gpu_temp>{celsius}</gpu_temp></temperature><processes></processes></gpu></nvidia_smi_log>
"""


class Driver:
    """A program in the place of nvidia-smi, first on the PATH, that prints what tests say."""

    def __init__(self, folder: Path) -> None:
        self._answer = folder / "answer.xml"
        folder.mkdir()
        program = folder / "nvidia-smi"
        program.write_text(f"#!/bin/sh\ncat {self._answer}\n")
        program.chmod(0o755)

    def say(self, *, celsius: str = "40 C", errors: str = "0", driver: str = "571.10.03") -> None:
        self._answer.write_text(ANSWER.format(celsius=celsius, errors=errors, driver=driver))


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The driver of the one GPU that the service's host has."""
    made = Driver(tmp_path / "driver")
    made.say()
    monkeypatch.setenv("PATH", f"{tmp_path / 'driver'}{os.pathsep}{os.environ['PATH']}")
    return made


@pytest.fixture
def make_gpu_service(make_service: Callable[..., Service], driver: Driver) -> Callable[..., Service]:
    """Makes services on a host with one GPU, with one release to be measured."""

    def make(**health: Any) -> Service:
        service = make_service(health=health)
        service.place = replace(service.place, gpus=("NVIDIA Example",))
        service.publish("1.0.0", level=FAST)
        service.look()
        return service

    return make


@pytest.fixture
def gpu_service(make_gpu_service: Callable[..., Service]) -> Service:
    return make_gpu_service()


def host(service: Service) -> HostRow:
    (row,) = service.rows(HostRow)
    return row


def first(service: Service) -> RunRow:
    row: RunRow = min(service.rows(RunRow), key=lambda run: run.repeat)
    return row


def events(service: Service) -> list[str]:
    with service.store.read() as session:
        return [row.event for row in reversed(latest(session)) if row.event.startswith("host:")]


def set_state(service: Service, state: str, why: str = "") -> None:
    with service.store.write() as session:
        standing.set_state(session, "here", state, why=why, who="ann", now=service.clock.now())


# --- states


def test_on_a_cordoned_host_runs_are_planned_and_wait_until_it_is_uncordoned(service: Service):
    service.publish("1.0.0", level=FAST)
    assert name_here(service.context) == "here"
    set_state(service, "cordoned", "lent out")

    assert service.look() == 5
    assert advance(service.context) == 0
    assert set(service.run_states()) == {"queued"}

    set_state(service, "ready")
    service.measure()
    assert set(service.run_states()) == {"measured"}


def test_what_runs_when_a_host_is_drained_ends_and_nothing_is_planned_or_triggered_any_more(service: Service):
    service.executor.hold_all = True
    service.publish("1.0.0", level=FAST)
    service.look()
    assert advance(service.context) == 1

    set_state(service, "draining", "goes back")
    service.executor.held.clear()
    assert advance(service.context) == 0
    assert sorted(service.run_states()) == ["measured", "queued", "queued", "queued", "queued"]

    service.publish("1.1.0", level=FAST)
    watch(service.context, "thing", force=True)
    assert plan(service.context, "thing") == 0
    with pytest.raises(UserError, match="host here is draining by ann: goes back"):
        trigger(service.context, "thing", "1.1.0", repeats=1, who="bob")


def test_in_maintenance_nothing_starts_until_it_is_over(service: Service):
    service.publish("1.0.0", level=FAST)
    service.look()
    now = service.clock.now()
    with service.store.write() as session:
        ends_at = now.replace(hour=14)
        standing.plan_maintenance(session, "here", starts_at=now, ends_at=ends_at, why="driver", who="ann", now=now)

    assert advance(service.context) == 0
    service.clock.time = ends_at
    assert advance(service.context) == 1


def test_a_host_with_two_slots_runs_two_at_once_without_a_restart(service: Service):
    service.executor.hold_all = True
    service.publish("1.0.0", level=FAST)
    service.look()
    assert advance(service.context) == 1

    add_host(service.context, "here", hardware=None, slots=2, pools=None, who="ann")
    assert advance(service.context) == 2
    assert advance(service.context) == 2


def test_a_suite_that_asks_for_a_pool_is_planned_on_a_host_of_that_pool_only(service: Service):
    service.write_suite(SUITE.replace("[output]", '[hardware]\npool = "quiet"\n[output]', 1))
    service.publish("1.0.0", level=FAST)

    assert service.look() == 0
    with pytest.raises(
        Exception, match="asks for pool quiet, host here is in no pool; `tracker hosts add --pool quiet`"
    ):
        trigger(service.context, "thing", "1.0.0", repeats=1, who="ann")

    add_host(service.context, "here", hardware=None, slots=None, pools=["quiet"], who="ann")
    assert plan(service.context, "thing") == 5


# --- health


def test_a_fit_machine_starts_runs_and_what_was_seen_is_kept(gpu_service: Service):
    gpu_service.measure()

    assert set(gpu_service.run_states()) == {"measured"}
    kept = json.loads(host(gpu_service).health)
    assert (kept["driver"], host(gpu_service).refusal) == ("571.10.03", "")
    assert {one["name"] for one in kept["findings"] if one["state"] == "unknown"} == {"memory repairs"}


def test_a_run_that_is_refused_waits_with_the_reason_and_starts_when_the_machine_is_fit_again(
    gpu_service: Service, driver: Driver
):
    driver.say(celsius="81 C")

    assert advance(gpu_service.context) == 0
    run = first(gpu_service)
    why = "temperature: 81 C, wanted at most 65 C"
    assert run.state == "queued"
    assert run.reason == f"host here refused to start it (1 of 8): {why}; looked at again at 12:00:30 UTC"
    assert host(gpu_service).refusal == why
    assert [one.reason for one in gpu_service.rows(RunRow) if one.id != run.id] == [""] * 4

    driver.say()
    gpu_service.clock.advance(29)
    assert advance(gpu_service.context) == 0
    gpu_service.clock.advance(1)
    assert advance(gpu_service.context) == 1
    assert (first(gpu_service).state, first(gpu_service).refusals) == ("running", 0)
    assert host(gpu_service).held_until is None
    assert events(gpu_service) == ["host:refused"]


def test_waiting_grows_and_after_the_last_refusal_one_run_fails_and_the_host_is_cordoned(
    make_gpu_service: Callable[..., Service], driver: Driver
):
    service = make_gpu_service(max_refusals=3, retry_after_s=100)
    driver.say(celsius="81 C")
    for wait in (100, 200):
        advance(service.context)
        service.clock.advance(wait - 1)
        assert not advance(service.context)
        service.clock.advance(1)
    advance(service.context)

    run, attempt = first(service), service.rows(AttemptRow)[0]
    assert run.state == "failed"
    assert run.reason.startswith(
        "infra_failed: host here refused to start it 3 times in a row, at last for: temperature"
    )
    assert (attempt.outcome, attempt.detail) == ("infra_failed", run.reason)
    assert (host(service).state, host(service).state_by) == ("cordoned", "health gate")
    assert sorted(service.run_states()) == ["failed", "queued", "queued", "queued", "queued"]

    service.clock.advance(10_000)
    driver.say()
    assert advance(service.context) == 0
    set_state(service, "ready")
    assert advance(service.context) == 1
    assert events(service) == ["host:refused"] * 2 + ["host:cordoned", "host:refused", "host:ready"]


def test_what_waiting_does_not_heal_cordons_the_host_at_once_and_fails_no_run(gpu_service: Service, driver: Driver):
    driver.say(errors="2")

    advance(gpu_service.context)

    assert first(gpu_service).state == "queued"
    assert "is cordoned, as waiting heals nothing here: ECC errors: dram_uncorrectable 2" in first(gpu_service).reason
    assert (host(gpu_service).state, first(gpu_service).refusals) == ("cordoned", 0)


def test_what_the_driver_does_not_state_is_kept_as_unknown_and_refuses_nothing(gpu_service: Service, driver: Driver):
    driver.say(celsius="N/A", errors="N/A")

    assert advance(gpu_service.context) == 1
    states = {one["name"]: one["state"] for one in json.loads(host(gpu_service).health)["findings"]}
    assert (states["temperature"], states["ECC errors"]) == ("unknown", "unknown")


def test_a_driver_that_changed_is_put_on_record_and_refuses_nothing(gpu_service: Service, driver: Driver):
    advance(gpu_service.context)
    driver.say(driver="572.01.01")
    gpu_service.measure()

    assert set(gpu_service.run_states()) == {"measured"}
    with gpu_service.store.read() as session:
        (changed,) = (row for row in latest(session) if row.event == "host:driver_changed")
    assert json.loads(changed.detail) == {"before": "571.10.03", "after": "572.01.01"}


def test_a_driver_that_is_not_the_wanted_one_is_refused(make_gpu_service: Callable[..., Service], driver: Driver):
    service = make_gpu_service(driver="570")

    advance(service.context)

    assert "driver: 571.10.03, wanted 570" in first(service).reason


def test_without_a_gpu_the_disk_is_looked_at(make_service: Callable[..., Service]):
    service = make_service(health={"min_free_gb": 10_000_000})
    service.publish("1.0.0", level=FAST)
    service.look()

    advance(service.context)

    assert "GB free, wanted at least 1e+07 GB" in first(service).reason


@pytest.mark.parametrize("executor", ["replay", "slurm"])
def test_runs_that_do_not_load_this_machine_are_not_held_up_by_it(make_service: Callable[..., Service], executor: str):
    service = make_service(health={"min_free_gb": 10_000_000})
    service.write_suite(SUITE.replace('executor = "local"', f'executor = "{executor}"'))
    service.publish("1.0.0", level=FAST)
    service.look()

    assert advance(service.context) == 1


def test_the_gate_can_be_taken_away(make_gpu_service: Callable[..., Service], driver: Driver):
    driver.say(celsius="99 C")

    assert advance(make_gpu_service(gate=False).context) == 1


def test_a_refused_run_that_is_cancelled_stays_cancelled(gpu_service: Service, driver: Driver):
    from tracker.pipeline.requests import cancel

    driver.say(celsius="81 C")
    advance(gpu_service.context)
    cancel(gpu_service.context, first(gpu_service).public_id, who="ann")
    gpu_service.clock.advance(60)
    advance(gpu_service.context)

    assert (first(gpu_service).state, first(gpu_service).reason) == ("cancelled", "cancelled by ann")


def test_a_look_that_finds_the_machine_fit_ends_the_hold(gpu_service: Service, driver: Driver):
    driver.say(celsius="81 C")
    advance(gpu_service.context)
    driver.say()

    assert look_here(gpu_service.context, who="ann").refusals == ()
    assert advance(gpu_service.context) == 1
    assert "81 C" in host(gpu_service).refusal


# --- adding hosts


def test_a_machine_that_cannot_be_probed_needs_its_hardware_named(service: Service):
    with pytest.raises(UserError, match="its hardware must be named: --gpu with --gpus"):
        add_host(service.context, "far", hardware=None, slots=None, pools=None, who="ann")

    hardware = {"gpu": "NVIDIA Example", "gpu_count": 8}
    assert add_host(service.context, "far", hardware=hardware, slots=None, pools=["a"], who="ann")
    assert not add_host(service.context, "far", hardware=None, slots=4, pools=None, who="ann")
    (far,) = (row for row in service.rows(HostRow) if row.slug == "far")
    assert (far.slots, json.loads(far.pools)) == (4, ["a"])
    assert events(service) == ["host:added", "host:shaped", "host:shaped"]


@pytest.mark.parametrize(("name", "pool"), [("", "a"), ("a b", "a"), ("x" * 129, "a"), ("far", "A"), ("far", "a b")])
def test_a_name_that_cannot_be_one_changes_nothing(service: Service, name: str, pool: str):
    with pytest.raises(UserError, match="expected"):
        add_host(service.context, name, hardware={"cpu": "X", "cores": 1}, slots=None, pools=[pool], who="ann")
    assert service.rows(HostRow) == []
