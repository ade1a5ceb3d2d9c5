"""The words that run a program in a container on a node: srun with the options of pyxis (enroot)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.executors._commands import Ended, printed_lines
from jobs.executors._slurm_ranks import launcher_words, srun_words
from jobs.protocols import JobOutcome, JobSpec

_NAME = r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
_HOST = r"localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:\d)"
_REFERENCE = re.compile(rf"(?:(?P<registry>(?:{_HOST})(?::\d+)?)/)?(?P<name>{_NAME})(?::(?P<tag>\w[\w.-]*))?", re.ASCII)
_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
"""Docker Hub, which enroot means where no registry is named."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PYXIS_FAILED = re.compile(
    r"pyxis: .*(fail|couldn't|error|unable)|unrecognized option '--(no-)?container|enroot.*ERROR", re.I
)


def image_argument(job: JobSpec) -> str:
    """Return the image as pyxis takes it: a squashfs file, or `REGISTRY#NAME:DIGEST`.

    enroot takes a digest where a tag stands (its grammar of a tag has a colon), so exactly the planned build is run.
    """
    location = job.build_location.partition("@")[0]
    if location.endswith(".sqsh"):
        if not Path(location).is_absolute() or re.search(r"[\x00-\x1f\x7f]", location):
            raise UserError(f"job {job.key}: expected the absolute path of a squashfs file, found {location!r}")
        return location
    match = _REFERENCE.fullmatch(location)
    if match is None:
        raise UserError(
            f"job {job.key}: expected an image such as nvcr.io/nvidia/tensorrt-llm/release:1.0.0, found {location!r}"
        )
    registry, name, tag = match.group("registry"), match.group("name"), match.group("tag")
    registry = None if registry in _HUB else registry
    version = job.build_digest if _DIGEST.fullmatch(job.build_digest) else tag
    return (f"{registry}#" if registry else "") + name + (f":{version}" if version else "")


def mount_argument(readable: Sequence[str], work: Path, program: Path | None) -> str:
    """Return the mounts: the working folder to write into, everything else to read only, all at their own paths."""
    pairs = [source if ":" in source else f"{source}:{source}" for source in readable]
    if program is not None:
        pairs.append(f"{program}:{program}")
    for path in (work, *pairs):
        if re.search(r"[,\x00-\x1f\x7f]", str(path)) or (path == work and ":" in str(path)):
            raise UserError(f"the path {str(path)!r} cannot be mounted: pyxis has no way to write ',' and ':' in one")
    return ",".join([f"{work}:{work}", *(f"{pair}:ro" for pair in pairs)])


def container_words(job: JobSpec, order: Mapping[str, Any], image: str, work: Path) -> tuple[str, ...]:
    """Return the command up to the program, the job's arguments following; a script runs on the image's python3."""
    program = ["python3", job.program] if job.program.endswith(".py") else [job.program]
    srun = (*srun_words(order["srun"], job.nodes, order["mpi"], cpus_of_task()), *_container(job, order, image, work))
    return launcher_words(job.nodes, work, srun=srun, program=program, path="") if job.nodes else (*srun, *program)


def cpus_of_task() -> str | None:
    """Return what Slurm says in this job of the CPUs of one task; srun of newer versions does not look itself."""
    return os.environ.get("SLURM_CPUS_PER_TASK")


def _container(job: JobSpec, order: Mapping[str, Any], image: str, work: Path) -> tuple[str, ...]:
    script = Path(job.program) if job.program.endswith(".py") else None
    entrypoint = "--container-entrypoint" if job.container.entrypoint else "--no-container-entrypoint"
    return (
        f"--container-image={image}",
        f"--container-mounts={mount_argument(order['mounts'], work, script)}",
        f"--container-workdir={work}",
        "--no-container-mount-home",
        entrypoint,
    )


def blame(end: Ended, log: Path) -> Ended:
    """Return the end of a run in a container, blamed on the machine where the container did not come up."""
    if end.outcome is not JobOutcome.TOOL_FAILED:
        return end
    said = next((line for line in printed_lines(log) if _PYXIS_FAILED.search(line)), None)
    if said is None:
        return end
    return Ended(JobOutcome.INFRA_FAILED, f"the container did not start: {said[:300]}", end.exit_code)
