"""The GPUs of this machine, from `nvidia-smi -q -x`: what lasts, which is compared, and their state at one moment."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.errors import Refused
from jobs.gpu_state import (
    MEMORY_USED,
    POWER_DRAWS,
    SmiGpu,
    SmiLog,
    active_reasons,
    find_text,
    quantity,
    read_logs,
)

_ANSWER_WITHIN_S = 30.0
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NO_DRIVER = "nvidia-smi not found"
VOLATILE = ("uuid", "bus_id", "state")
"""Fields of a GPU that name it or change by the minute, so that they make no two environments different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One GPU at one moment. None: the driver does not say."""

    power_w: float | None = None
    temperature_c: float | None = None
    memory_used_bytes: int | None = None
    utilisation_percent: float | None = None
    performance_state: str | None = None
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    held_down_by: tuple[str, ...] = ()
    """Why the clocks are lower than they could be (`gpu_idle`, `sw_power_cap`, `hw_thermal_slowdown` ...)."""
    ecc_errors: Mapping[str, int] | None = None
    """Counts above 0 since the driver was loaded (`volatile`) or ever (`aggregate`); None where there is no ECC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as its driver describes it. None: the driver does not say."""

    product: str
    memory_bytes: int | None
    driver: str
    cuda: str | None = None
    """The newest CUDA that the driver can run, not the one that is installed."""
    architecture: str | None = None
    vbios: str | None = None
    power_limit_w: float | None = None
    application_clocks_mhz: tuple[float | None, float | None] = (None, None)
    """Graphics and memory clock that are asked for."""
    max_clocks_mhz: tuple[float | None, float | None] = (None, None)
    persistence: str | None = None
    compute_mode: str | None = None
    ecc: str | None = None
    mig: str | None = None
    mig_memory_bytes: tuple[int | None, ...] = ()
    """The memory of each MIG device."""
    uuid: str | None = None
    bus_id: str | None = None
    state: GpuState = GpuState()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSet:
    """The GPUs that this process may see, and how they are joined."""

    gpus: tuple[Gpu, ...]
    note: str
    """Why there are none; empty where there are some."""
    topology: str = ""
    """What `nvidia-smi topo -m` prints; empty for one GPU or none."""
    links: Mapping[str, int] | None = None
    """Kind of link (`NV18`, `PIX`, `SYS` ...) -> number of pairs of GPUs joined by it."""


def capture_gpus() -> GpuSet:
    """Return the GPUs and, where there are none, why; never fails."""
    text, trouble = ask_driver()
    found = read_answer(text, trouble)
    return read_answer(text, trouble, ask_driver("topo", "-m")[0]) if len(found.gpus) > 1 else found


def read_answer(text: str, trouble: str, topology: str = "") -> GpuSet:
    """Return the GPUs in what `ask_driver` returned, there or on another machine; where there are none, why."""
    if trouble:
        return GpuSet(gpus=(), note=f"no GPU: {trouble}")
    try:
        gpus = parse_gpus(text)
    except Refused as error:
        return GpuSet(gpus=(), note=f"no GPU: the answer of nvidia-smi cannot be read: {error}")
    if not gpus:
        return GpuSet(gpus=(), note="no GPU: nvidia-smi lists none")
    joined = topology if len(gpus) > 1 else ""
    return GpuSet(gpus=gpus, note="", topology=joined, links=count_links(joined))


def ask_driver(*arguments: str) -> tuple[str, str]:
    """Return what nvidia-smi printed (of everything, as XML), and in words what went wrong, empty where nothing did."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return "", NO_DRIVER
    words = [command, *(arguments or ("-q", "-x"))]
    try:
        answer = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_ANSWER_WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"nvidia-smi did not answer: {error}"
    if answer.returncode != 0:
        said = (answer.stdout + answer.stderr).strip().splitlines() or ["it printed nothing"]
        return "", f"nvidia-smi ended with exit code {answer.returncode}: {said[0]}"
    return answer.stdout, ""


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Return the GPUs in the answer of `nvidia-smi -q -x`; raise Refused where it is damaged."""

    return tuple(_read_gpu(log, gpu) for log in read_logs(text)[:1] for gpu in log.gpus)


def _read_gpu(log: SmiLog, gpu: SmiGpu) -> Gpu:
    def text(*paths: str) -> str | None:
        return find_text(gpu.values, *paths)

    def mhz(block: str) -> tuple[float | None, float | None]:
        return _amount(gpu.values, f"{block}.graphics_clock"), _amount(gpu.values, f"{block}.mem_clock")

    power_blocks = ("gpu_power_readings", "power_readings")
    limits = [f"{block}.{name}" for block in power_blocks for name in ("current_power_limit", "enforced_power_limit")]
    return Gpu(
        product=text("product_name") or "unknown",
        memory_bytes=_bytes(gpu.values, "fb_memory_usage.total"),
        driver=log.driver or "unknown",
        cuda=log.cuda,
        architecture=text("product_architecture"),
        vbios=text("vbios_version"),
        power_limit_w=_amount(gpu.values, *limits, "power_readings.power_limit"),
        application_clocks_mhz=mhz("applications_clocks"),
        max_clocks_mhz=mhz("max_clocks"),
        persistence=text("persistence_mode"),
        compute_mode=text("compute_mode"),
        ecc=text("ecc_mode.current_ecc"),
        mig=text("mig_mode.current_mig"),
        mig_memory_bytes=tuple(_bytes(device, "fb_memory_usage.total") for device in gpu.mig),
        uuid=text("uuid"),
        bus_id=gpu.bus_id or text("pci.pci_bus_id"),
        state=_read_state(gpu),
    )


def _read_state(gpu: SmiGpu) -> GpuState:
    return GpuState(
        power_w=_amount(gpu.values, *POWER_DRAWS),
        temperature_c=_amount(gpu.values, "temperature.gpu_temp"),
        memory_used_bytes=_bytes(gpu.values, MEMORY_USED),
        utilisation_percent=_amount(gpu.values, "utilization.gpu_util"),
        performance_state=find_text(gpu.values, "performance_state"),
        sm_clock_mhz=_amount(gpu.values, "clocks.sm_clock"),
        memory_clock_mhz=_amount(gpu.values, "clocks.mem_clock"),
        held_down_by=active_reasons(gpu.values),
        ecc_errors=_ecc_errors(gpu.values),
    )


def _ecc_errors(values: Mapping[str, str]) -> Mapping[str, int] | None:
    counts = {
        path.removeprefix("ecc_errors."): int(text)
        for path, text in values.items()
        if path.startswith(("ecc_errors.volatile.", "ecc_errors.aggregate.")) and text.isdecimal() and len(text) < 16
    }
    return {name: count for name, count in counts.items() if count} if counts else None


def _amount(values: Mapping[str, str], *paths: str) -> float | None:
    """Return the first number under one of the paths, in the unit that nvidia-smi always uses for it."""
    return next((float(found[0]) for path in paths if (found := quantity(values.get(path)))), None)


def _bytes(values: Mapping[str, str], path: str) -> int | None:
    found = quantity(values.get(path))
    return int(float(found[0]) * _BYTES[found[1]]) if found and found[1] in _BYTES else None


def count_links(topology: str) -> Mapping[str, int] | None:
    """Return how many pairs of GPUs are joined by each kind of link; None where the text holds no matrix."""
    rows = [line.split() for line in re.sub(r"\x1b\[[0-9;]*m", "", topology).splitlines() if line.strip()]
    header = next((row for row in rows if row[0] == "GPU0" and "X" not in row), None)
    if header is None:
        return None
    gpus = [name for name in header if re.fullmatch(r"GPU\d+", name)]
    matrix = {row[0]: row[1 : len(gpus) + 1] for row in rows if row[0] in gpus and "X" in row}
    return dict(sorted(Counter(_pairs(gpus, matrix)).items())) or None


def _pairs(gpus: Sequence[str], matrix: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the link of every pair of GPUs, from the upper half of the matrix."""
    rows = [matrix.get(name, ()) for name in gpus]
    return [kind for number, row in enumerate(rows) for kind in row[number + 1 :]]
