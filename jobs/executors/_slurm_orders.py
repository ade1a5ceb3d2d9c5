"""What stands in an attempt's order, what its Slurm job is called, and submitting it one at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.errors import TryLater, UserError
from jobs.executors._attempts import Attempt, check_key, job_to_json, read
from jobs.executors._slurm_commands import SlurmCommands, passed_on
from jobs.executors._slurm_options import SlurmOptions
from jobs.protocols import JobSpec

_LOCK_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNames:
    """Names of Slurm jobs, the same for ever for a key of a folder: `tracker-3f2a9c51-run-17-1`."""

    prefix: str

    @classmethod
    def of(cls, folder: Path) -> JobNames:
        """Return the names of one attempts' folder; other folders' have another prefix."""
        return cls(prefix=f"tracker-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]}-")

    def name_of(self, key: str) -> str:
        """Return the job's name for an attempt."""
        return self.prefix + key

    def key_of(self, name: str) -> str | None:
        """Return the attempt of a job; None for anybody else's job."""
        key = name.removeprefix(self.prefix)
        if key == name:
            return None
        with suppress(UserError):
            check_key(key)
            return key
        return None


def order_of(
    job: JobSpec, options: SlurmOptions, beside: Mapping[str, object], cache: Path, commands: SlurmCommands
) -> dict[str, object]:
    """Return all that the node needs to know; paths are made absolute, as it runs in another folder."""
    assets = tuple(replace(asset, maker=str(Path(asset.maker).absolute())) for asset in job.assets)
    program = Path(job.program)
    is_here = program.suffix == ".py" or (program.name != job.program and job.build_kind != "image")
    named = str(program.absolute()) if is_here else job.program
    return {
        **beside,
        "executor": "slurm",
        "job": job_to_json(replace(job, program=named, assets=assets)),
        "cache": str(cache),
        "gpus": options.gpus_of(job),
        "mounts": list(options.mounts),
        "mpi": options.mpi,
        "keep_images": options.keep_images,
        "srun": shutil.which("srun", path=commands.folder or None) or "srun",
    }


def is_ours(attempt: Attempt) -> bool:
    """Return whether the attempt's order says that it is run by Slurm."""
    return (read(attempt.file("job.json")) or {}).get("executor") == "slurm"


def script_of(attempt: Attempt, python: str) -> str:
    """Return the batch script. Its Python takes the shell's place, so that Slurm's signals reach it."""
    words = [python, "-S", "-P", "-m", "jobs.executors._slurm_node", str(attempt.folder)]
    return f"#!/bin/sh\nexec {shlex.join(words)}\n"


def job_variables(index_url: str) -> dict[str, str]:
    """Return the environment of a job: what installers need, and where this package lies."""
    index = {"PIP_INDEX_URL": index_url, "UV_DEFAULT_INDEX": index_url} if index_url else {}
    return {**passed_on(os.environ), **index, "PYTHONPATH": str(Path(__file__).parents[2])}


@contextmanager
def locked_submission(attempt: Attempt) -> Iterator[int]:
    """Hold a lock among the processes of this machine while one of them submits the attempt.

    Nothing depends on it: where a file system has no locks, two jobs for one attempt are one too many, not a second
    measurement. TryLater where another process holds it for long.
    """
    handle = os.open(attempt.file("submit.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + _LOCK_WITHIN_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TryLater(f"another process is submitting attempt {attempt.key}") from None
                time.sleep(0.02)
            except OSError:
                break
        yield handle
    finally:
        os.close(handle)
