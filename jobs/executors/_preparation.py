"""All that happens before the program runs: its environment, its assets, its working folder, the record of the host."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.environment import environment_record
from jobs.executors._assets import MadeAsset, link_asset, prepare_asset
from jobs.executors._attempts import Attempt, replace
from jobs.executors._commands import Ended
from jobs.executors._environments import PythonEnvironment, Setup, prepare_environment
from jobs.executors._processes import MARKER
from jobs.protocols import JobOutcome, JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the program is run with."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    cores: tuple[int, ...]
    assets_bytes: int


def prepare(
    attempt: Attempt,
    job: JobSpec,
    setup: Setup,
    find_program: Callable[[JobSpec, PythonEnvironment], Sequence[str]] | None = None,
) -> Prepared:
    """Return what to run after making all it needs; raise Ended when that is not possible.

    `find_program` returns the command without the job's arguments; by itself it is looked for on this machine.
    """
    environment = prepare_environment(job.requirements, setup)
    assets = [prepare_asset(asset, setup) for asset in job.assets]
    words = (*(find_program or program_words)(job, environment), *job.arguments)
    shutil.rmtree(attempt.work, ignore_errors=True)
    for folder in (attempt.work, attempt.work / ".home", attempt.work / ".tmp"):
        folder.mkdir()
    for asset in assets:
        link_asset(asset, attempt.work)
    cores, pin_note = pick_cores(job.pin_cores)
    _write_record(attempt, job, environment, assets, cores, pin_note)
    return Prepared(
        words=words,
        variables=program_variables(job, environment, attempt),
        cores=cores,
        assets_bytes=sum(asset.size_bytes for asset in assets),
    )


def _write_record(
    attempt: Attempt,
    job: JobSpec,
    environment: PythonEnvironment,
    assets: Sequence[MadeAsset],
    cores: tuple[int, ...],
    pin_note: str,
) -> None:
    """Write environment.json: the host, the bill of materials, the program and how it is pinned."""
    record = {
        **environment_record(
            environment.packages,
            asked=other_packages(job, environment.packages),
            image=job.build_digest if job.build_kind == "image" else None,
        ),
        "pinned": bool(cores),
        "pinned_cores": list(cores),
        "pin_note": pin_note,
        "program": {"path": job.program, "sha256": _sha256(Path(job.program)), "arguments": list(job.arguments)},
        "requirements": list(job.requirements),
        "assets": [{"name": a.name, "sha256": a.sha256, "size_bytes": a.size_bytes} for a in assets],
        "build": {
            "component": job.component,
            "version": job.version,
            "kind": job.build_kind,
            "location": job.build_location,
            "digest": job.build_digest,
        },
    }
    replace(attempt.file("environment.json"), record)


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _plain_name(requirement: str) -> str:
    """Return the project's name in a requirement or a wheel's file name, normalised."""
    match = re.match(r"\s*([A-Za-z0-9]+(?:[._-]*[A-Za-z]+[A-Za-z0-9]*)*)", requirement)
    return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""


def other_packages(job: JobSpec, packages: Sequence[str]) -> tuple[str, ...]:
    """Return the installed packages that the suite asked for besides the build under test.

    What the build itself brings along belongs to the release, so it is no difference of environment.
    """
    tested = {_plain_name(job.component), _plain_name(Path(job.build_location).name.partition("-")[0])}
    asked = {_plain_name(requirement) for requirement in job.requirements} - tested
    return tuple(package for package in packages if _plain_name(package) in asked)


def pick_cores(count: int) -> tuple[tuple[int, ...], str]:
    """Return the cores to pin to, the highest-numbered ones allowed, and in words why there are none."""
    if count == 0:
        return (), "no pinning was asked for"
    if not hasattr(os, "sched_setaffinity"):
        return (), "this system cannot pin processes to cores"
    allowed = sorted(os.sched_getaffinity(0))
    if count > len(allowed):
        return (), f"{count} cores were asked for, {len(allowed)} may be used here"
    try:
        os.sched_setaffinity(0, allowed)
    except OSError as error:
        return (), f"the system refuses pinning: {error.strerror}"
    return tuple(allowed[-count:]), ""


def program_words(job: JobSpec, environment: PythonEnvironment) -> tuple[str, ...]:
    """Return the command: a Python file runs on the environment's Python, anything else is a command to be found."""
    path = Path(job.program)
    if path.suffix == ".py":
        if not path.is_file():
            raise Ended(JobOutcome.TOOL_FAILED, f"the program {path} does not exist")
        return (str(environment.python), str(path))
    found = shutil.which(job.program, path=search_path(environment))
    if found is None:
        raise Ended(JobOutcome.TOOL_FAILED, f"no command {job.program!r} in the environment or on the PATH")
    return (found,)


def search_path(environment: PythonEnvironment) -> str:
    """Return the PATH of the program: its environment first."""
    return os.pathsep.join([str(environment.python.parent), os.environ.get("PATH", os.defpath)])


def program_variables(job: JobSpec, environment: PythonEnvironment, attempt: Attempt) -> dict[str, str]:
    """Return the program's whole environment: nothing of the caller's but its PATH."""
    return {
        "PATH": search_path(environment),
        "HOME": str(attempt.work / ".home"),
        "TMPDIR": str(attempt.work / ".tmp"),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **job.environment,
        MARKER: str(attempt.folder),
    }


def installer_variables(caller: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of installers: the caller's, without our settings and without its own Python's.

    What pip is told about index and certificates is told to uv as well, which does not read pip's variables.
    """
    hidden = ("TRACKER_", "PYTHON", "VIRTUAL_ENV", "CONDA_")
    variables = {name: value for name, value in caller.items() if not name.startswith(hidden)}
    variables.setdefault("UV_SYSTEM_CERTS", "1")
    for theirs, ours in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_CERT", "SSL_CERT_FILE")):
        if theirs in variables:
            variables.setdefault(ours, variables[theirs])
    return variables
