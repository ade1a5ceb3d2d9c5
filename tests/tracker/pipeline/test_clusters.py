"""Runs on whatever node a cluster picks: their values belong to the hardware that was captured there."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import col, select

from tests.tracker.pipeline.kit import REPEATS, SUITE, Play, Service, result
from tracker.store.tables import HardwareClassRow, SeriesRow

H200 = {"slug": "1x-nvidia-h200", "labels": {"gpu": "NVIDIA H200", "gpu_count": 1}}


def _hardware_of_series(service: Service) -> set[str]:
    with service.store.read() as session:
        joined = select(HardwareClassRow.slug).join(
            SeriesRow, col(SeriesRow.hardware_class_id) == col(HardwareClassRow.id)
        )
        return set(session.exec(joined).all())


def _measure(service: Service, executor: str, environment: dict[str, Any]) -> set[str]:
    service.write_suite(SUITE.replace('executor = "local"', f'executor = "{executor}"'))
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(result=result(10.0, 5.0), environment=environment) for _ in range(REPEATS)]
    service.go()
    return _hardware_of_series(service)


@pytest.mark.parametrize("executor", ["slurm", "kubernetes"])
def test_values_from_a_cluster_belong_to_the_node_that_measured_them(service: Service, executor: str):
    assert _measure(service, executor, {"hardware_class": H200}) == {"1x-nvidia-h200"}


def test_values_measured_here_belong_to_this_machine(service: Service):
    assert _measure(service, "local", {"hardware_class": H200}) == {"cpu-2"}


@pytest.mark.parametrize(
    "captured",
    [
        None,
        "h200",
        {"slug": "", "labels": {"gpu": "x"}},
        {"slug": 5, "labels": {"gpu": "x"}},
        {"slug": "a", "labels": {}},
        {"slug": "a", "labels": {"gpu": []}},
        {"slug": "a", "labels": {"gpu": "\ud800"}},
    ],
)
def test_a_node_that_does_not_say_what_it_is_counts_as_planned(service: Service, captured: object):
    assert _measure(service, "slurm", {"hardware_class": captured}) == {"cpu-2"}
