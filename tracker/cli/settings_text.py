"""The text of a settings file, made from the settings themselves, so that it cannot fall behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tracker.setting_tables import (
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


def write_settings() -> str:
    """Return a whole tracker.toml in which every setting is explained and none is changed."""
    parts = [HEAD, _entries(Settings)]
    parts += [f"# [{name}]\n" + _entries(model) for name, model in TABLES.items()]
    parts += [f"# {title}\n# [[{name}]]\n" + _entries(model) for name, title, model in LISTS]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _plain_fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """Return the settings of a table that are not tables themselves; the home folder is set by a variable."""
    tables = {"home", *TABLES, *(name for name, _, _ in LISTS)}
    return [(name, field) for name, field in model.model_fields.items() if name not in tables]


def _entries(model: type[BaseModel]) -> str:
    return "".join(_entry(name, field) for name, field in _plain_fields(model))


def _entry(name: str, field: FieldInfo) -> str:
    example = (field.examples or ["default"])[0]
    value = example if field.default is PydanticUndefined else field.default
    shown = '""' if value is None else _toml(value)
    unset = " (not set)" if value is None else ""
    return f"\n# {field.description}{unset}\n# {name} = {shown}\n"


def _toml(value: Any) -> str:
    """Return a value as TOML writes it; JSON writes texts, numbers, booleans and lists alike."""
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
