"""What is written down about where a measurement was taken: its hardware class, its fingerprint, all its facts."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jobs.environment.containers import capture_container
from jobs.environment.gpus import VOLATILE
from jobs.environment.host import Host, capture_host
from jobs.environment.software import Library, capture_software
from jobs.fingerprint import canonical_labels, fingerprint
from jobs.measurements import Label

SCHEMA = 2
_PASSING = ("load_1min", "gpu_note", "gpu_topology", "gpu_links")
"""Facts of a host that make no two environments different, or are compared in another form."""


def hardware_class(host: Host) -> tuple[str, dict[str, Label]]:
    """Return a short name and the labels of the class of machines whose results belong in one series.

    GPU product and count; where there is none, CPU model and number of logical cores.
    """
    if host.gpus:
        products = sorted({gpu.product for gpu in host.gpus})
        labels: dict[str, Label] = {"gpu": " + ".join(products), "gpu_count": len(host.gpus)}
        return name_hardware(labels), labels
    labels = {"cpu": host.cpu_model, "cores": host.cores_logical or 0}
    return name_hardware(labels), labels


def name_hardware(labels: Mapping[str, Label]) -> str:
    """Return the short name of a hardware class, from the labels `gpu` and `gpu_count`, or `cpu` and `cores`."""
    if "gpu" in labels:
        return _slug(f"{labels['gpu_count']}x-{labels['gpu']}")
    return _slug(f"{labels['cpu']}-{labels['cores']}-cores")


def hardware_fingerprint(labels: Mapping[str, Label]) -> str:
    """Return the stable name of a hardware class."""
    return fingerprint("hardware", canonical_labels(labels))


def environment_fingerprint(host: Host, packages: Sequence[str], libraries: Sequence[Library] = ()) -> str:
    """Return the name of all that may change a result besides the release: not time, not load, not temperature.

    Kernel, system, CPU and its settings, Python, and `packages`: those that the suite pins. Where there are GPUs also
    their limits, clocks asked for, modes, driver and links, and the `libraries` that the machine brings along.
    """
    facts = host.to_json()
    lasting: dict[str, Any] = {key: value for key, value in facts.items() if key not in _PASSING}
    lasting["gpus"] = [{key: value for key, value in gpu.items() if key not in VOLATILE} for gpu in facts["gpus"]]
    if host.gpus:
        lasting["gpu_links"] = facts["gpu_links"]
        lasting["libraries"] = [asdict(one) for one in sorted(libraries) if not one.source.startswith("pip ")]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    text = json.dumps({"host": lasting, "python": python, "packages": sorted(packages)}, sort_keys=True)
    return fingerprint("environment", text)


def environment_record(packages: Sequence[str], *, asked: Sequence[str], image: str | None = None) -> dict[str, Any]:
    """Return what is written down next to a result about where it was taken.

    `packages` is all that is installed, `asked` those among them that may make two environments differ; `image` is the
    digest of the container image under test, whose libraries then belong to the release and not to the machine.
    """
    host = capture_host()
    slug, labels = hardware_class(host)
    software = capture_software(packages)
    return {
        "schema": SCHEMA,
        "replayed": False,
        "host": host.to_json(),
        "container": capture_container().to_json(),
        "hardware_class": {"slug": slug, "labels": labels, "fingerprint": hardware_fingerprint(labels)},
        "fingerprint": environment_fingerprint(host, asked, () if image else software.libraries),
        "python": {"implementation": platform.python_implementation(), "version": platform.python_version()},
        "packages": sorted(packages),
        "software": {"image": image, **software.to_json()},
    }


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
