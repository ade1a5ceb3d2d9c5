"""Running a command under a guard, with limits on its time and on what it writes; and reading what it printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.protocols import JobOutcome

_GUARD = Path(__file__).with_name("_guard.py")
_TAIL_BYTES = 16 * 1024
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
DISK_FULL = "No space left on device"


class Ended(Exception):
    """The attempt is over, and how."""

    def __init__(self, outcome: JobOutcome, detail: str, exit_code: int | None = None) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run and where its output goes."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    cores: tuple[int, ...] = ()
    lock: int | None = None
    """A descriptor that the command shall hold open: a lock then lasts as long as anything of the command lives."""


def run(
    command: Command, *, deadline: float, started: Callable[[int], None], check: Callable[[], None]
) -> tuple[int | None, bool]:
    """Return the exit code and False, or None and True when `deadline` (monotonic) ended it.

    `started` gets the session's number. `check` is called several times a second and raises `Ended` to stop the
    command; whatever happens, nothing of the command is left when this returns or raises.
    """
    with command.log.open("ab") as log:
        guard = subprocess.Popen(
            _guarded(command),
            cwd=command.folder,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if command.lock is None else (command.lock,),
        )
    try:
        started(guard.pid)
        while True:
            check()
            try:
                return guard.wait(timeout=0.1), False
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    return None, True
    finally:
        _stop(guard)


def _guarded(command: Command) -> list[str]:
    cores = ",".join(map(str, command.cores)) or "-"
    return [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), cores, *command.words]


def _stop(guard: subprocess.Popen[bytes]) -> None:
    """End a guard that still runs; it needs 3 s for a command that does not listen."""
    if guard.poll() is None:
        guard.terminate()
        try:
            guard.wait(timeout=4.0)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()


def folder_bytes(folder: Path, *, limit_bytes: int) -> int:
    """Return the room a folder takes on the disk, counting no further than a little over the limit."""
    total_bytes, waiting = 0, [folder]
    while waiting and total_bytes <= limit_bytes:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    total_bytes += max(facts.st_blocks * 512, 1024)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
        except OSError:
            continue
    return total_bytes


def size_text(size_bytes: int) -> str:
    """Return a size for people, in decimal units as everywhere: `16 MB`, `1.5 GB`."""
    if size_bytes < 1_000_000:
        return f"{size_bytes} bytes"
    mega = round(size_bytes / 1e6)
    return f"{mega} MB" if mega < 1000 else f"{size_bytes / 1e9:.1f} GB"


def printed_lines(log: Path) -> list[str]:
    """Return the last lines of a log without control characters and empty lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    lines = (_UNPRINTABLE.sub("", line).strip() for line in re.split(r"[\r\n]+", text))
    return [line for line in lines if line]


def last_line(log: Path) -> str:
    """Return what the command said last, cut to one line of a table; empty when it said nothing."""
    lines = printed_lines(log)
    return lines[-1][:300] if lines else ""
