"""From the settings to what the executor of containers is made with: its engine, logins, secrets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.sources.package_index import configured_index
from tracker.registries import login_for
from tracker.settings import Settings

_FILES = ("ca", "certificate", "key", "known_hosts", "identity")


def engine_options(settings: Settings) -> dict[str, Any]:
    """Return the options of `docker_engine`; UserError where a secret's variable is not set."""
    docker = settings.docker
    given = docker.model_dump(exclude={"mounts", "secrets", *_FILES})
    return {
        **given,
        **{name: _path(getattr(docker, name)) for name in _FILES},
        "mounts": {target: str(source) for target, source in docker.mounts.items()},
        "secrets": {name: _secret(name) for name in docker.secrets},
        "login": lambda reference: login_for(settings, reference),
        "index_url": lambda: configured_index() or "",
    }


def describe_engine(settings: Settings) -> str:
    """Return which engine answers and how much room it has; JobsError says what is wrong."""
    from jobs.executors import docker_engine

    return docker_engine.describe_engine(engine_options(settings))


def _path(file: Path | None) -> str | None:
    return str(file.expanduser()) if file else None


def _secret(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UserError(f"docker.secrets: the service has no variable {name}; set it, or take it off the list")
    return value
