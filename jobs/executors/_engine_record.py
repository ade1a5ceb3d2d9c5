"""The record of where a container ran: the engine's machine, the engine, the image, the GPUs as seen from inside."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jobs.environment import (
    Gpu,
    Host,
    Library,
    Software,
    capture_host,
    capture_software,
    environment_fingerprint,
    hardware_class,
    hardware_fingerprint,
    name_hardware,
    parse_gpus,
)
from jobs.errors import Refused
from jobs.executors._assets import MadeAsset
from jobs.measurements import Label
from jobs.protocols import JobSpec

SCHEMA = 2
_NOWHERE = Path("/nonexistent")
MACHINE, BY_SSH = "the machine itself", "the machine, by ssh"
_NAMED, _CONTAINER = "what was named for it", "what its containers see"
"""What a hardware class was read from."""


def engine_facts(version: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, str]:
    """Return name and versions of an engine, and what it runs containers with."""
    parts = version.get("Components")
    named = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    podman = any("podman" in str(part.get("Name", "")).lower() for part in named)
    facts = {
        "engine": "podman" if podman else "docker",
        "version": version.get("Version"),
        "api": version.get("ApiVersion"),
        "runtime": info.get("DefaultRuntime"),
        "storage": info.get("Driver"),
        "cgroups": info.get("CgroupVersion"),
    }
    return {name: str(value)[:80] for name, value in facts.items() if value}


def host_of(info: Mapping[str, Any], *, local: bool) -> Host:
    """Return the facts of the machine that containers run on; of another machine only what its engine says."""
    if local:
        return capture_host()
    cores, memory = info.get("NCPU"), info.get("MemTotal")
    machine = str(info.get("Architecture") or "unknown")
    return Host(
        system=str(info.get("OperatingSystem") or "unknown"),
        kernel=str(info.get("KernelVersion") or "unknown"),
        machine=machine,
        cpu_model=machine,
        cores_logical=cores if type(cores) is int else None,
        cores_physical=None,
        cores_allowed=None,
        memory_bytes=memory if type(memory) is int else None,
        governor=None,
        turbo=None,
        virtualised=None,
        load_1min=None,
        gpus=(),
        gpu_note="no GPU was asked for, and the engine is on another machine",
    )


def class_of(host: Host, *, seen: str, named: Mapping[str, Label] | None) -> dict[str, Any] | None:
    """Return the hardware class of a machine: as its own system tells, `seen` how, else as it was named.

    None where nobody knows: an engine tells neither the CPU's model nor the GPUs.
    """
    if seen:
        return _class_record(hardware_class(host)[1], seen)
    return _class_record(named, _NAMED) if named else None


def _class_record(labels: Mapping[str, Label], source: str) -> dict[str, Any]:
    name = {"slug": name_hardware(labels), "labels": dict(labels), "fingerprint": hardware_fingerprint(labels)}
    return {**name, "source": source}


def container_record(
    job: JobSpec,
    *,
    host: Host,
    hardware: Mapping[str, Any] | None,
    engine: Mapping[str, str],
    image: Mapping[str, Any],
    assets: Sequence[MadeAsset],
    cores: Sequence[int],
    pin_note: str,
) -> dict[str, Any]:
    """Return what is written down next to a result about where it was taken."""
    program = Path(job.program)
    return {
        "schema": SCHEMA,
        "replayed": False,
        "host": host.to_json(),
        "container": dict(engine),
        "hardware_class": hardware,
        "fingerprint": environment_fingerprint(host, _asked(engine)),
        "python": {"implementation": platform.python_implementation(), "version": platform.python_version()},
        "packages": [],
        "software": {"image": job.build_digest, **_software_of(image).to_json()},
        "pinned": bool(cores),
        "pinned_cores": list(cores),
        "pin_note": pin_note,
        "program": {
            "path": job.program,
            "sha256": hashlib.sha256(program.read_bytes()).hexdigest() if program.is_file() else None,
            "arguments": list(job.arguments),
        },
        "requirements": [],
        "assets": [{"name": a.name, "sha256": a.sha256, "size_bytes": a.size_bytes} for a in assets],
        "build": {
            "component": job.component,
            "version": job.version,
            "kind": job.build_kind,
            "location": job.build_location,
            "digest": job.build_digest,
        },
        "limits": {name: value for name, value in asdict(job.container).items() if value not in (None, {})},
    }


def with_gpus_inside(record: Mapping[str, Any], seen: Mapping[str, str]) -> dict[str, Any]:
    """Return the record with the GPUs that the container itself saw.

    Of a machine that only its engine speaks for they are also the GPUs of the host, and may tell its hardware class.
    """
    try:
        gpus = parse_gpus(seen.get("gpus.xml", ""))
    except Refused:
        gpus = ()
    listed = [line.strip() for line in seen.get("gpus.txt", "").splitlines() if line.strip()]
    found = {**record, "gpus_inside": {"listed": listed, "gpus": [asdict(gpu) for gpu in gpus]}}
    hardware = record.get("hardware_class") or {}
    if not gpus or "host" not in record or hardware.get("source") == MACHINE or record["host"]["gpus"]:
        return found
    host = Host(**{**record["host"], "gpus": gpus, "gpu_note": ""})
    if not _is_among(gpus, hardware.get("labels") or {}):
        hardware = _class_record(hardware_class(host)[1], _CONTAINER)
    name = environment_fingerprint(host, _asked(record.get("container") or {}))
    return {**found, "host": host.to_json(), "hardware_class": hardware, "fingerprint": name}


def _is_among(gpus: Sequence[Gpu], labels: Mapping[str, Any]) -> bool:
    """Return whether these may be some of the GPUs of a machine with these labels; a run need not see all of them."""
    products, count = {gpu.product for gpu in gpus}, labels.get("gpu_count")
    return products <= set(str(labels.get("gpu")).split(" + ")) and type(count) is int and len(gpus) <= count


def _asked(engine: Mapping[str, Any]) -> list[str]:
    """Return what may make two environments differ besides the machine."""
    return [f"{engine.get('engine')}=={engine.get('version')}"]


def _software_of(image: Mapping[str, Any]) -> Software:
    """Return the libraries that the image says it holds, in its variables."""
    variables = dict(
        line.split("=", 1)
        for line in (image.get("Config") or {}).get("Env") or []
        if isinstance(line, str) and "=" in line
    )
    found = capture_software((), root=_NOWHERE, variables=variables)
    libraries: tuple[Library, ...] = tuple(one for one in found.libraries if one.source.startswith("$"))
    return replace(found, libraries=libraries, system_packages=(), system_note="inside the image, not listed")
