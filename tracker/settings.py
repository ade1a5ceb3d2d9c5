"""What can be set: one frozen object from tracker.toml, then `TRACKER_*` variables.

`TRACKER_HOME` names the folder of database, outputs and caches; `tracker.toml` lies in it (`TRACKER_CONFIG` names
another file). A nested key is written with two underscores: `TRACKER_SLACK__CHANNEL=#perf`.
"""

from __future__ import annotations

import os
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from jobs.characters import find_unstorable
from tracker.errors import UserError
from tracker.setting_tables import (
    Address,
    Choice,
    DockerHostSettings,
    DockerSettings,
    HealthSettings,
    KubernetesSettings,
    Names,
    Paths,
    RegistrySettings,
    ReleaseNotesSettings,
    RuleSettings,
    SlackSettings,
    SlurmSettings,
    SourceSettings,
)

#: Variables that are not settings: the home folder, the settings file, and the mark on a benchmark's processes.
NOT_SETTINGS = frozenset({"TRACKER_HOME", "TRACKER_CONFIG", "TRACKER_ATTEMPT"})


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
            told = problem["type"] == "value_error" and isinstance(problem["input"], dict)  # in the message, of a table
            shown = "" if told or _may_be_secret(where) else f", found {problem['input']!r}"
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
    if path[:2] == ("docker", "hosts"):
        return DockerHostSettings
    return parts.get(path[0], Settings) if path else Settings
