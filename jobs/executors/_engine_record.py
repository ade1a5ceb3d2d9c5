"""The record of where a container ran: the engine's machine, the engine, the image, the GPUs as seen from inside."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jobs.environment import (
    Host,
    Library,
    Software,
    capture_host,
    capture_software,
    environment_fingerprint,
    hardware_class,
    hardware_fingerprint,
    parse_gpus,
)
from jobs.errors import Refused
from jobs.executors._assets import MadeAsset
from jobs.protocols import JobSpec

SCHEMA = 2
_NOWHERE = Path("/nonexistent")


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


def container_record(
    job: JobSpec,
    *,
    host: Host,
    engine: Mapping[str, str],
    image: Mapping[str, Any],
    assets: Sequence[MadeAsset],
    cores: Sequence[int],
    pin_note: str,
) -> dict[str, Any]:
    """Return what is written down next to a result about where it was taken."""
    slug, labels = hardware_class(host)
    program = Path(job.program)
    return {
        "schema": SCHEMA,
        "replayed": False,
        "host": host.to_json(),
        "container": dict(engine),
        "hardware_class": {"slug": slug, "labels": labels, "fingerprint": hardware_fingerprint(labels)},
        "fingerprint": environment_fingerprint(host, [f"{engine.get('engine')}=={engine.get('version')}"]),
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
    """Return the record with the GPUs that the container itself saw."""
    try:
        gpus = parse_gpus(seen.get("gpus.xml", ""))
    except Refused:
        gpus = ()
    listed = [line.strip() for line in seen.get("gpus.txt", "").splitlines() if line.strip()]
    return {**record, "gpus_inside": {"listed": listed, "gpus": [asdict(gpu) for gpu in gpus]}}


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
