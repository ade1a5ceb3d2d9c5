"""Isolated Python environments, one for each set of requirements, made once and kept by content."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobs.executors._attempts import read, replace
from jobs.executors._commands import DISK_FULL, Command, Ended, printed_lines, run
from jobs.fingerprint import fingerprint
from jobs.protocols import JobOutcome

_NETWORK = re.compile(
    r"error sending request|dns error|failed to fetch|connection (refused|reset|broken|aborted)|timed? ?out|"
    r"NewConnectionError|name resolution|network is unreachable|certificate|"
    r"(HTTP|status)( \w+)? ?(code|error)?:? ?\(?(401|403|407|429|5\d\d)\b|unexpected eof",
    re.IGNORECASE,
)
_REASON = re.compile(r"^(?:error|ERROR|cause|Caused by|╰─▶)[: ]+(.+)$")


def find_uv() -> str | None:
    """Return the path of uv: on the PATH, next to this Python, or in `.venv-uv` beside this environment."""
    beside = (Path(sys.prefix) / "bin", Path(sys.prefix).parent / ".venv-uv" / "bin")
    return shutil.which("uv") or shutil.which("uv", path=os.pathsep.join(map(str, beside)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What preparing an attempt needs to know."""

    cache: Path
    uv: str | None
    """Path of uv; None makes environments with venv and pip."""
    variables: Mapping[str, str]
    """Environment of the installers: the caller's, with its proxies, certificates and index."""
    log: Path
    deadline: float
    limit_s: float
    """The time limit that `deadline` came from, for the message."""
    started: Callable[[int], None]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonEnvironment:
    """A finished environment."""

    folder: Path
    packages: tuple[str, ...]
    """What is installed, as `name==version`, sorted."""

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def run_setup(setup: Setup, words: Sequence[str], *, folder: Path, lock: int | None = None) -> int:
    """Return the exit code of one step of the set-up; raise Ended when the time is over."""
    command = Command(words=words, environment=setup.variables, folder=folder, log=setup.log, lock=lock)
    code, late = run(command, deadline=setup.deadline, started=setup.started, check=setup.check)
    if late or code is None:
        raise _too_late(setup)
    return code


def _too_late(setup: Setup) -> Ended:
    return Ended(JobOutcome.TIMEOUT, f"set-up took longer than its limit of {setup.limit_s:g} s")


@contextmanager
def locked(path: Path, setup: Setup) -> Iterator[int]:
    """Hold a lock among all processes while making one thing; wait for it until the set-up's deadline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                setup.check()
                if time.monotonic() > setup.deadline:
                    raise _too_late(setup) from None
                time.sleep(0.05)
        yield handle
    finally:
        os.close(handle)


def environment_key(requirements: Sequence[str]) -> str:
    """Return the name of the environment that holds exactly these requirements on this Python."""
    base = os.path.realpath(sys.executable)
    parts = [sys.version, platform.machine(), base, *sorted(set(requirements))]
    return fingerprint("environment", json.dumps(parts))


def prepare_environment(requirements: Sequence[str], setup: Setup) -> PythonEnvironment:
    """Return the environment of these requirements, made now unless it exists; raise Ended when it cannot be."""
    folder = setup.cache / "environments" / environment_key(requirements)
    with locked(folder.with_suffix(".lock"), setup) as lock:
        found = _finished(folder)
        if found is None:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _build(folder, requirements, setup, lock)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            found = _finished(folder)
        if found is None:
            raise Ended(JobOutcome.INFRA_FAILED, f"the environment in {folder} has no Python after it was made")
    return found


def _finished(folder: Path) -> PythonEnvironment | None:
    """Return the environment in a folder; None where it is half made, was moved or lost its Python."""
    facts = read(folder / ".complete")
    if not facts or facts.get("folder") != str(folder) or not (folder / "bin" / "python").exists():
        return None
    return PythonEnvironment(folder=folder, packages=tuple(facts.get("packages", ())))


def _build(folder: Path, requirements: Sequence[str], setup: Setup, lock: int) -> None:
    """Make the environment; its `.complete` is written last."""
    for words in _steps(folder, requirements, setup.uv):
        if run_setup(setup, words, folder=folder.parent, lock=lock) != 0:
            raise explain(setup.log)
    replace(folder / ".complete", {"folder": str(folder), "packages": _installed(folder)})


def _steps(folder: Path, requirements: Sequence[str], uv: str | None) -> Iterator[list[str]]:
    """Yield the commands that make an environment."""
    python = str(folder / "bin" / "python")
    wheels = ["--only-binary", ":all:"]
    if uv:
        yield [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder)]
        if requirements:
            yield [uv, "pip", "install", "--no-progress", "--python", python, *wheels, "--", *requirements]
    else:
        yield [sys.executable, "-m", "venv", *([] if requirements else ["--without-pip"]), str(folder)]
        if requirements:
            yield [python, "-m", "pip", "install", "--progress-bar", "off", *wheels, "--", *requirements]


def _installed(folder: Path) -> list[str]:
    """Return what is in an environment; the import is slow, and most attempts find their environment made."""
    from importlib.metadata import distributions

    sites = [str(path) for path in folder.glob("lib/python*/site-packages")]
    return sorted({f"{d.metadata['Name']}=={d.version}" for d in distributions(path=sites)})


def explain(log: Path) -> Ended:
    """Return why an installer failed: infra_failed for what a later try may cure, else a fact about the release."""
    lines = printed_lines(log)
    reasons = [match.group(1) for line in lines if (match := _REASON.match(line))]
    reason = (reasons or lines or ["the installer said nothing"])[-1][:300]
    text = "\n".join(lines)
    if DISK_FULL in text:
        return Ended(JobOutcome.INFRA_FAILED, f"the disk is full: {reason}")
    if _NETWORK.search(text):
        return Ended(JobOutcome.INFRA_FAILED, f"the package index could not be reached: {reason}")
    return Ended(JobOutcome.TOOL_FAILED, f"set-up failed: {reason}")
