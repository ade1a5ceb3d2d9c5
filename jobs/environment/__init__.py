"""Where a measurement was taken: the host, its GPUs, its software, and a fingerprint of what may change results."""

from __future__ import annotations

from jobs.environment.containers import Container, capture_container
from jobs.environment.description import describe_environment
from jobs.environment.differences import (
    Difference,
    compare_environments,
    flatten_environment,
    group_environment,
)
from jobs.environment.gpus import Gpu, GpuSet, GpuState, capture_gpus, count_links, parse_gpus
from jobs.environment.health import SLOWDOWNS, Finding, Health, Sight, Wanted
from jobs.environment.health_checks import judge_health, look_at_machine
from jobs.environment.host import Host, capture_host, cores_physical, cpu_model
from jobs.environment.record import (
    environment_fingerprint,
    environment_record,
    hardware_class,
    hardware_fingerprint,
    name_hardware,
)
from jobs.environment.remote import Machine, look_over_ssh, read_machine
from jobs.environment.software import Library, Software, capture_software

__all__ = [
    "SLOWDOWNS",
    "Container",
    "Difference",
    "Finding",
    "Gpu",
    "GpuSet",
    "GpuState",
    "Health",
    "Host",
    "Library",
    "Machine",
    "Sight",
    "Software",
    "Wanted",
    "capture_container",
    "capture_gpus",
    "capture_host",
    "capture_software",
    "compare_environments",
    "cores_physical",
    "count_links",
    "cpu_model",
    "describe_environment",
    "environment_fingerprint",
    "environment_record",
    "flatten_environment",
    "group_environment",
    "hardware_class",
    "hardware_fingerprint",
    "judge_health",
    "look_at_machine",
    "look_over_ssh",
    "name_hardware",
    "parse_gpus",
    "read_machine",
]
