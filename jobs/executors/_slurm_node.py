"""Carries one attempt on a node, as the script of a Slurm job: `python -m jobs.executors._slurm_node FOLDER`.

It claims the attempt first, so a job that Slurm runs twice, or two jobs for one attempt, measure once. What it wrote is
listed in `manifest.json` before the end is recorded, so that whoever reads from elsewhere knows when all has arrived.
When it is told to stop by anybody but us it records no end: Slurm knows why (time, preemption, a person).
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from jobs.executors._attempts import Attempt, job_from_json, read, replace
from jobs.executors._commands import Ended
from jobs.executors._environments import PythonEnvironment, Setup
from jobs.executors._guard import become_subreaper, end_descendants
from jobs.executors._preparation import Prepared, installer_variables, prepare, program_words, search_path
from jobs.executors._processes import MARKER
from jobs.executors._program import run_program
from jobs.executors._slurm_container import blame, container_words, cpus_of_task
from jobs.executors._slurm_ends import NO_FOLDER
from jobs.executors._slurm_files import listing
from jobs.executors._slurm_images import prepare_image
from jobs.executors._slurm_ranks import (
    end_steps,
    judge_ranks,
    keep_rank_logs,
    launcher_words,
    make_rank_folders,
    srun_words,
    variables_of_all,
)
from jobs.executors._supervisor import outcome_of
from jobs.protocols import CALLED_OFF, JobOutcome, JobSpec

_ORDER_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.5
_BEAT_EVERY_S = 5.0
_GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS")
_PASSED = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_TOLD_TO_STOP = 128 + signal.SIGTERM


class _Told(BaseException):
    """Somebody else ended this job; nothing is recorded."""


@dataclass(slots=True)
class _Watch:
    """Looks several times a second whether to go on, and shows that this attempt is alive."""

    attempt: Attempt
    told: bool = False
    _next_look: float = 0.0
    _next_beat: float = 0.0

    def tell(self, _number: int, _frame: FrameType | None) -> None:
        self.told = True

    def check(self) -> None:
        """Raise where the attempt was cancelled, has been given up by its service, or was told to stop."""
        now = time.monotonic()
        if self.told or now >= self._next_look:
            self._next_look = now + _LOOK_EVERY_S
            if self.attempt.file("cancel").exists():
                raise Ended(JobOutcome.CANCELLED, CALLED_OFF)
            if self.told or self.attempt.file("status.json").exists():
                raise _Told
        if now >= self._next_beat:
            self._next_beat = now + _BEAT_EVERY_S
            with suppress(OSError):
                replace(self.attempt.file("heartbeat.json"), {"at": datetime.now(UTC).isoformat()})


def main(folder: Path) -> int:
    """Run the attempt in `folder` unless somebody has claimed it; return the exit code of the job's script."""
    attempt = Attempt(folder)
    watch = _Watch(attempt)
    signal.signal(signal.SIGTERM, watch.tell)
    if not _sees_order(attempt):
        print(f"{attempt.file('job.json')} is not here: {socket.gethostname()} does not see that folder", flush=True)
        return NO_FOLDER
    become_subreaper()
    if not attempt.claim(_owner()):
        print(f"attempt {attempt.key} is claimed already; this job has nothing to do", flush=True)
        return 0
    try:
        end = outcome_of(lambda: _carry_out(attempt, watch), folder)
    except _Told:
        end_descendants()
        shutil.rmtree(attempt.work, ignore_errors=True)
        return _TOLD_TO_STOP
    end_descendants()
    shutil.rmtree(attempt.work, ignore_errors=True)
    replace(attempt.file("manifest.json"), listing(attempt))
    attempt.finish(end.outcome, end.detail, at=datetime.now(UTC), exit_code=end.exit_code)
    return 0


def _sees_order(attempt: Attempt) -> bool:
    """Return whether the order is here; a shared file system may need a while to show it."""
    deadline = time.monotonic() + _ORDER_WITHIN_S
    while not attempt.file("job.json").exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _owner() -> dict[str, object]:
    return {
        "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        "restart": os.environ.get("SLURM_RESTART_COUNT", "0"),
        "host": socket.gethostname(),
        "process": os.getpid(),
    }


def _carry_out(attempt: Attempt, watch: _Watch) -> Ended:
    order = read(attempt.file("job.json"))
    if not order:
        where = f"{attempt.file('job.json')} on {socket.gethostname()}"
        raise Ended(JobOutcome.INFRA_FAILED, f"{where} is missing or damaged")
    job = job_from_json(order["job"])
    if job.build_kind == "image":  # what the image holds is measured, and Slurm places what runs in it
        job = dataclasses.replace(job, requirements=(), pin_cores=0)
    check_gpus(int(order["gpus"]), os.environ)
    setup = Setup(
        cache=Path(order["cache"]),
        uv=order["uv"] if order["uv"] and os.access(order["uv"], os.X_OK) else None,
        variables={**installer_variables(os.environ), MARKER: str(attempt.folder)},
        log=attempt.file("setup.log"),
        deadline=time.monotonic() + job.setup_timeout_s,
        limit_s=job.setup_timeout_s,
        started=_ignore,
        check=watch.check,
    )
    prepared = _prepare(attempt, job, order, setup)
    watch.check()
    end = _run(attempt, job, prepared, order, watch)
    return blame(end, attempt.file("run.log")) if job.build_kind == "image" else end


def _run(attempt: Attempt, job: JobSpec, prepared: Prepared, order: Mapping[str, Any], watch: _Watch) -> Ended:
    """Return how the program ended, on every node of the job where it has ranks there."""
    try:
        end = run_program(
            attempt,
            job,
            prepared,
            work_limit_bytes=order["work_limit_bytes"],
            started=_starter(attempt),
            check=watch.check,
        )
    except Ended as stopped:
        end = stopped
    if job.nodes is None:
        return end
    end_steps(order, os.environ)
    judged = judge_ranks(attempt, job.nodes, end)
    keep_rank_logs(attempt, job.nodes, job.output_limit_bytes)
    return judged


def _ignore(_session: int) -> None:
    """Sessions are of no use here: Slurm knows which processes belong to a job."""


def _starter(attempt: Attempt) -> Callable[[int], None]:
    def started(_session: int) -> None:
        replace(attempt.file("running.json"), {"started_at": datetime.now(UTC).isoformat()})

    return started


def check_gpus(wanted: int, variables: Mapping[str, str]) -> None:
    """Raise Ended where Slurm gave the job fewer GPUs than it asked for: a GPU in name only measures the CPU."""
    if not wanted:
        return
    given = max((len(_devices(variables.get(name, ""))) for name in _GPU_VARIABLES), default=0)
    if given < wanted:
        raise Ended(
            JobOutcome.INFRA_FAILED,
            f"asked Slurm for {wanted} GPU(s), the job on {socket.gethostname()} sees {given}; check gres there",
        )


def _devices(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip() and part.strip() not in ("NoDevFiles", "-1", "void")]


def _prepare(attempt: Attempt, job: JobSpec, order: Mapping[str, Any], setup: Setup) -> Prepared:
    """Return what to run: on the node itself, or in a container of the build under test."""
    if job.build_kind == "image":
        image = prepare_image(job, setup, keep=int(order["keep_images"]))
        prepared = prepare(attempt, job, setup, lambda job, _: container_words(job, order, image, attempt.work))
    elif job.nodes:
        prepared = prepare(attempt, job, setup, lambda job, made: _ranks_of_program(job, made, order, attempt.work))
    else:
        prepared = prepare(attempt, job, setup)
    variables = {**prepared.variables, **_slurm_variables(os.environ)}
    if job.nodes:
        make_rank_folders(attempt, job.nodes)
        variables = variables_of_all(variables)
    record = read(attempt.file("environment.json")) or {}
    replace(attempt.file("environment.json"), {**record, "scheduler": _scheduler(os.environ)})
    return Prepared(words=prepared.words, variables=variables, cores=prepared.cores, assets_bytes=prepared.assets_bytes)


def _ranks_of_program(job: JobSpec, made: PythonEnvironment, order: Mapping[str, Any], work: Path) -> tuple[str, ...]:
    """Return the command that starts the ranks of a program of the nodes themselves."""
    nodes, program = job.nodes, program_words(job, made)
    if nodes is None:
        return program
    srun = srun_words(order["srun"], nodes, order["mpi"], cpus_of_task())
    return launcher_words(nodes, work, srun=srun, program=program, path=search_path(made))


def _slurm_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what Slurm tells a job, its GPUs above all; a program that starts steps needs the rest."""
    return {name: value for name, value in variables.items() if name.startswith("SLURM_") or name in _PASSED}


def _scheduler(variables: Mapping[str, str]) -> dict[str, str | None]:
    """Return where Slurm ran it, for the record."""
    names = ("JOB_ID", "JOB_PARTITION", "JOB_ACCOUNT", "JOB_QOS", "JOB_NODELIST", "CLUSTER_NAME", "JOB_GPUS")
    return {"kind": "slurm", **{name.lower(): variables.get(f"SLURM_{name}") for name in names}}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
