"""Which processes exist, which of them are ours, and ending them. Linux reads /proc; elsewhere `ps` answers less."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobs.executors._guard import LINUX

MARKER = "TRACKER_ATTEMPT"
"""Environment variable that every process of an attempt inherits; its value is the attempt's folder."""


def carrier_variables(index_url: str) -> dict[str, str]:
    """Return the environment of what carries attempts: this one without our settings, secrets among them."""
    index = {"PIP_INDEX_URL": index_url, "UV_DEFAULT_INDEX": index_url} if index_url else {}
    own = {name: value for name, value in os.environ.items() if not name.startswith("TRACKER_")}
    return {**own, **index, "PYTHONPATH": str(Path(__file__).parents[2])}


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _start_time(pid: int) -> str | None:
    """Return when a living process began, as its system tells it; None for a dead one and for a zombie."""
    if LINUX:
        values = _stat(pid)
        return None if values is None or values[0] in "ZX" else values[19]
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, began = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else began.strip()


def _boot_id() -> str:
    """Return what changes when the machine starts anew; empty where the system has no such thing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def uptime_s() -> float:
    """Return a time that nobody sets, the same for all processes in one life of the machine."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def identify(pid: int) -> dict[str, object]:
    """Return what tells this process from every other that will ever have its number."""
    return {"pid": pid, "began": _start_time(pid), "boot": _boot_id()}


def is_alive(identity: Mapping[str, Any]) -> bool:
    """Return whether exactly that process still runs."""
    began = identity.get("began")
    if began is None or type(identity.get("pid")) is not int:
        return False
    return identity.get("boot") == _boot_id() and _start_time(identity["pid"]) == began


def send(identity: Mapping[str, Any], number: signal.Signals) -> None:
    """Signal exactly that process; do nothing where it is gone, also when its number was taken by another since."""
    if not is_alive(identity):
        return
    pid = identity["pid"]
    try:
        handle = os.pidfd_open(pid) if LINUX else None
    except OSError:
        return
    try:
        if is_alive(identity):
            if handle is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        if handle is not None:
            os.close(handle)


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if LINUX else []


def marked(folder: Path, session: int | None = None) -> list[int]:
    """Return the living processes of the attempt in `folder`: by the marker, or by its session and working folder.

    The second way finds programs that overwrite their own environment to change their title.
    """
    wanted = f"{MARKER}={folder}".encode()
    found = []
    for pid in _numbers():
        try:
            ours = wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if not ours and session is not None:
                where = Path(os.readlink(f"/proc/{pid}/cwd"))
                ours = os.getsid(pid) == session and where.is_relative_to(folder)
        except OSError:
            continue
        if ours and _start_time(pid) is not None:
            found.append(pid)
    return found


def end_marked(folder: Path, session: int | None, *, patience_s: float = 1.0, limit_s: float = 10.0) -> bool:
    """Return whether no process of the attempt is left; those that do not go by themselves are killed."""
    begun = time.monotonic()
    while left := marked(folder, session):
        waited_s = time.monotonic() - begun
        if waited_s > limit_s:
            return False
        if waited_s > patience_s:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return True
