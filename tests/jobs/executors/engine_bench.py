"""A bench of containers: jobs for a real Podman, an image for them, and what is left of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.executors import docker_engine
from jobs.protocols import Executor, JobSpec, JobState, JobStatus
from tests.fakes.podman import Podman

Ended = Callable[[Executor, str], JobStatus]
PREFIX = "release-regression-tracker"
FILES = {
    "opt/entry": '#!/bin/sh\necho "entered with $1"\nexec "$@"\n',
    "bin/python3": '#!/bin/sh\nexec sh "$@"\n',
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """An executor on a real Podman, and jobs for it."""

    podman: Podman
    folder: Path
    image: str
    digest: str

    def executor(self, **options: Any) -> Executor:
        given = {"engine": self.podman.url, "min_free_gb": 0.01, **options}
        return docker_engine.create(given, folder=self.folder, cache=self.folder.parent / "cache")

    def job(self, script: str, key: str = "run-1-1", **fields: Any) -> JobSpec:
        named = {"component": "thing", "version": "1.0", "build_kind": "image"}
        named |= {"build_location": self.image, "build_digest": self.digest}
        return JobSpec(**{**named, "key": key, "program": "sh", "arguments": ("-c", script), **fields})

    def file(self, name: str, key: str = "run-1-1") -> Path:
        return self.folder / key / name

    def record(self, key: str = "run-1-1") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file("environment.json", key).read_text())
        return found

    def carrier(self, key: str = "run-1-1") -> int:
        return int(json.loads(self.file("carrier.json", key).read_text())["pid"])

    def own(self) -> list[str]:
        """Return the names of the containers of this folder."""
        home = json.loads((self.folder / ".engine.json").read_text())["home"]
        return [name for name in self.podman.containers() if home in name]

    def started(self) -> list[str]:
        """Return the name of a container of this folder for each time that one was started."""
        home = json.loads((self.folder / ".engine.json").read_text())["home"]
        return [name for name in self.podman.started() if home in name]


def running(executor: Executor, key: str, until: Callable[..., Any]) -> None:
    """Wait until the attempt runs."""
    until(lambda: executor.poll(key).state is JobState.RUNNING, f"{key} to run")
