"""How much room an engine has for images: asked of this machine's disk, by ssh of another's, unknown over TLS."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.errors import JobsError
from jobs.executors._engine_client import EngineAway
from jobs.executors._engine_options import EngineOptions
from jobs.ssh import HostAway, HostRefused, run

_LOOK_WITHIN_S = 20.0
_DF = re.compile(r"\s[0-9]+\s+[0-9]+\s+(?P<available_kib>[0-9]+)\s+[0-9]+%\s+/")
"""The line of `df -Pk` as POSIX lays it down: blocks, used, available, capacity, mounted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is free where an engine keeps its images."""

    folder: str
    free_bytes: int | None
    """None where that could not be looked at."""
    unknown: str = ""
    """Why not."""


def look_at_room(options: EngineOptions, info: Mapping[str, Any]) -> Room:
    """Return the room of an engine that says this about its machine; EngineAway where its host does not answer."""
    folder = str(info.get("DockerRootDir") or "")
    if options.address.is_ssh:
        return _there(options, folder)
    if not options.is_here:
        return _unknown(folder, "the disk of an engine on another machine is looked at by ssh only")
    try:
        return Room(folder=folder, free_bytes=shutil.disk_usage(folder).free)
    except OSError:
        return _unknown(folder, "the engine's folder of images is not on this machine, or may not be looked at")


def _unknown(folder: str, why: str) -> Room:
    return Room(folder=folder, free_bytes=None, unknown=why)


def _there(options: EngineOptions, folder: str) -> Room:
    if not folder.startswith("/"):
        return _unknown(folder, "the engine does not say where it keeps images")
    login = options.address.open_way().tunnel.login
    try:
        said = run(login, ["df", "-Pk", folder], timeout_s=_LOOK_WITHIN_S)
    except (HostAway, HostRefused) as error:
        raise EngineAway(f"the room for images cannot be asked for: {error}") from error
    except JobsError as error:
        return _unknown(folder, str(error))
    found = _DF.search(said)
    if found is None:
        return _unknown(folder, f"{login} does not run df: it printed {said.strip()[:100]!r}")
    return Room(folder=folder, free_bytes=1024 * int(found["available_kib"]))
