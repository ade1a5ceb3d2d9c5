"""What can be set: one frozen object from tracker.toml, then `TRACKER_*` variables.

`TRACKER_HOME` names the folder of database, outputs and caches; `tracker.toml` lies in it (`TRACKER_CONFIG` names
another file). A nested key is written with two underscores: `TRACKER_SLACK__CHANNEL=#perf`.
"""

from __future__ import annotations

import os
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from jobs.characters import find_unstorable
from jobs.environment.health import SLOWDOWNS
from jobs.release_notes.names import API, check_api, check_repository
from tracker.errors import UserError

#: Variables that are not settings: the home folder, the settings file, and the mark on a benchmark's processes.
NOT_SETTINGS = frozenset({"TRACKER_HOME", "TRACKER_CONFIG", "TRACKER_ATTEMPT"})


def _split(value: object) -> object:
    """Return text with commas as a list, so that a variable can hold one: `TRACKER_SUITES=onnxruntime,llamacpp`."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[list[str], NoDecode, BeforeValidator(_split)]
Paths = Annotated[list[Path], NoDecode, BeforeValidator(_split)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SlackSettings(_Part):
    """Where Slack messages go; nothing is sent until token and channel are set."""

    token: SecretStr | None = Field(None, description="Bot token (xoxb-...), best given as TRACKER_SLACK__TOKEN")
    channel: str | None = Field(None, description="Channel id (C0123456789) or name (#perf)")
    api_url: str = Field("https://slack.com/api/", description="Slack's API; another address for a proxy or a test")


class DockerSettings(_Part):
    """How the executor `docker_engine` runs containers, on Docker or on Podman; the executor checks the texts."""

    engine: str = Field(
        "unix:///var/run/docker.sock", description="Where the engine listens: unix:///run/podman/podman.sock, tcp://..."
    )
    ca: Path | None = Field(None, description="Certificate that an engine on another machine (tcp://) is known by")
    certificate: Path | None = Field(None, description="Our certificate for such an engine")
    key: Path | None = Field(None, description="The key of our certificate")
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


class HealthSettings(_Part):
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


class SlurmSettings(_Part):
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


class KubernetesSettings(_Part):
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


class ReleaseNotesSettings(_Part):
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


class RegistrySettings(_Part):
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


class RuleSettings(_Part):
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


def _check_address(value: str) -> str:
    """Return the address; ValueError where no link can begin with it."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://perf.example.com")
    return value


Address = Annotated[str, AfterValidator(_check_address)]


Value = Annotated[str | int | float, Field(union_mode="left_to_right")]
Choice = dict[str, Value | list[Value]]
"""Of a suite's configs those with one of these values: label -> value or values."""


class Settings(BaseSettings):
    """Every setting of the service, with its default."""

    model_config = SettingsConfigDict(
        env_prefix="TRACKER_", env_nested_delimiter="__", extra="forbid", frozen=True, validate_default=True
    )

    home: Path = Field(description="Folder of database, outputs and caches; set by TRACKER_HOME")
    database_url: str | None = Field(None, description="SQLAlchemy URL; default: SQLite in the home folder")
    host: str = Field("127.0.0.1", description="Address the pages listen on; loopback unless you know better")
    port: int = Field(8765, ge=1, le=65535, description="Port of the pages")
    public_url: Address | None = Field(None, description="Address people reach the pages at, for links in messages")
    suites: Names = Field(["onnxruntime"], description="Suites that the daemon runs")
    suite_folders: Paths = Field([], description="Folders with suites of your own")
    choices: dict[str, Choice] = Field(
        {}, description="Suites narrowed to what you have: suite, then label = [values], such as models"
    )
    book_folders: Paths = Field([], description="Folders with price and power books, beside books in the home folder")
    recordings: Path | None = Field(None, description="Folder of recorded results for the replay executor")
    watch_every_s: float = Field(
        3600, ge=1, le=366 * 86_400, description="Seconds between two looks at a release source"
    )
    measure_pushed_again: bool = Field(
        True, description="Measure a release again when its tag is pushed again with other content"
    )
    backfill: bool = Field(True, description="Measure older releases too, at low priority")
    max_attempts: int = Field(3, ge=1, le=20, description="Tries of one run when the infrastructure fails")
    lease_s: float = Field(
        30, ge=1, le=86_400, description="Seconds after which a silent daemon's run may be taken over"
    )
    keep_outputs_days: int = Field(365, ge=1, le=36_500, description="Days that `tracker prune` leaves outputs alone")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much is logged")
    slack: SlackSettings = Field(SlackSettings(), description="Slack")
    docker: DockerSettings = Field(DockerSettings(), description="How runs are measured in containers")
    slurm: SlurmSettings = Field(SlurmSettings(), description="How runs are handed to Slurm")
    kubernetes: KubernetesSettings = Field(KubernetesSettings(), description="How runs are handed to Kubernetes")
    health: HealthSettings = Field(HealthSettings(), description="What the machine must be like before a run")
    sources: list[SourceSettings] = Field([], description="Release sources watched without a suite")
    registries: list[RegistrySettings] = Field([], description="Logins at container registries")
    release_notes: list[ReleaseNotesSettings] = Field([], description="Whose notes are linked from which releases")
    rules: list[RuleSettings] = Field([RuleSettings(name="default")], description="Who is told about which changes")

    @model_validator(mode="after")
    def _has_one_place_of_notes_each(self) -> Self:
        """Return itself; ValueError where two entries tell of the same component."""
        names = [one.component for one in self.release_notes]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"[[release_notes]]: expected one entry for {twice}, found {names.count(twice)}")
        return self

    @property
    def store_url(self) -> str:
        """Return the database's URL."""
        return self.database_url or f"sqlite:///{quote(str(self.home / 'tracker.db'))}"

    @property
    def link_base(self) -> str:
        """Return the address that links in messages start with, without a slash at the end."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, settings_file())


def home_folder() -> Path:
    """Return the service's folder: TRACKER_HOME, else the user's data folder."""
    if named := os.environ.get("TRACKER_HOME"):
        if find_unstorable(named):
            raise UserError(f"TRACKER_HOME: {named!r} is no UTF-8 text; name another folder")
        return Path(named).expanduser().resolve()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return (Path(data) / "tracker").resolve()


def settings_file() -> Path:
    """Return where the settings file is, whether or not there is one."""
    return Path(os.environ.get("TRACKER_CONFIG") or home_folder() / "tracker.toml")


def load_settings(**overrides: Any) -> Settings:
    """Return the settings of file, variables and `overrides`, the later winning; UserError names what is wrong."""
    file = settings_file()
    _check_file(file)
    _check_variables()
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return Settings(**{**given, "home": home_folder()})
    except ValidationError as error:
        raise UserError(_explain(error, file)) from error
    except SettingsError as error:
        raise UserError(
            f"settings (TRACKER_* variables): {error}; expected JSON there, or one variable for each part, such as"
            " TRACKER_SLACK__CHANNEL"
        ) from error


def _check_file(file: Path) -> None:
    """Raise UserError when the settings file cannot be read, is named but missing, or sets the home folder."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        character = find_unstorable(values)
    except FileNotFoundError:
        if "TRACKER_CONFIG" in os.environ:
            raise UserError(f"settings file {file} (named by TRACKER_CONFIG) does not exist") from None
        return
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise UserError(f"{file}: not valid TOML: {error}") from error
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    if character:
        raise UserError(f"{file}: a text in it holds the unusable character {character}; remove that")
    if "home" in values:
        raise UserError(f"{file}: 'home' is set by TRACKER_HOME, not in the file; remove the key")


def _check_variables() -> None:
    """Raise UserError for a TRACKER_* variable that no setting answers to."""
    for name in os.environ:
        key = name.removeprefix("TRACKER_").lower().split("__")[0]
        if name.startswith("TRACKER_") and name not in NOT_SETTINGS and key not in Settings.model_fields:
            raise UserError(f"unknown setting {name}{_near(key.upper(), Settings, 'TRACKER_')}")


def _near(key: str, model: type[BaseModel], prefix: str = "") -> str:
    names = [name.upper() if key.isupper() else name for name in model.model_fields if name != "home"]
    close = get_close_matches(key, names, n=1)
    return (
        f"; did you mean {prefix}{close[0]}?" if close else f"; known: {', '.join(prefix + n for n in sorted(names))}"
    )


def _explain(error: ValidationError, file: Path) -> str:
    """Return one line per problem: where, what is wrong, what to write instead."""
    lines = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"unknown key '{where}'{_near(str(problem['loc'][-1]), _model_at(problem['loc'][:-1]))}")
        else:
            shown = "" if _may_be_secret(where) else f", found {problem['input']!r}"
            lines.append(f"'{where}': {problem['msg']}{shown}")
    return f"settings ({file} and TRACKER_* variables): " + "; ".join(lines)


def _may_be_secret(where: str) -> bool:
    """Return whether what stands at a wrong place may be, or hold, a token or a password."""
    return "token" in where or where.split(".")[0] == "registries" or where in ("slack", "database_url")


def _model_at(path: tuple[int | str, ...]) -> type[BaseModel]:
    parts: dict[int | str, type[BaseModel]] = {
        "slack": SlackSettings,
        "docker": DockerSettings,
        "slurm": SlurmSettings,
        "kubernetes": KubernetesSettings,
        "health": HealthSettings,
        "rules": RuleSettings,
        "sources": SourceSettings,
        "registries": RegistrySettings,
        "release_notes": ReleaseNotesSettings,
    }
    return parts.get(path[0], Settings) if path else Settings
