"""The tables of tracker.toml: one frozen value each, checked when it is read. `settings` puts them together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import NoDecode

from jobs.environment.health import SLOWDOWNS
from jobs.release_notes.names import API, check_api, check_repository


def split(value: object) -> object:
    """Return text with commas as a list, so that a variable can hold one: `TRACKER_SUITES=onnxruntime,llamacpp`."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[list[str], NoDecode, BeforeValidator(split)]
Paths = Annotated[list[Path], NoDecode, BeforeValidator(split)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SlackSettings(Part):
    """Where Slack messages go; nothing is sent until token and channel are set."""

    token: SecretStr | None = Field(None, description="Bot token (xoxb-...), best given as TRACKER_SLACK__TOKEN")
    channel: str | None = Field(None, description="Channel id (C0123456789) or name (#perf)")
    api_url: str = Field("https://slack.com/api/", description="Slack's API; another address for a proxy or a test")


HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What a host may be called."""
_ENGINES = ("ssh://", "tcp://", "unix://", "http://")


class DockerHostSettings(Part):
    """One of several machines with an engine; what is not said of it is as in [docker]."""

    name: str = Field(
        description="What the host is called in lists, pools and reports: gpu-box-2", examples=["gpu-box-2"]
    )
    engine: str = Field(
        description="Where its engine listens: ssh://user@host, tcp://host:2376, unix:///path",
        examples=["ssh://bench@gpu-box-2"],
    )
    ca: Path | None = Field(None, description="Certificate that the engine (tcp://) is known by")
    certificate: Path | None = Field(None, description="Our certificate for the engine")
    key: Path | None = Field(None, description="The key of our certificate")
    known_hosts: Path | None = Field(None, description="Host keys for an engine by ssh://")
    identity: Path | None = Field(None, description="Private key for an engine by ssh://")
    mounts: dict[str, Path] | None = Field(None, description="Folders of that machine for reading")
    gpu_driver: Literal["nvidia", "cdi"] | None = Field(None, description="How GPUs are asked for there")
    min_free_gb: float | None = Field(None, ge=0, description="GB that must be free there before an image is pulled")
    keep_images: int | None = Field(None, ge=1, description="Pulled images that stay there")

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        """Return itself; ValueError for a name that no host can have."""
        if not HOST_NAME.fullmatch(self.name):
            raise ValueError(f"name: expected letters, digits, dots, dashes and underscores, found {self.name[:100]!r}")
        if not self.engine.startswith(_ENGINES):
            raise ValueError(f"engine: expected one of {', '.join(_ENGINES)}, found {self.engine[:100]!r}")
        return self


class DockerSettings(Part):
    """How the executor `docker_engine` runs containers, on Docker or on Podman; the executor checks the texts."""

    engine: str = Field(
        "unix:///var/run/docker.sock",
        description="Where the engine listens: unix:///run/podman/podman.sock, ssh://user@host",
    )
    ca: Path | None = Field(None, description="Certificate that an engine on another machine (tcp://) is known by")
    certificate: Path | None = Field(None, description="Our certificate for such an engine")
    key: Path | None = Field(None, description="The key of our certificate")
    known_hosts: Path | None = Field(None, description="Host keys for an engine by ssh://; default: ssh's own files")
    identity: Path | None = Field(None, description="Private key for an engine by ssh://; default: as ssh chooses")
    mounts: dict[str, Path] = Field(
        {}, description='Folders for reading: "/models" = "/data/models" (in the container = on its machine)'
    )
    secrets: Names = Field(
        [], description="Variables of this service that programs get too, seen by no inspect: HF_TOKEN"
    )
    gpu_driver: Literal["nvidia", "cdi"] = Field("nvidia", description="How GPUs are asked for: nvidia or cdi")
    min_free_gb: float = Field(20, ge=0, description="GB that must be free before an image is pulled")
    keep_images: int = Field(3, ge=1, description="Pulled images that stay; the others are removed before a pull")
    work_limit_gb: float = Field(50, gt=0, description="GB that a program may write into its working folder")
    hosts: list[DockerHostSettings] = Field([], description="Several machines with engines: one [[docker.hosts]] each")

    @property
    def is_here(self) -> bool:
        """Whether this machine runs containers; where hosts are listed, only if `engine` is set beside them."""
        return self.engine.startswith("unix:") and (not self.hosts or "engine" in self.model_fields_set)

    @model_validator(mode="after")
    def _tells_hosts_apart(self) -> Self:
        """Return itself; ValueError where two hosts have one name or one engine, or another one has no name."""
        named, engines = [one.name for one in self.hosts], [one.engine.rstrip("/") for one in self.hosts]
        if self.hosts and "engine" in self.model_fields_set:
            if not self.is_here:
                raise ValueError(
                    f"engine: expected this machine's (unix://) beside [[docker.hosts]], found {self.engine!r}; "
                    "give it a name in a [[docker.hosts]] of its own"
                )
            engines.append(self.engine.rstrip("/"))
        for what, given in (("name", named), ("engine", engines)):
            if twice := next((one for one in given if given.count(one) > 1), None):
                raise ValueError(f"hosts: expected each {what} once, found {twice!r} {given.count(twice)} times")
        return self


class HealthSettings(Part):
    """What this machine must be like before a run starts on it; a limit of 0 wants nothing."""

    gate: bool = Field(True, description="Look at this machine before each run, and start none while it is not fit")
    max_temperature_c: float = Field(65, ge=0, le=150, description="Warmest that a GPU may be, in degrees Celsius")
    slowdowns: Names = Field(list(SLOWDOWNS), description="Reasons for low clocks, as nvidia-smi names them")
    max_gpu_memory_gb: float = Field(2, ge=0, description="GB of a GPU's memory that may be in use")
    other_processes: bool = Field(False, description="Whether other programs may compute on the GPUs")
    power_limit_w: float | None = Field(None, gt=0, description="Power limit that every GPU must have, in watts")
    graphics_clock_mhz: float | None = Field(None, gt=0, description="Graphics clock that must be set, in MHz")
    memory_clock_mhz: float | None = Field(None, gt=0, description="Memory clock that must be set, in MHz")
    driver: str | None = Field(None, min_length=1, description="Driver that must be there: 570 or 570.86.15")
    min_free_gb: float = Field(1, ge=0, description="GB that must be free where results are kept")
    max_load_per_core: float = Field(0, ge=0, le=1000, description="Most load a core over the last minute")
    retry_after_s: float = Field(30, ge=0.1, le=86_400, description="Seconds until a second look; doubled each time")
    max_refusals: int = Field(8, ge=1, le=1000, description="Refusals of one run in a row after which it fails")


class SlurmSettings(Part):
    """How the executor `slurm` asks for jobs; the executor checks the texts."""

    partition: str = Field("", description="Partition; empty for the cluster's default")
    account: str = Field("", description="Account that jobs are charged to; empty for your default")
    qos: str = Field("", description="Quality of service; empty for the default")
    gres: str = Field("", description="Generic resources: gpu:h200:{gpus}; empty asks for the GPUs a suite needs")
    cpus: int = Field(1, ge=1, le=4096, description="Cores of a job, at least those that the suite pins")
    memory_mb: int = Field(0, ge=0, description="Memory of a job in MB; 0 for the partition's default")
    exclusive: bool = Field(False, description="Whole nodes, so that no other job disturbs a measurement")
    options: list[str] = Field([], description="More options of sbatch: --constraint=h200")
    mounts: list[str] = Field([], description="Folders that containers may read: /models or /data/models:/models")
    mpi: str = Field("", description="srun's --mpi for containers: pmix; empty leaves it out")
    keep_images: int = Field(5, ge=1, description="Imported images that stay in the cache; others go after a day")
    python: str | None = Field(None, description="Python on the nodes; default: the one that runs this service")
    bin: str = Field("", description="Folder of Slurm's commands; empty looks on the PATH")
    conf: str = Field("", description="slurm.conf; empty for Slurm's own")
    answers: Literal["text", "json"] = Field("text", description="What Slurm's commands are asked for: text or json")
    ask_every_s: float = Field(10, ge=0, le=3600, description="Seconds between two questions to Slurm about a run")
    answer_within_s: float = Field(30, ge=0.1, le=600, description="Patience with one of Slurm's commands, in seconds")
    queue_limit_s: float = Field(86_400, ge=1, le=30 * 86_400, description="Seconds a run may wait in Slurm's queue")
    files_within_s: float = Field(120, ge=0, le=3600, description="Seconds until a node's files must be seen here")


class KubernetesSettings(Part):
    """How the executor `kubernetes` asks for Jobs; the executor checks the texts."""

    server: str = Field("", description="Address of the API: https://10.0.0.1:6443; empty inside the cluster")
    namespace: str = Field("default", description="Namespace of the Jobs")
    token_file: str = Field("", description="File with the bearer token; empty for the service account's")
    ca_file: str = Field("", description="Certificates to trust; empty for the service account's or the usual ones")
    node_selector: dict[str, str] = Field({}, description='Labels that a node must have: { gpu = "h200" }')
    tolerations: list[dict[str, str]] = Field([], description="Taints that are tolerated: key, operator, value, effect")
    pull_secrets: list[str] = Field([], description="Secrets for pulling images: ngc")
    service_account: str = Field("", description="Service account of the pods; empty for the namespace's default")
    gpu_resource: str = Field("nvidia.com/gpu", description="Name of a GPU as a resource")
    cpus: str = Field("", description="Cores of a pod, request and limit: 16; empty for the suite's own limit")
    memory: str = Field("", description="Memory of a pod, request and limit: 64Gi; empty for the suite's own limit")
    host_paths: list[str] = Field([], description="Folders of the nodes that pods may read: /data/models:/models")
    claims: list[str] = Field([], description="Volume claims that pods may read: models:/models")
    ttl_s: int = Field(86_400, ge=60, description="Seconds that a finished Job stays in the cluster")
    ask_every_s: float = Field(10, ge=0, le=3600, description="Seconds between two questions to the API about a run")
    answer_within_s: float = Field(30, ge=0.1, le=600, description="Patience with one answer of the API, in seconds")
    queue_limit_s: float = Field(86_400, ge=1, le=30 * 86_400, description="Seconds to wait for a node and an image")
    files_within_s: float = Field(120, ge=0, le=3600, description="Seconds until a finished pod's log must be whole")


class SourceSettings(BaseModel):
    """A release source that is watched whether or not a suite measures what it finds."""

    model_config = ConfigDict(frozen=True, extra="allow")

    component: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$", description="Component whose releases it lists, such as tensorrt-llm"
    )
    kind: str = Field(description="Kind of source: oci_registry, package_index, folder; its options stand beside it")

    @property
    def options(self) -> dict[str, Any]:
        """What stands beside component and kind."""
        return dict(self.model_extra or {})


class ReleaseNotesSettings(Part):
    """Where the publisher of a component writes about its releases."""

    component: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$", description="Component whose releases it tells of, such as tensorrt-llm"
    )
    repository: Annotated[str, AfterValidator(check_repository)] = Field(
        description="GitHub repository whose releases have the notes, as OWNER/NAME", examples=["NVIDIA/TensorRT-LLM"]
    )
    api: Annotated[str, AfterValidator(check_api)] = Field(
        API, description="GitHub's REST interface; an Enterprise Server has its own: https://github.example.com/api/v3"
    )
    token_variable: str | None = Field(
        None, description="Environment variable with a token; GITHUB_TOKEN at GitHub itself, none at other servers"
    )


class RegistrySettings(Part):
    """How one container registry is reached; without an entry it is asked as anybody, or with docker's login."""

    host: str = Field(description="The registry as image names begin with it: nvcr.io, docker.io, 10.0.0.7:5000")
    username: str | None = Field(None, description="User name; $oauthtoken for an NGC API key")
    password: SecretStr | None = Field(None, description="Password or token; better one of the next two")
    password_file: Path | None = Field(None, description="File whose first line is the password")
    password_variable: str | None = Field(None, description="Environment variable that holds the password")
    plain_http: bool = Field(False, description="Ask without TLS; only for a registry in a network of your own")
    ca_file: Path | None = Field(None, description="Certificates to trust instead of the usual ones")

    @model_validator(mode="after")
    def _is_a_login(self) -> Self:
        """Return itself; ValueError where a user name and exactly one place of the password do not go together."""
        given = [name for name in ("password", "password_file", "password_variable") if getattr(self, name) is not None]
        if len(given) != (self.username is not None):
            raise ValueError(
                "expected a username with one of password, password_file, password_variable, or neither; found "
                f"{'a' if self.username else 'no'} username with {' and '.join(given) or 'none of them'}"
            )
        return self


class RuleSettings(Part):
    """Who is told about which changes."""

    name: str = Field(description="Name of the rule, unique")
    component: str = Field("*", description="Components, as a glob pattern")
    suite: str = Field("*", description="Suites, as a glob pattern")
    metric: str = Field("*", description="Metrics, as a glob pattern")
    directions: list[Literal["regression", "improvement"]] = Field(
        ["regression", "improvement"], description="Which changes are told"
    )
    min_effect: float = Field(0.0, ge=0, le=10, description="Smallest change told: 0.05 is 5 %")
    only_gated: bool = Field(True, description="Only metrics that the suite gates")
    sinks: list[str] = Field(["console", "slack"], description="Where: console, slack; one not set up is left out")


def check_address(value: str) -> str:
    """Return the address; ValueError where no link can begin with it."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://perf.example.com")
    return value


Address = Annotated[str, AfterValidator(check_address)]


Value = Annotated[str | int | float, Field(union_mode="left_to_right")]
Choice = dict[str, Value | list[Value]]
"""Of a suite's configs those with one of these values: label -> value or values."""
