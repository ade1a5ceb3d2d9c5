"""From the settings to what the executor of containers is made with: its engine, logins, secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jobs.environment import Machine, look_over_ssh
from jobs.errors import UserError
from jobs.measurements import Label
from jobs.sources.package_index import configured_index
from jobs.ssh import read_login
from tracker.registries import login_for
from tracker.setting_tables import DockerHostSettings, DockerSettings
from tracker.settings import Settings

ANSWER_WITHIN_S = 12.0
_FILES = ("ca", "certificate", "key", "known_hosts", "identity")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHost:
    """A machine that runs containers, and how its engine is spoken to."""

    name: str
    """Empty for this machine."""
    settings: DockerSettings
    """Those of this one engine."""

    @property
    def address(self) -> str:
        """Where its engine listens, as it may be shown: without what may be a password."""
        return re.sub(r"(:/*[^/@:]*):[^@/]*@", r"\1:***@", self.settings.engine)

    @property
    def is_ssh(self) -> bool:
        """Whether the machine itself can be looked at, by a login."""
        return self.settings.engine.startswith("ssh://")


def other_hosts(docker: DockerSettings) -> tuple[EngineHost, ...]:
    """Return the other machines that run containers: those listed, or the one that `engine` alone names."""
    if docker.hosts:
        return tuple(EngineHost(name=one.name, settings=_settings_of(docker, one)) for one in docker.hosts)
    if docker.is_here:
        return ()
    try:
        name = urlsplit(docker.engine).hostname or ""
    except ValueError:
        name = ""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:128]
    return (EngineHost(name=name or "container-engine", settings=docker),)


def _settings_of(docker: DockerSettings, host: DockerHostSettings) -> DockerSettings:
    """Return the settings of one host: its own values, else those of all."""
    own = {name: value for name, value in host.model_dump(exclude={"name"}).items() if value is not None}
    return docker.model_copy(update={**own, "hosts": []})


def engine_options(
    settings: Settings, host: EngineHost | None = None, hardware: Callable[[], Mapping[str, Label] | None] | None = None
) -> dict[str, Any]:
    """Return the options of `docker_engine` on a host, this machine by default; UserError for a secret that is not set.

    `hardware` tells what the service knows of another host's.
    """
    docker = host.settings if host else settings.docker
    given = docker.model_dump(exclude={"mounts", "secrets", "hosts", *_FILES})
    return {
        **given,
        **_files_of(docker),
        "host": host.name if host else "",
        "hardware": hardware,
        "mounts": {target: str(source) for target, source in docker.mounts.items()},
        "secrets": {name: _secret(name) for name in docker.secrets},
        "login": lambda reference: login_for(settings, reference),
        "index_url": lambda: configured_index() or "",
    }


def describe_engine(settings: Settings, host: EngineHost | None = None) -> str:
    """Return which engine answers and how much room it has; JobsError says what is wrong."""
    from jobs.executors import docker_engine

    return docker_engine.describe_engine(engine_options(settings, host))


def look_at_host(host: EngineHost, *, whole: bool) -> Machine | None:
    """Return what is seen of another host now, by ssh; None where only its engine answers, or is asked (not `whole`).

    Takes seconds at most: a host that does not answer in time is away. JobsError where nothing answers.
    """
    from jobs.executors.docker_engine import ask_engine

    ask_engine({"engine": host.settings.engine, **_files_of(host.settings)}, within_s=ANSWER_WITHIN_S)
    if not (whole and host.is_ssh):
        return None
    files = _files_of(host.settings)
    known, identity = files["known_hosts"], files["identity"]
    login = read_login(
        host.settings.engine,
        known_hosts=Path(known) if known else None,
        identity=Path(identity) if identity else None,
    )
    return look_over_ssh(login, timeout_s=ANSWER_WITHIN_S)


def name_engine(settings: DockerSettings) -> str:
    """Return what an engine calls itself, empty where it does not say; JobsError where it does not answer."""
    from jobs.executors import docker_engine

    return docker_engine.name_engine({"engine": settings.engine, **_files_of(settings)}, within_s=ANSWER_WITHIN_S)


def _files_of(docker: DockerSettings) -> dict[str, str | None]:
    """Return the files that prove who is who to an engine, by name; None where there is none."""
    given = {name: getattr(docker, name) for name in _FILES}
    return {name: str(file.expanduser()) if file else None for name, file in given.items()}


def _secret(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UserError(f"docker.secrets: the service has no variable {name}; set it, or take it off the list")
    return value
