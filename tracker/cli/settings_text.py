"""The text of a settings file, made from the settings themselves, so that it cannot fall behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tracker.setting_tables import (
    DockerHostSettings,
    DockerSettings,
    HealthSettings,
    KubernetesSettings,
    RegistrySettings,
    ReleaseNotesSettings,
    RuleSettings,
    SlackSettings,
    SlurmSettings,
    SourceSettings,
)
from tracker.settings import Settings

LISTS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("docker.hosts", "Several machines with engines; one [[docker.hosts]] for each.", DockerHostSettings),
    ("sources", "What is watched without a suite; several [[sources]] may stand one after another.", SourceSettings),
    ("registries", "Logins at container registries; one [[registries]] for each.", RegistrySettings),
    ("release_notes", "Where publishers write about their releases; one [[release_notes]] each.", ReleaseNotesSettings),
    ("rules", "Who is told of what; several [[rules]] may stand one after another.", RuleSettings),
)
"""Settings that are lists of tables."""

TABLES: Mapping[str, type[BaseModel]] = {
    "slack": SlackSettings,
    "docker": DockerSettings,
    "slurm": SlurmSettings,
    "kubernetes": KubernetesSettings,
    "health": HealthSettings,
}
"""Settings that are tables."""

HEAD = """# Settings of the release regression tracker. Each line shows a default: take the `#` away to change it.
# A variable wins over this file: TRACKER_PORT=9000, TRACKER_SLACK__CHANNEL='#perf'.
"""


def write_settings(chosen: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return a whole tracker.toml in which every setting is explained and only what is `chosen` is changed.

    `chosen` is table -> key -> value; the table `""` is what stands before all tables.
    """
    chosen = chosen or {}
    own = {name: values for name, values in chosen.items() if name not in TABLES and name}
    parts = [HEAD, _entries(Settings, chosen.get("", {}))]
    parts += [_header(name) + "".join(f"{key} = {_toml(value)}\n" for key, value in own[name].items()) for name in own]
    for name, model in TABLES.items():
        values = chosen.get(name, {})
        parts.append(("" if values else "# ") + _header(name) + _entries(model, values))
    parts += [f"# {title}\n# [[{name}]]\n" + _entries(model) for name, title, model in LISTS]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _header(name: str) -> str:
    """Return the line that begins a table; of a name in it that is not plain, the quotes stand in it."""
    table, dot, key = name.partition(".")
    return f"[{table}{dot}{key if re.fullmatch(r'[A-Za-z0-9_-]*', key) else json.dumps(key)}]\n"


def _plain_fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """Return the settings of a table that are not tables themselves; the home folder is set by a variable."""
    tables = {"home", *TABLES, *(name.rpartition(".")[2] for name, _, _ in LISTS)}
    return [(name, field) for name, field in model.model_fields.items() if name not in tables]


def _entries(model: type[BaseModel], chosen: Mapping[str, Any] | None = None) -> str:
    given = chosen or {}
    return "".join(
        f"\n# {field.description}\n{name} = {_toml(given[name])}\n" if name in given else _entry(name, field)
        for name, field in _plain_fields(model)
    )


def _entry(name: str, field: FieldInfo) -> str:
    example = (field.examples or ["default"])[0]
    value = example if field.default is PydanticUndefined else field.default
    shown = '""' if value is None else _toml(value)
    unset = " (not set)" if value is None else ""
    return f"\n# {field.description}{unset}\n# {name} = {shown}\n"


def _toml(value: Any) -> str:
    """Return a value as TOML writes it; JSON writes texts, numbers, booleans and lists alike."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
