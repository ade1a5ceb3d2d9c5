"""What the executor of containers is set up with, checked, and as JSON for the process that carries an attempt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from jobs.errors import UserError
from jobs.executors._engine_client import EngineAddress, check_address
from jobs.executors._options import check_names, number

NAMES = (
    "engine",
    "host",
    "ca",
    "certificate",
    "key",
    "known_hosts",
    "identity",
    "mounts",
    "secrets",
    "login",
    "hardware",
    "gpu_driver",
    "min_free_gb",
    "keep_images",
    "work_limit_gb",
    "uv",
    "index_url",
)
DEFAULT_ENGINE = "unix:///var/run/docker.sock"
GPU_DRIVERS = ("nvidia", "cdi")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How containers are run, whatever the job."""

    address: EngineAddress
    host: str = ""
    """What the engine's machine is called, where that is another one; empty for this one."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Folder in the container -> folder of the engine's machine; read-only."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variable -> value, handed over in a mounted file."""
    gpu_driver: str = "nvidia"
    min_free_bytes: int = 20 * 10**9
    keep_images: int = 3
    work_limit_bytes: int = 50 * 10**9
    uv: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether the engine's machine is this one: its paths, disks, cores and GPUs are ours."""
        return self.address.is_local and not self.host

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values, secrets included: for a pipe, never for a file."""
        return asdict(self)


def options_from_json(values: Mapping[str, Any]) -> EngineOptions:
    """Return the options that `to_json` gave."""
    return EngineOptions(**{**values, "address": EngineAddress(**values["address"])})


def read_options(options: Mapping[str, object], *, uv: str | None) -> EngineOptions:
    """Return the checked options; raise UserError that names the wrong one."""
    check_names("docker_engine", options, NAMES)
    address = EngineAddress(
        url=_text(options, "engine") or DEFAULT_ENGINE,
        ca=_text(options, "ca"),
        certificate=_text(options, "certificate"),
        key=_text(options, "key"),
        known_hosts=_text(options, "known_hosts"),
        identity=_text(options, "identity"),
    )
    check_address(address)
    driver = _text(options, "gpu_driver") or "nvidia"
    if driver not in GPU_DRIVERS:
        raise UserError(f"executor docker_engine: gpu_driver must be one of {', '.join(GPU_DRIVERS)}, found {driver!r}")
    return EngineOptions(
        address=address,
        host=_text(options, "host") or "",
        mounts=_mounts(options),
        secrets=_secrets(options),
        gpu_driver=driver,
        min_free_bytes=int(number("docker_engine", options, "min_free_gb", 20, low=0) * 1e9),
        keep_images=int(number("docker_engine", options, "keep_images", 3, low=1)),
        work_limit_bytes=int(number("docker_engine", options, "work_limit_gb", 50, low=0.001) * 1e9),
        uv=_text(options, "uv") if "uv" in options else uv,
    )


def _text(options: Mapping[str, object], name: str) -> str | None:
    value = options.get(name)
    if value is not None and not isinstance(value, str):
        raise UserError(f"executor docker_engine: {name} must be text, found {value!r}")
    return value or None


def _texts(options: Mapping[str, object], name: str) -> dict[str, str]:
    value = options.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(t, str) for pair in value.items() for t in pair):
        raise UserError(f"executor docker_engine: {name} must be a table of texts")
    return dict(value)


def _mounts(options: Mapping[str, object]) -> dict[str, str]:
    mounts = _texts(options, "mounts")
    for target, source in mounts.items():
        for path in (target, source):
            if not path.startswith("/") or ".." in PurePosixPath(path).parts or ":" in path:
                raise UserError(
                    f"executor docker_engine: mounts: {path!r} must be an absolute path, as in "
                    '{"/models" = "/data/models"} (folder in the container = folder of the engine\'s machine)'
                )
        if PurePosixPath(target).parts[:2] in (("/",), ("/", "tracker")):
            raise UserError(f"executor docker_engine: mounts: {target!r} is needed by the service; choose another")
    return mounts


def _secrets(options: Mapping[str, object]) -> dict[str, str]:
    secrets = _texts(options, "secrets")
    for name, value in secrets.items():
        if not _VARIABLE.fullmatch(name):
            raise UserError(f"executor docker_engine: secrets: {name!r} is no name of a variable")
        if not value or any(character in value for character in "\0\r\n"):
            raise UserError(f"executor docker_engine: secrets: {name} must be one line of text that is not empty")
    return secrets
