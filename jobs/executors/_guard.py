"""Runs one command and leaves nothing of it behind: `python _guard.py PARENT CORES COMMAND...`.

The guard stands between the supervisor and a command. All that the command starts, daemons included, stays below
the guard (it is a subreaper), and the guard is told by the kernel when its supervisor dies. It ends them all on
SIGTERM, when the supervisor is gone, and when the command itself has ended. Its exit status is the command's.
CORES is a comma-separated list, `-` for no pinning. Run as a script, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import NoReturn

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 3.0


class _Stop(Exception):
    """SIGTERM arrived."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Stop


def _prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def become_subreaper() -> None:
    """From now on orphans among our descendants become our children instead of init's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _become(command: list[str], cores: str, guard: int) -> NoReturn:
    """Turn this fresh child into the command; never return."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        if os.getppid() == guard:
            os.setpgid(0, 0)
            if cores != "-":
                os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def descendants(root: int) -> set[int]:
    """Return the processes below `root`; empty where the system does not say."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if LINUX else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {root}


def signal_descendants(number: signal.Signals, group: int = 0) -> None:
    """Signal all below this process; where the system cannot list them, the members of `group`."""
    for pid in descendants(os.getpid()):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    if group and not LINUX:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def all_gone(within_s: float) -> bool:
    """Return whether this process has no child any more, waiting for that at most so long."""
    until = time.monotonic() + within_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not pid:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)


def end_descendants(group: int = 0, *, grace_s: float = 0.0) -> bool:
    """End everything below this process, politely for `grace_s`, then not; return whether all is gone."""
    if grace_s:
        signal_descendants(signal.SIGTERM, group)
        if all_gone(grace_s):
            return True
    for _ in range(100):
        signal_descendants(signal.SIGKILL, group)
        if all_gone(0.05):
            return True
    return False


def _wait(child: int) -> int:
    """Return the command's wait status, collecting orphans meanwhile."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status


def _leave(status: int) -> NoReturn:
    """End as the command ended: with its exit code or by its signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def main(parent: int, cores: str, command: list[str]) -> NoReturn:
    """Run the command to its end, or until told to stop."""
    child = 0
    signal.signal(signal.SIGTERM, _stop)
    try:
        become_subreaper()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(143)
        guard = os.getpid()
        child = os.fork()
        if child == 0:
            _become(command, cores, guard)
        status = _wait(child)
        end_descendants(child)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except _Stop:
        end_descendants(child, grace_s=_GRACE_S if os.getppid() == parent else 0.0)
        os._exit(143)
    _leave(status)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
