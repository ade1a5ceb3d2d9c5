"""Runs ssh for as long as its owner lives: `python _keeper.py LIFELINE FOLDER COMMAND...`.

LIFELINE is the number of a pipe's reading end that only the owner can write into: when the owner is gone, however it
ended, the pipe is at its end, and so is ssh. Then FOLDER is removed (`-` for none). Runs as a script, without any
import of ours, in a session of its own: nobody can be asked for a password, and Ctrl-C in a terminal is the owner's.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

NO_PROGRAM = 127
_ENDED_HERE = 255
_PR_SET_PDEATHSIG = 1
_GRACE_S = 1.0


def _die_with_keeper() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait(child: subprocess.Popen[bytes], lifeline: int, woken: int) -> int | None:
    """Return the child's exit code; None when the owner is gone, or somebody ends this process, before that."""
    while child.poll() is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready or any(number != signal.SIGCHLD for number in os.read(woken, 64)):
            return None
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def main(lifeline: int, folder: str, command: list[str]) -> int:
    """Return the exit code of the command; 255 where it was ended here or by a signal, 127 where there is none."""
    with suppress(PermissionError):
        os.setsid()
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        child = subprocess.Popen(command, preexec_fn=_die_with_keeper)
        os.close(0)
        os.close(1)
        status = _wait(child, lifeline, woken)
        if status is None:
            _end(child)
    except FileNotFoundError:
        return NO_PROGRAM
    finally:
        if folder != "-":
            shutil.rmtree(folder, ignore_errors=True)
    return status if status is not None and status >= 0 else _ENDED_HERE


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
