"""Whether this process runs in a container, which kind, and which container tools the machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TOOLS = ("docker", "podman", "enroot", "apptainer", "singularity", "nerdctl")
_ANSWER_WITHIN_S = 5.0
_IN_CGROUP = {
    "kubepods": "kubernetes",
    "libpod": "podman",
    "docker": "docker",
    "containerd": "containerd",
    "lxc": "lxc",
}
_FILES = {
    ".dockerenv": "docker",
    "run/.containerenv": "podman",
    "singularity": "apptainer",
    ".singularity.d": "apptainer",
}
_VARIABLES = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "apptainer",
    "ENROOT_ROOTFS": "enroot",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Where this process runs, as far as the system shows it."""

    inside: tuple[str, ...]
    """Kinds of container that leave a sign here, without repetition; empty outside of any."""
    signs: tuple[str, ...]
    """What was seen: `/.dockerenv`, `docker in /proc/1/cgroup`, `$KUBERNETES_SERVICE_HOST`."""
    tools: Mapping[str, str]
    """Container tools on the PATH -> their version as they print it."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


def capture_container(*, root: Path = Path("/"), variables: Mapping[str, str] | None = None) -> Container:
    """Return the signs of a container and the tools of the machine; never fails."""
    signs = dict(_signs(root, os.environ if variables is None else variables))
    tools = {name: _version(path) for name in TOOLS if (path := shutil.which(name))}
    return Container(inside=tuple(dict.fromkeys(signs.values())), signs=tuple(signs), tools=tools)


def _signs(root: Path, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, kind in _FILES.items():
        if (root / name).exists():
            yield f"/{name}", kind
    cgroup = _read(root / "proc/1/cgroup")
    for word, kind in _IN_CGROUP.items():
        if word in cgroup:
            yield f"{word} in /proc/1/cgroup", kind
    for variable, kind in _VARIABLES.items():
        if variable in variables:
            yield f"${variable}", kind
    if named := re.fullmatch(r"[a-z-]{1,20}", variables.get("container", "")):
        yield "$container", named[0]


def _version(command: str) -> str:
    try:
        answer = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return "unknown"
    lines = answer.stdout.strip().splitlines()
    return lines[0][:80] if answer.returncode == 0 and lines else "unknown"


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(64 * 1024)
    except OSError:
        return ""
