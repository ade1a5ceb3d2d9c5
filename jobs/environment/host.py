"""The machine that a benchmark runs on: what its system says of CPU, memory and settings."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs.environment.gpus import Gpu, capture_gpus

_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine as this process sees it. None: the system does not say."""

    system: str
    kernel: str
    machine: str
    cpu_model: str
    cores_logical: int | None
    cores_physical: int | None
    cores_allowed: int | None
    memory_bytes: int | None
    governor: str | None
    turbo: bool | None
    virtualised: bool | None
    load_1min: float | None
    gpus: tuple[Gpu, ...]
    gpu_note: str
    """Why `gpus` is empty; empty itself where there are some."""
    gpu_topology: str = ""
    """How the GPUs are joined, as `nvidia-smi topo -m` prints it."""
    gpu_links: Mapping[str, int] | None = None
    """Kind of link -> number of pairs of GPUs joined by it."""

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain JSON values."""
        return {**asdict(self), "gpus": [asdict(gpu) for gpu in self.gpus]}


def capture_host() -> Host:
    """Return the facts of this machine now; never fails: what cannot be read is None."""
    cpuinfo = _text(Path("/proc/cpuinfo"))
    gpu_set = capture_gpus()
    return Host(
        system=_system(),
        kernel=platform.release(),
        machine=platform.machine(),
        cpu_model=cpu_model(cpuinfo) or _sysctl("machdep.cpu.brand_string") or platform.machine(),
        cores_logical=os.cpu_count(),
        cores_physical=cores_physical(cpuinfo),
        cores_allowed=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        memory_bytes=_memory_bytes(),
        governor=_text(_CPU / "cpu0/cpufreq/scaling_governor").strip() or None,
        turbo=_turbo(),
        virtualised=is_virtualised(cpuinfo),
        load_1min=_load(),
        gpus=gpu_set.gpus,
        gpu_note=gpu_set.note,
        gpu_topology=gpu_set.topology,
        gpu_links=gpu_set.links,
    )


def cpu_model(cpuinfo: str) -> str:
    """Return the CPU's name in the text of /proc/cpuinfo, empty where it has none (as on ARM)."""
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return " ".join(match.group(1).split()) if match else ""


def cores_physical(cpuinfo: str) -> int | None:
    """Return the number of different (socket, core) pairs in the text of /proc/cpuinfo, None where it names none."""
    pairs = set()
    for block in cpuinfo.split("\n\n"):
        values = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in block.splitlines())}
        if "core id" in values:
            pairs.add((values.get("physical id"), values["core id"]))
    return len(pairs) or None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _system() -> str:
    """Return the operating system's own name and version."""
    names = re.search(r'^PRETTY_NAME="?([^"\n]+)', _text(Path("/etc/os-release")), re.MULTILINE)
    if names:
        return names.group(1)
    return f"macOS {platform.mac_ver()[0]}" if sys.platform == "darwin" else platform.system()


def _sysctl(name: str) -> str:
    """Return a value of macOS's sysctl, empty elsewhere."""
    if sys.platform != "darwin":
        return ""
    answer = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _turbo() -> bool | None:
    """Return whether the clock may rise above its base, None where the system does not say."""
    boost = _text(_CPU / "cpufreq/boost").strip()
    if boost:
        return boost == "1"
    no_turbo = _text(_CPU / "intel_pstate/no_turbo").strip()
    return no_turbo == "0" if no_turbo else None


def is_virtualised(cpuinfo: str) -> bool | None:
    """Return whether a hypervisor announces itself in the CPU's flags; None where there are no such flags."""
    flags = re.search(r"^flags\s*:(.+)$", cpuinfo, re.MULTILINE)
    return "hypervisor" in flags.group(1).split() if flags else None


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
