"""What `tracker doctor` says of this machine: Python, installer, home folder, disk, cores, load, GPUs."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.environment import capture_host
from jobs.executors.local import find_uv

PROBE_BYTES = 65536
LEAST_FREE_BYTES, ENOUGH_FREE_BYTES = 1_000_000_000, 5_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was looked at, what was found, and what to do about it."""

    name: str
    state: str
    found: str
    cure: str = ""


def ok(name: str, found: str) -> Check:
    """Return a check that found nothing wrong."""
    return Check(name=name, state="ok", found=found)


def check_this_machine(home: Path) -> list[Check]:
    """Return all that is said of it; `home` is the service's folder."""
    return [check_python(), *check_installer(), check_home(home), check_disk(home), *check_machine()]


def check_python() -> Check:
    """Return which Python this is; an older one could not have started this command."""
    return ok("python", f"{platform.python_version()} ({sys.executable})")


def check_installer() -> Iterator[Check]:
    """Yield what makes the environments that releases are installed into."""
    if uv := find_uv():
        yield ok("installer", f"uv ({uv})")
    elif has_pip():
        cure = "install uv to make environments in seconds instead of a minute"
        yield Check(name="installer", state="warn", found="pip, uv is not here", cure=cure)
    else:
        cure = "install uv, or python3-venv and pip"
        yield Check(name="installer", state="fail", found="neither uv nor pip", cure=cure)


def has_pip() -> bool:
    """Return whether this Python can make an environment with pip in it."""
    from importlib.util import find_spec

    return find_spec("ensurepip") is not None


def check_home(home: Path) -> Check:
    """Return whether the service's folder can be written."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(bytes(PROBE_BYTES))
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        cure = "correct the folder's permissions, or set another TRACKER_HOME"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            cure = "free some room there: until then nothing can be recorded; what runs goes on and is recorded after"
        return Check(name="home", state="fail", found=f"{home}: {(error.strerror or '').lower()}", cure=cure)
    return ok("home", f"{home} can be written")


def check_disk(home: Path) -> Check:
    """Return whether there is room for environments and outputs."""
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    found = f"{free / 1e9:.1f} GB free at {place}"
    if free >= ENOUGH_FREE_BYTES:
        return ok("disk", found)
    cure = "each release's environment takes 0.1 to 0.5 GB, GPU software more: free some, or move TRACKER_HOME"
    return Check(name="disk", state="fail" if free < LEAST_FREE_BYTES else "warn", found=found, cure=cure)


def check_machine() -> Iterator[Check]:
    """Yield what this machine is like to measure on."""
    host = capture_host()
    cores = host.cores_allowed or host.cores_logical
    found = f"{host.cpu_model or 'unknown'}, {cores or 'an unknown number of'} cores usable"
    if cores is None or cores >= 2:
        yield ok("cpu", found)
    else:
        cure = "with one core the service disturbs what it measures: use a machine with two or more"
        yield Check(name="cpu", state="warn", found=found, cure=cure)
    yield check_pinning()
    if host.load_1min is not None and cores and host.load_1min > cores:
        cure = "other programs are at work: results are noisier until they end"
        yield Check(name="load", state="warn", found=f"{host.load_1min:.1f} over the last minute", cure=cure)
    if host.gpus:
        yield ok("gpu", ", ".join(f"{gpu.product} (driver {gpu.driver})" for gpu in host.gpus))
    else:
        yield ok("gpu", f"none on this machine ({host.gpu_note or 'none found'}); each suite says where it runs")


def check_pinning() -> Check:
    """Return whether a benchmark can be held on one core."""
    cure = "runs are marked unpinned and are noisier; allow sched_setaffinity, or measure on Linux"
    if not hasattr(os, "sched_setaffinity"):
        return Check(name="pinning", state="warn", found="this system cannot pin to cores", cure=cure)
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except OSError as error:
        return Check(name="pinning", state="warn", found=f"refused: {error.strerror}", cure=cure)
    return ok("pinning", "a benchmark can be held on its core")
