"""What can be set about Slurm: checked before anything is sent, so that no value can turn into another option."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.executors._options import check_names, number
from jobs.protocols import JobSpec

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,@+-]{0,199}")
_ONE_GRES = r"[A-Za-z0-9_]+(?::[A-Za-z0-9_.-]+)?(?::(?:[0-9]+|\{gpus\}))?"
_GRES = re.compile(f"{_ONE_GRES}(?:,{_ONE_GRES})*")
_EXTRA = re.compile(r"--[a-z][a-z-]*(?:=[^\s\"'`$;\\]{1,200})?")
_PATH = re.compile(r"/[^\x00-\x1f\x7f:,\"'\\]*")
_GPUS = re.compile(r"gpu(?::[^:]*[^:0-9][^:]*)?(?::(\d+))?$")
_OURS = """
    account array chdir cluster clusters comment cpus-per-task error exclusive export export-file gid gres hold input
    job-name mem nodes no-requeue ntasks ntasks-per-node open-mode output parsable partition qos quiet requeue signal
    test-only time uid user wait wrap
"""
OURS = frozenset(_OURS.split())
"""sbatch options that `options` may not hold: they are set otherwise, or would break what is promised."""
MARGIN_S = 120.0
"""What a Slurm job gets beyond the attempt's own limits, which are kept to the second on the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmOptions:
    """All that is set; texts are empty where Slurm shall decide."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    gres: str = ""
    """Generic resources, `gpu:h200:1`; `{gpus}` stands for what a node needs, which is `gpu:{gpus}` by itself."""
    cpus: int = 1
    memory_mb: int = 0
    """0 leaves it to the partition."""
    exclusive: bool = False
    options: tuple[str, ...] = ()
    """Further options of sbatch, one a text: `--constraint=h200`."""
    mounts: tuple[str, ...] = ()
    """Folders that containers may read, `SOURCE` or `SOURCE:TARGET`."""
    mpi: str = ""
    """srun's `--mpi` for containers; empty leaves it out."""
    keep_images: int = 5
    """How many imported images stay in the cache."""
    python: str = sys.executable
    """The Python that carries attempts on the nodes."""
    bin: str = ""
    """Folder of Slurm's commands; empty looks on the PATH."""
    conf: str = ""
    """slurm.conf; empty leaves it to Slurm."""
    answers: str = "text"
    """`text` or `json`: what Slurm's commands are asked for."""
    ask_every_s: float = 10.0
    """Seconds between two questions to the controller."""
    answer_within_s: float = 30.0
    """Patience with one command."""
    queue_limit_s: float = 86_400.0
    """How long an attempt may wait in the queue."""
    files_within_s: float = 120.0
    """How long what a node wrote may take to be seen here."""

    def gres_of(self, job: JobSpec) -> str:
        """Return the generic resources of each node; a part for GPUs is left out for a job that needs none."""
        parts = (self.gres or "gpu:{gpus}").split(",")
        fitting = [part for part in parts if job.gpus or "{gpus}" not in part]
        return ",".join(part.replace("{gpus}", str(job.gpus_per_node)) for part in fitting)

    def gpus_of(self, job: JobSpec) -> int:
        """Return how many GPUs one job asks for, on each of its nodes."""
        matches = (_GPUS.match(part) for part in self.gres_of(job).split(","))
        return sum(int(match.group(1) or 1) for match in matches if match)


def read_options(values: Mapping[str, object], beside: tuple[str, ...]) -> SlurmOptions:
    """Return the checked options; UserError names what is wrong. Names in `beside` belong to somebody else."""
    names = tuple(field.name for field in fields(SlurmOptions))
    check_names("slurm", values, (*names, *beside))
    given: dict[str, Any] = {name: value for name, value in values.items() if name in names and value is not None}
    for name, expression, example in _TEXTS:
        _check_text(name, given.get(name, ""), expression, example)
    for name, expression, example in _LISTS:
        given[name] = _texts(name, given.get(name, ()), expression, example)
    for name, low in _NUMBERS:
        number("slurm", given, name, 1.0, low=low)
    for name in ("cpus", "memory_mb", "keep_images"):
        if not isinstance(given.get(name, 1), int):
            raise UserError(f"executor slurm: {name} must be a whole number, found {given[name]!r}")
    if not isinstance(given.get("exclusive", False), bool):
        raise UserError(f"executor slurm: exclusive must be true or false, found {given['exclusive']!r}")
    if given.get("answers", "text") not in ("text", "json"):
        raise UserError(f"executor slurm: answers must be 'text' or 'json', found {given['answers']!r}")
    _check_extras(given["options"])
    return SlurmOptions(**given)


_TEXTS = (
    ("partition", _WORD, "gpu"),
    ("account", _WORD, "performance"),
    ("qos", _WORD, "normal"),
    ("gres", _GRES, "gpu:h200:{gpus}"),
    ("mpi", _WORD, "pmix"),
    ("python", _PATH, "/opt/tracker/.venv/bin/python"),
    ("bin", _PATH, "/opt/slurm/bin"),
    ("conf", _PATH, "/etc/slurm/slurm.conf"),
)
_LISTS = (
    ("options", _EXTRA, "--constraint=h200"),
    ("mounts", re.compile(_PATH.pattern + "(?::" + _PATH.pattern + ")?"), "/models:/models"),
)
_NUMBERS = (
    ("cpus", 1),
    ("memory_mb", 0),
    ("keep_images", 1),
    ("ask_every_s", 0),
    ("answer_within_s", 0.1),
    ("queue_limit_s", 1),
    ("files_within_s", 0),
)


def _check_text(name: str, value: object, expression: re.Pattern[str], example: str) -> None:
    if not isinstance(value, str) or (value and not expression.fullmatch(value)):
        raise UserError(f"executor slurm: {name} must look like {example!r}, found {value!r}")


def _texts(name: str, values: object, expression: re.Pattern[str], example: str) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise UserError(f"executor slurm: {name} must be a list of texts such as [{example!r}], found {values!r}")
    for value in values:
        _check_text(name, value or None, expression, example)
    return tuple(values)


def _check_extras(options: tuple[str, ...]) -> None:
    """Refuse options that are set otherwise; sbatch takes every unambiguous beginning of a name for the name."""
    for option in options:
        name = option[2:].partition("=")[0]
        if taken := sorted(own for own in OURS if own == name or own.startswith(name)):
            raise UserError(f"executor slurm: options may not hold {option!r}: --{taken[0]} is set by the tracker")


def check_launcher(job: JobSpec) -> None:
    """Raise UserError for an image whose ranks are not started by srun: no other launcher starts containers."""
    if job.nodes and job.build_kind == "image" and job.nodes.launcher[0] != "{srun}":
        found = job.nodes.launcher[0]
        raise UserError(
            f"job {job.key}: run.nodes.launcher must begin with '{{srun}}' for an image, found {found!r}: "
            "only srun starts containers on the nodes"
        )


def sbatch_options(options: SlurmOptions, job: JobSpec, *, name: str, log: Path) -> list[str]:
    """Return sbatch's options for one attempt; nothing of them is read by a shell."""
    minutes = math.ceil((job.setup_timeout_s + job.timeout_s + MARGIN_S) / 60)
    named = {
        "job-name": name,
        "comment": name,
        "output": str(log).replace("%", "%%"),
        "error": str(log).replace("%", "%%"),
        "open-mode": "append",
        "chdir": str(log.parent),
        "time": str(minutes),
        "nodes": str(job.nodes.count if job.nodes else 1),
        "ntasks": str(job.nodes.ranks if job.nodes else 1),
        "ntasks-per-node": str(job.nodes.ranks_per_node) if job.nodes else "",
        "cpus-per-task": str(max(options.cpus, job.pin_cores)),
        "mem": f"{options.memory_mb}M" if options.memory_mb else "",
        "partition": options.partition,
        "account": options.account,
        "qos": options.qos,
        "gres": options.gres_of(job),
    }
    flags = ["--parsable", "--no-requeue", *(["--exclusive"] if options.exclusive else [])]
    return [*flags, *(f"--{key}={value}" for key, value in named.items() if value), *options.options]
