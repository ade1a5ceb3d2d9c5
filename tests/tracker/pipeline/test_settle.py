"""When a release is judged: after all that it is to be judged by."""

from __future__ import annotations

import pytest

from tests.tracker.pipeline.kit import FAST, REPEATS, SLOW, SUITE, Play, Service, result
from tracker.pipeline.execute import advance
from tracker.pipeline.requests import trigger
from tracker.store.tables import HardwareClassRow


def told(service: Service) -> set[tuple[str, str]]:
    """Return (release, hardware class) of every summary."""
    names = service.releases()
    classes = {row.id: row.slug for row in service.rows(HardwareClassRow)}
    return {(names[row.release_id], classes[row.hardware_class_id]) for row in service.summaries()}


def measure_some(service: Service, count: int) -> None:
    """End so many of the runs that are next; the one after them goes on."""
    for _ in range(count):
        advance(service.context)
    service.executor.hold_all = True
    advance(service.context)
    service.judge_meanwhile()


def test_a_triggered_release_is_judged_by_all_repeats_that_were_asked_for(service: Service):
    service.write_suite(SUITE.replace("[matrix]", "backfill = false\n[matrix]"))
    service.publish("1.0.0", level=FAST)
    service.publish("1.1.0", level=SLOW)
    service.go()
    assert set(service.points()) == {"1.1.0"}
    before = (service.changes(), service.verdicts(), told(service))
    trigger(service.context, "thing", "1.0.0", repeats=4, who="ann")

    measure_some(service, 3)
    assert (service.changes(), service.verdicts(), told(service)) == before

    service.executor.hold_all = False
    service.executor.held.clear()
    service.measure()
    service.judge()
    assert len(service.points()["1.0.0"]) == 4
    assert (service.changes(), told(service)) != (before[0], before[2])


@pytest.mark.parametrize("executor", ["slurm", "kubernetes"])
def test_a_release_in_a_cluster_waits_for_all_runs_whatever_node_they_may_get(service: Service, executor: str):
    service.write_suite(SUITE.replace('executor = "local"', f'executor = "{executor}"'))
    there = {"hardware_class": {"slug": "1x-nvidia-h200", "labels": {"gpu": "NVIDIA H200", "gpu_count": 1}}}
    for version in ("1.0.0", "1.1.0"):
        service.plays[version] = [Play(result=result(FAST, 5.0), environment=there) for _ in range(REPEATS)]
    service.publish("1.0.0")
    service.go()
    service.publish("1.1.0")
    service.look()
    measure_some(service, 2)
    assert {release for release, _ in told(service)} == {"1.0.0"}


def test_recorded_values_belong_to_the_hardware_they_were_taken_on_and_their_release_waits_for_all(service: Service):
    service.write_suite(SUITE.replace('executor = "local"', 'executor = "replay"'))
    there = {"hardware_class": {"slug": "1x-nvidia-h200", "labels": {"gpu": "NVIDIA H200", "gpu_count": 1}}}
    plays = [Play(result=result(FAST, 5.0), environment=there if place % 2 else None) for place in range(REPEATS)]
    service.plays["1.0.0"], service.plays["1.1.0"] = list(plays), list(plays)
    service.publish("1.0.0")
    service.go()
    assert told(service) == {("1.0.0", "1x-nvidia-h200"), ("1.0.0", "cpu-2")}
    service.publish("1.1.0")
    service.look()
    measure_some(service, 3)
    assert {release for release, _ in told(service)} == {"1.0.0"}
