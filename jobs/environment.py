"""Where a measurement was taken: the host's facts, its hardware class, and a fingerprint of what may change results."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs.fingerprint import canonical_labels, fingerprint
from jobs.measurements import Label

_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as its driver names it."""

    product: str
    memory_bytes: int | None
    driver: str


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

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain JSON values."""
        return {**asdict(self), "gpus": [asdict(gpu) for gpu in self.gpus]}


def capture_host() -> Host:
    """Return the facts of this machine now; never fails: what cannot be read is None."""
    cpuinfo = _text(Path("/proc/cpuinfo"))
    gpus, gpu_note = capture_gpus()
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
        virtualised=_virtualised(cpuinfo),
        load_1min=_load(),
        gpus=gpus,
        gpu_note=gpu_note,
    )


def hardware_class(host: Host) -> tuple[str, dict[str, Label]]:
    """Return a short name and the labels of the class of machines whose results belong in one series.

    GPU product and count; where there is none, CPU model and number of logical cores.
    """
    if host.gpus:
        products = sorted({gpu.product for gpu in host.gpus})
        labels: dict[str, Label] = {"gpu": " + ".join(products), "gpu_count": len(host.gpus)}
        return _slug(f"{len(host.gpus)}x-{labels['gpu']}"), labels
    cores = host.cores_logical or 0
    return _slug(f"{host.cpu_model}-{cores}-cores"), {"cpu": host.cpu_model, "cores": cores}


def hardware_fingerprint(labels: Mapping[str, Label]) -> str:
    """Return the stable name of a hardware class."""
    return fingerprint("hardware", canonical_labels(labels))


def environment_fingerprint(host: Host, packages: Sequence[str]) -> str:
    """Return the name of all that may change a result besides the release: not time, not load.

    Kernel, system, CPU and its settings, GPUs and their driver, Python, and `packages`: those that the suite pins.
    """
    passing = {"load_1min", "gpu_note"}
    lasting = {key: value for key, value in host.to_json().items() if key not in passing}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    text = json.dumps({"host": lasting, "python": python, "packages": sorted(packages)}, sort_keys=True)
    return fingerprint("environment", text)


def environment_record(packages: Sequence[str], *, asked: Sequence[str]) -> dict[str, Any]:
    """Return what is written down next to a result about where it was taken.

    `packages` is all that is installed, `asked` those among them that may make two environments differ.
    """
    host = capture_host()
    slug, labels = hardware_class(host)
    return {
        "schema": 1,
        "replayed": False,
        "host": host.to_json(),
        "hardware_class": {"slug": slug, "labels": labels, "fingerprint": hardware_fingerprint(labels)},
        "fingerprint": environment_fingerprint(host, asked),
        "python": {"implementation": platform.python_implementation(), "version": platform.python_version()},
        "packages": sorted(packages),
    }


def capture_gpus() -> tuple[tuple[Gpu, ...], str]:
    """Return the GPUs and, where there are none, why."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return (), "no GPU: nvidia-smi not found"
    query = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return (), f"no GPU: nvidia-smi did not answer: {error}"
    if answer.returncode != 0:
        said = (answer.stdout + answer.stderr).strip().splitlines() or ["it printed nothing"]
        return (), f"no GPU: nvidia-smi ended with exit code {answer.returncode}: {said[0]}"
    gpus = parse_gpus(answer.stdout)
    return gpus, "" if gpus else "no GPU: nvidia-smi lists none"


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Return the GPUs in nvidia-smi's lines of name, memory in MiB, driver; a memory of `[N/A]` becomes None."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if len(row) == 3]
    return tuple(
        Gpu(product=name, memory_bytes=int(mib) * 1024 * 1024 if mib.isdigit() else None, driver=driver)
        for name, mib, driver in rows
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


def _virtualised(cpuinfo: str) -> bool | None:
    """Return whether a hypervisor announces itself in the CPU's flags; None where there are no such flags."""
    flags = re.search(r"^flags\s*:(.+)$", cpuinfo, re.MULTILINE)
    return "hypervisor" in flags.group(1).split() if flags else None


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
