"""Where the models of a suite's configs lie on this machine, and which of them are not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from jobs.suite import Config, Suite
from tracker.errors import UserError
from tracker.pipeline.context import CONTAINERS
from tracker.setting_tables import DockerSettings

READ_BY_NAME = frozenset({"trtllm_bench.py", "trtllm_serve_load.py"})
"""Shipped programs that read the model of a config from the folder of its name."""
FOLDER = "/models"
"""Where these programs, and the shipped suites of trtexec, look for models."""
_BELOW = re.compile(rf"{FOLDER}/[^\s,:;'\"]+")


def model_path(suite: Suite, config: Config) -> str | None:
    """Return the folder or file that a config reads its model from, as its program sees it; None where it is not said.

    It is said by a shipped program, or by an argument such as `--onnx=/models/onnx/{model}.onnx`.
    """
    if suite.run.program in READ_BY_NAME and "model" in config.labels:
        return f"{FOLDER}/{config.labels['model']}"
    found = next((match[0] for text in suite.run.arguments if (match := _BELOW.search(text))), None)
    if found is None:
        return None
    for label, value in config.labels.items():
        found = found.replace(f"{{{label}}}", str(value))
    return None if "{" in found else found


def place_here(path: str, mounts: Mapping[str, Path]) -> Path | None:
    """Return where a path of a container lies on this machine; None where no mount holds it."""
    inside = PurePosixPath(path)
    holding = [target for target in mounts if inside.is_relative_to(target)]
    if not holding:
        return None
    nearest = max(holding, key=len)
    return mounts[nearest].expanduser() / inside.relative_to(nearest)


def require_mounts(suite: Suite, docker: DockerSettings) -> None:
    """Raise UserError where containers of the suite run on this machine and a folder that they read is not there."""
    if suite.run.executor != CONTAINERS or not docker.is_here:
        return
    for target, folder in docker.mounts.items():
        if not folder.expanduser().is_dir():
            raise UserError(
                f"docker.mounts: expected the folder that containers see as {target}, found no folder {folder};"
                " make it, or correct [docker] in tracker.toml"
            )


def missing_models(suite: Suite, configs: Sequence[Config], mounts: Mapping[str, Path]) -> list[str]:
    """Return what the configs read and this machine does not have, as their programs see it, each once."""
    wanted = dict.fromkeys(path for config in configs if (path := model_path(suite, config)))
    places = {path: place_here(path, mounts) for path in wanted}
    return [path for path, place in places.items() if place is None or not place.exists()]
