"""What a first settings file chooses: suites, the engine and the models that are there, and fewer configs."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alerts.wording import count
from jobs.environment import capture_host
from jobs.measurements import Label
from jobs.suite import Config, Suite, choose, expand, find_suite, gpus_of, load_suite
from tracker.cli.models import FOLDER, missing_models, model_path
from tracker.cli.output import format_duration
from tracker.errors import UserError
from tracker.pipeline.context import CONTAINERS
from tracker.pipeline.suites import PYTHON_MINOR

DOCKER, PODMAN = "/var/run/docker.sock", "/run/podman/podman.sock"
"""Where the engines listen unless told otherwise."""
Tables = Mapping[str, Mapping[str, Any]]
"""Table of the settings file -> key -> value; the table `""` is what stands before all tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the file is to say, and what there is to tell of it, a line each."""

    tables: Tables
    lines: Sequence[str]

    @property
    def settings(self) -> dict[str, Any]:
        """Return what the file sets, as one object."""
        choices = {name.partition(".")[2]: dict(v) for name, v in self.tables.items() if name.startswith("choices.")}
        plain = {name: dict(values) for name, values in self.tables.items() if name and not name.startswith("choices.")}
        return {**self.tables.get("", {}), **plain} | ({"choices": choices} if choices else {})


def first_settings(names: Sequence[str], *, models: Path | None, wanted: Sequence[str]) -> Start:
    """Return what a first file says for these suites; UserError where a suite, a choice or the models are not there.

    `models` is a folder of this machine, `wanted` are texts such as `isl=1000` or `model=a,b`.
    """
    if not names:
        asked = "--models" if models is not None else "--choose"
        if models is not None or wanted:
            raise UserError(f"{asked}: of which suite? Name it too: --suite trtllm-throughput-fp8")
        return Start(tables={}, lines=())
    suites = [load_suite(find_suite(name)) for name in names]
    tables: dict[str, Mapping[str, Any]] = {"": {"suites": [suite.name for suite in suites]}}
    lines = []
    if any(suite.run.executor == CONTAINERS for suite in suites):
        tables["docker"] = _docker(models)
        lines.append(f"engine: {tables['docker'].get('engine', 'none found; set docker.engine before you go on')}")
    gpus = len(capture_host().gpus)
    for suite in suites:
        choice, configs = _chosen(suite, wanted, models, gpus)
        if choice:
            tables[f"choices.{suite.name}"] = choice
        lines.append(_size(suite, configs))
    return Start(tables=tables, lines=lines)


def find_engine() -> str | None:
    """Return the socket of the engine of containers on this machine, Docker's before Podman's; None where is none."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [DOCKER, PODMAN, *([f"{own}/podman/podman.sock"] if own else [])]
    return next((f"unix://{place}" for place in places if _is_socket(Path(place))), None)


def cure_engine(said: str, there: str | None) -> str:
    """Return what to do about an engine that cannot be used; `there` is where one listens on this machine."""
    if "min_free_gb" in said:
        return "remove images or files there, or lower min_free_gb in [docker]; until then no new image is measured"
    if "Permission denied" in said:
        return "let this user use the socket: `sudo usermod -aG docker $USER`, then log in again; until then runs wait"
    if there and there not in said:
        return f"one listens at {there}: set engine in [docker] to that; until then its runs wait"
    return "start the engine, or correct [docker] in the settings; until then its runs wait"


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _docker(models: Path | None) -> dict[str, Any]:
    engine = os.environ.get("TRACKER_DOCKER__ENGINE") or find_engine()
    said = {"engine": engine} if engine else {}
    return said | ({"mounts": {FOLDER: str(models.expanduser().resolve())}} if models else {})


def _chosen(
    suite: Suite, wanted: Sequence[str], models: Path | None, gpus: int
) -> tuple[dict[str, list[Label]], Sequence[Config]]:
    """Return the choice to write down for a suite, and the configs that it leaves for this machine."""
    configs = expand(suite, python_minor=PYTHON_MINOR)
    choice = dict(_read_choice(text, configs) for text in wanted)
    left = choose(configs, choice, suite.name)
    here = [config for config in left if gpus_of(suite, config) <= gpus] or list(left)
    if models is None:
        return choice, here
    mounts = {FOLDER: models}
    missing = set(missing_models(suite, here, mounts))
    there = [config for config in here if model_path(suite, config) not in missing]
    if not there:
        raise UserError(_no_model(suite, here, models))
    if "model" not in choice and missing:
        choice["model"] = list(dict.fromkeys(config.labels["model"] for config in there))
    return choice, there


def _read_choice(text: str, configs: Sequence[Config]) -> tuple[str, list[Label]]:
    """Return label and values of `isl=1000,8192`, each value as the configs have it."""
    label, equals, values = text.partition("=")
    if not (label and equals and values):
        raise UserError(f"--choose: expected a label and values such as isl=1000 or model=a,b, found {text!r}")
    known = {str(config.labels[label]): config.labels[label] for config in configs if label in config.labels}
    return label.strip(), [known.get(value.strip(), value.strip()) for value in values.split(",")]


def _no_model(suite: Suite, configs: Sequence[Config], models: Path) -> str:
    names = list(dict.fromkeys(path.removeprefix(f"{FOLDER}/") for one in configs if (path := model_path(suite, one))))
    first = names[0] if names else ""
    cure = f"hf download {first} --local-dir {models / first}" if not first.endswith(".onnx") else f"put {first} there"
    return (
        f"--models {models}: nothing there that {suite.name} reads on this machine;"
        f" expected one of {', '.join(names)}; for instance: {cure}"
    )


def describe_size(suite: Suite, configs: int) -> str:
    """Return what measuring one release takes with so many configs: `2 configs x 3 repeats = 6 runs a release ...`."""
    runs = configs * suite.run.repeats
    times = f", about {format_duration(runs * suite.run.estimate_s)} after set-up" if suite.run.estimate_s else ""
    return f"{count(configs, 'config')} x {count(suite.run.repeats, 'repeat')} = {count(runs, 'run')} a release{times}"


def _size(suite: Suite, configs: Sequence[Config]) -> str:
    models = list(dict.fromkeys(str(one.labels["model"]) for one in configs if "model" in one.labels))
    said = f" ({', '.join(models[:3])}{' and more' if len(models) > 3 else ''})" if models else ""
    return f"{suite.name}: {describe_size(suite, len(configs))}{said}"
