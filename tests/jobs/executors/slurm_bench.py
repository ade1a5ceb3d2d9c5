"""Programs as jobs of a real Slurm: started, waited for, looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from jobs.protocols import Executor, JobSpec, JobState, JobStatus

Ended = Callable[[Executor, str], JobStatus]
Job = Callable[..., JobSpec]
Until = Callable[..., object]
HANGS = "import time\ntime.sleep(600)"
WRITES = "open('result.json', 'w').write('{}')"


def run(executor: Executor, spec: JobSpec, ended: Ended) -> JobStatus:
    """Start a job and return how it ended."""
    executor.start(spec)
    return ended(executor, spec.key)


def running(executor: Executor, key: str, until: Until) -> None:
    """Wait until the attempt runs."""
    until(lambda: executor.poll(key).state is JobState.RUNNING, f"{key} to run")


def texts_of(executor: Executor, key: str) -> dict[str, str]:
    """Return what an attempt left, by kind."""
    return {output.kind: output.path.read_text() for output in executor.fetch(key)}


def job_of(folder: Path, key: str) -> str:
    """Return Slurm's number of the job that carries an attempt."""
    number: str = json.loads((folder / key / "claimed.json").read_text())["slurm_job"]
    return number
