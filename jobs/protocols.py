"""The seams of this package: what a release source, an executor and a parser are.

Each protocol is implemented by one module per plugin; the module's name is the plugin's name and the module
has a function `create(...)` (see `jobs.plugins`). All values here are plain data that survive JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from jobs.content import Content
from jobs.measurements import Label, ParseResult
from jobs.metrics import Key

# --- release sources -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBuild:
    """One published artefact of one release, as a source lists it."""

    tag: str
    """The name it was published under: `1.26.0`, `26.02-py3`, `v0.20.1-cu130`."""
    kind: str
    """`wheel`, `image`, `folder` or `recording`."""
    digest: str
    """`sha256:<hex>` of the artefact: its identity."""
    platform: str
    """Wheel tag (`cp311-cp311-manylinux_2_28_x86_64`) or os/arch (`linux/amd64`)."""
    location: str
    """What an executor needs to get it: a wheel's file name, an image reference, a folder."""
    published_at: datetime | None = None
    size_bytes: int | None = None
    yanked: str | None = None
    """None unless withdrawn by its publisher; then the reason given (`no reason given` where empty)."""
    misfit: str | None = None
    """None when it runs on this machine; otherwise why not."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What it says of itself: versions inside, the commit it was made from."""
    contains: Mapping[str, str] = field(default_factory=dict)
    """Other components inside it, each with its version as written there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAnswer:
    """What a source knows now; `unreadable` lists entries that could not be understood, with the reason."""

    builds: tuple[PublishedBuild, ...]
    cursor: str
    """Changes when the answer changes (a serial, an ETag, a hash of the listing)."""
    unreadable: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Names that are published but were not looked at, with the reason."""
    scope: str | None = None
    """How the location of each of its builds begins; one that begins so and is named nowhere here was deleted.
    None where nothing can be said about what is not listed."""


class ReleaseSource(Protocol):
    """Lists what a publisher has released. Raises `TryLater` or `UserError`, never returns half a list."""

    def list_builds(self) -> SourceAnswer: ...


# --- executors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file made once before benchmarks run (a model), cached by the content of all that makes it."""

    name: str
    """File name that the program finds in its working folder."""
    maker: str
    """Path of the Python script that writes it: `python maker OUTPUT`."""
    requirements: tuple[str, ...] = ()
    """Pinned packages of the maker's own environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLimits:
    """How a container is run, beside its image; None leaves it to the engine. Only executors of containers look."""

    network: str = "none"
    """Name of the engine's network; `none` lets nothing in or out."""
    entrypoint: bool = True
    """Whether the image's own entry point is started, with the program as its arguments."""
    memory_bytes: int | None = None
    cpus: float | None = None
    pids: int | None = None
    shm_bytes: int | None = None
    ulimits: Mapping[str, int] = field(default_factory=dict)
    """Name as in `ulimit` (`memlock`, `stack`, `nofile`) -> limit, soft and hard; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """How one program is started as many ranks on several machines. Only some executors can (`SEVERAL_NODES`)."""

    count: int
    ranks_per_node: int
    launcher: tuple[str, ...] = ("{srun}", "{program}")
    """The command that starts the ranks. `{srun}` is Slurm's with all it needs; every rank runs what follows."""
    result_rank: int = 0
    """The rank whose output is the log and whose result file is taken."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of a rank; `{rank}`, `{local_rank}`, `{node}`, `{first_host}` ... are filled in where it runs."""

    @property
    def ranks(self) -> int:
        """How many processes are started over all nodes."""
        return self.count * self.ranks_per_node


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """All that is needed to run one attempt, fixed before it starts."""

    key: str
    """Unique for the attempt (`run-17-1`); starting a key twice runs it once."""
    component: str
    version: str
    build_kind: str
    build_location: str
    build_digest: str
    program: str
    """Path of the script or the name of the command to run."""
    arguments: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Pinned packages of the benchmark's environment, the build under test included (`onnxruntime==1.26.0`)."""
    assets: tuple[Asset, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pin_cores: int = 0
    """Cores to pin the benchmark to; 0 leaves it unpinned."""
    gpus: int = 0
    """GPUs that the benchmark needs, over all nodes; an executor that hands them out makes sure that they are there."""
    nodes: Nodes | None = None
    """None for the usual one process on one machine."""
    container: ContainerLimits = field(default_factory=ContainerLimits)
    setup_timeout_s: float = 600.0
    timeout_s: float = 600.0
    output_limit_bytes: int = 16 * 1024 * 1024
    result_file: str = "result.json"
    """Written by the program into its working folder; handed to the parser."""

    @property
    def gpus_per_node(self) -> int:
        """How many GPUs each of its machines must have."""
        return self.gpus // self.nodes.count if self.nodes else self.gpus


class JobState(StrEnum):
    """Where an attempt is. `UNKNOWN`: this executor never started that key."""

    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"


class JobOutcome(StrEnum):
    """How an attempt ended, from the executor's point of view (parsing may still fail it)."""

    OK = "ok"
    TOOL_FAILED = "tool_failed"
    INFRA_FAILED = "infra_failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"


CALLED_OFF = "cancelled"
"""The detail of an attempt that `cancel` ended; one that somebody else cancelled has another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One look at an attempt; `outcome` is set exactly when the state is ended."""

    state: JobState
    outcome: JobOutcome | None = None
    detail: str = ""
    """One line for people: `exit code 3: ModuleNotFoundError: ...`, `over the time limit of 120 s`. While it is being
    prepared: what it waits for, such as a queue's own reason."""
    exit_code: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    """One file an attempt left. Kinds: `result`, `log`, `setup_log`, `environment`, `other`."""

    kind: str
    name: str
    path: Path
    size_bytes: int
    sha256: str


class Executor(Protocol):
    """Runs attempts somewhere. The key is stored by the caller before `start`, so any process may be killed anywhere.

    - `start` returns at once and is idempotent: a key runs once, whoever calls and however often.
    - `poll` on a key that was never started answers `UNKNOWN`, and from then on `start` of that key may still run it.
    - `abandon` makes sure that a key which never got going never will; used before a new attempt is made.
    - `cancel` ends all processes of the attempt, then it is `ENDED`/`cancelled`; on an ended one it does nothing.
    - `sweep` ends attempts that run but are not in `alive`, and returns their keys.
    """

    def start(self, job: JobSpec) -> None: ...
    def poll(self, key: str) -> JobStatus: ...
    def fetch(self, key: str) -> Sequence[JobOutput]: ...
    def cancel(self, key: str) -> None: ...
    def abandon(self, key: str) -> None: ...
    def sweep(self, alive: frozenset[str]) -> Sequence[str]: ...


# --- parsers ---------------------------------------------------------------------------------------------------


class Parser(Protocol):
    """Reads what one tool writes; for bad content it may raise `Refused`, `Failed` or `Cut` with the reason."""

    tools: tuple[str, ...]
    """The tool ids this file reads."""
    reads: str
    """Which outputs and versions of them are read, for people."""
    landmarks: tuple[str, ...]
    """Texts one of which stands near every result in a log: a long log is read around them only."""
    keys: Mapping[str, Mapping[str, Key]]
    """Tool id -> that tool's own key -> the metric it means and the unit it is written in."""

    def recognises(self, content: Content) -> str | None:
        """Return the id of the tool that wrote `content`, its failures included; None if none of `tools` did."""
        ...

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return what `content`, recognised as `tool`'s, holds; `asked` are the labels of the config, where known."""
        ...
