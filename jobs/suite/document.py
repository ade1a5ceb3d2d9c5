"""What may stand in a suite file: one frozen value per table. Checks across tables are in `jobs.suite.checks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from jobs.measurements import Label

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=80)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Strict(False)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Labels = dict[str, Label]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]


class Table(BaseModel):
    """A table of a suite file: fixed keys, strict types."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Source(Table):
    """Where releases are found: the plugin's name and whatever options it takes."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)

    kind: Name = Field(description="the release source: package_index, folder ...")

    @property
    def options(self) -> dict[str, Any]:
        """What stands beside `kind`: the arguments of the source's `create`."""
        return dict(self.model_extra or {})


class Releases(Table):
    """Which of the releases found are measured, and in what order."""

    versions: str = Field(default="", description='a version specifier such as ">=1.15,<2"; empty for all')
    tracks: Annotated[tuple[Literal["stable", "rc", "post", "nightly", "dev"], ...], Strict(False)] = Field(
        default=("stable",), min_length=1, description='any of "stable", "rc", "post", "nightly", "dev"'
    )
    first: Texts = Field(
        default=("newest",), description='measured first, at high priority: "1.26" (its newest patch) or "newest"'
    )
    backfill: bool = Field(default=True, description="true: the older releases too, in the background")


class Asset(Table):
    """A file made once and handed to every run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="file name in the run's folder"
    )
    maker: Text = Field(description="the script in programs/ that writes it: python MAKER OUTPUT")
    requirements: Texts = Field(default=(), description="the maker's packages, each pinned with ==")


class Container(Table):
    """How a container is run, for executors that run containers."""

    network: Text = Field(default="none", description='the engine\'s network; "none" lets nothing in or out')
    entrypoint: bool = Field(default=True, description="true: start the image's own entry point, around the program")
    memory_gb: float | None = Field(default=None, gt=0, description="limit of memory, in GB; without it none")
    cpus: float | None = Field(default=None, gt=0, description="limit of CPU time, in cores; without it none")
    pids: int | None = Field(default=None, ge=1, description="limit of processes and threads; without it none")
    shm_gb: float | None = Field(default=None, gt=0, description="size of /dev/shm in GB; without it the engine's own")
    ulimits: dict[Name, int] = Field(default_factory=dict, description="memlock = -1 ...; soft and hard, -1 for none")


class Nodes(Table):
    """How the program is started as many ranks on several nodes, for executors that can."""

    count: int = Field(ge=1, le=1024, description="nodes of one run")
    ranks_per_node: int = Field(ge=1, le=1024, description="processes on each node, most often one a GPU")
    launcher: Texts = Field(
        default=("{srun}", "{program}"),
        min_length=1,
        description='what starts the ranks: ["{srun}", "trtllm-llmapi-launch", "{program}"]',
    )
    result_rank: int = Field(default=0, ge=0, description="the rank whose log and result file are read")
    environment: dict[VariableName, str] = Field(
        default_factory=dict, description='variables of each rank: UCX_NET_DEVICES = "mlx5_{local_rank}:1"'
    )


class Run(Table):
    """How one fresh process measures one config of one release."""

    executor: Name = Field(description="the executor: local, replay ...")
    program: Text = Field(description="a script in programs/ (name.py) or a command on PATH")
    arguments: Texts = Field(default=(), description="a list of texts; {label}, {version}, {warmup} are filled in")
    repeats: int = Field(default=5, ge=1, le=1000, description="fresh processes per config and release")
    warmup: int | None = Field(default=None, ge=0, description="iterations not counted, passed on as {warmup}")
    timeout_s: Seconds = Field(description="limit of one process, in seconds")
    setup_timeout_s: Seconds = Field(default=600.0, description="limit for making the environment, in seconds")
    estimate_s: Seconds | None = Field(default=None, description="what one process usually takes, in seconds")
    output_limit_mb: int = Field(default=16, ge=1, le=10_000, description="limit of what one process may write, in MB")
    requirements: Texts = Field(default=(), description='packages, each pinned: "onnxruntime=={version}"')
    pins: dict[str, Texts] = Field(
        default_factory=dict, description='Python minor -> packages held fixed: "3.11" = ["numpy==1.26.4"]'
    )
    asset: Annotated[tuple[Asset, ...], Strict(False)] = Field(default=(), description="[[run.asset]] tables")
    pin_cores: int = Field(default=0, ge=0, le=1024, description="cores to pin the process to; 0 for none")
    environment: dict[VariableName, str] = Field(
        default_factory=dict, description="environment variables of the process"
    )
    container: Container | None = Field(default=None, description="the [run.container] table")
    nodes: Nodes | None = Field(default=None, description="the [run.nodes] table")


class Hardware(Table):
    """What a host must have."""

    gpus: int = Field(default=0, ge=0, le=1024, description="GPUs needed, over all nodes of [run.nodes]")
    gpu: str | None = Field(default=None, min_length=1, description="the GPU's name, as the driver gives it")
    min_memory_gb: float | None = Field(default=None, gt=0, description="host memory needed, in GB")
    pool: Name | None = Field(default=None, description="the pool that the host must be in; without it any")


class Output(Table):
    """What the process leaves and who reads it."""

    tool: Name = Field(description="the tool's id, part of every series' identity")
    parser: Name = Field(description="the parser that reads it: generic ...")
    file: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        default="result.json", description="the file it writes into its working folder"
    )


class Expectation(Table):
    """One result that every process must report."""

    labels: Labels = Field(default_factory=dict, description="what tells this result from the others of the process")
    metrics: Texts = Field(min_length=1, description="the metrics it must have")


class Gate(Table):
    """What is judged: these metrics, on the expected results whose labels include `where`."""

    metrics: Texts = Field(min_length=1, description="metrics that may raise an alert")
    where: Labels = Field(default_factory=dict, description="labels the result must have; empty for all")
    min_effect_ratio: Fraction = Field(description="the smallest change that matters: 0.05 is 5 %")


class Quality(Table):
    """What must hold for a measurement to count at all."""

    metric: Text = Field(description="a metric of the expected results")
    minimum: float = Field(description="the least value it may have")


class Document(Table):
    """A whole suite file."""

    name: Name = Field(description="lower-case letters, digits, dots and dashes")
    title: Text = Field(description="one line for people")
    description: str = Field(default="", description="what is measured and why")
    component: Name = Field(description="the component whose releases are the axis")
    source: Source = Field(description="the [source] table")
    releases: Releases = Field(default_factory=Releases, description="the [releases] table")
    matrix: dict[str, Any] = Field(description="the [matrix] table: label = [values], case = [tables]")
    run: Run = Field(description="the [run] table")
    hardware: Hardware = Field(default_factory=Hardware, description="the [hardware] table")
    output: Output = Field(description="the [output] table")
    expect: Annotated[tuple[Expectation, ...], Strict(False)] = Field(min_length=1, description="[[expect]] tables")
    gate: Annotated[tuple[Gate, ...], Strict(False)] = Field(default=(), description="[[gate]] tables")
    quality: Quality | None = Field(default=None, description="the [quality] table")


class Suite(Document):
    """A suite file that passed every check, with where it lies."""

    path: Path
