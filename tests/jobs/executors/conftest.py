"""Small programs, jobs that run them, and waiting with an end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jobs.executors import local, slurm
from jobs.executors._slurm_orders import JobNames
from jobs.protocols import Executor, JobSpec, JobState, JobStatus
from tests.fakes.kubernetes import TOKEN, KubernetesServer, kubernetes_server
from tests.fakes.podman import Podman, serve_podman
from tests.fakes.registry import Registry, make_image, serve_registry
from tests.fakes.slurm import Cluster, serve_slurm
from tests.jobs.executors.engine_bench import FILES, Bench, Ended
from tests.jobs.executors.slurm_bench import Until
from tests.patience import patient

WRITES_RESULT = """
    import json, sys
    print("measured", *sys.argv[1:])
    with open("result.json", "w") as file:
        json.dump({"latency_ms": 1.5}, file)
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: environments are kept by content, so sharing them is what is promised."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """One Podman for all tests; a test leaves no container of its own behind."""
    with serve_podman() as served:
        yield served


@pytest.fixture(scope="session")
def shell_image(podman: Podman, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of `localhost/bench`, an image with a shell."""
    return podman.load(make_image(tmp_path_factory.mktemp("images"), name="bench"), "localhost/bench:1.0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attempts"


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where images for the engine are made."""
    return tmp_path_factory.mktemp("engine-images")


@pytest.fixture(scope="session")
def tools_digest(podman: Podman, images: Path) -> str:
    """Return the digest of `localhost/tools`: a shell, something called python3, an entry point."""
    return podman.load(make_image(images, FILES, name="tools"), "localhost/tools:1.0")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry for tests that push under names of their own."""
    with serve_registry(tmp_path_factory.mktemp("registry")) as served:
        yield served


@pytest.fixture
def bench(podman: Podman, tools_digest: str, folder: Path) -> Iterator[Bench]:
    """A bench on the shared Podman; after the test nothing of it is left there."""
    made = Bench(podman=podman, folder=folder, image="localhost/tools:1.0", digest=tools_digest)
    yield made
    if (folder / ".engine.json").exists():
        made.executor().sweep(frozenset())
        assert made.own() == []


@pytest.fixture
def run(bench: Bench, ended: Ended) -> Callable[..., JobStatus]:
    """Run a script in a container to its end; return how it ended."""

    def carry(script: str, options: dict[str, Any] | None = None, **fields: Any) -> JobStatus:
        executor, job = bench.executor(**(options or {})), bench.job(script, **fields)
        executor.start(job)
        return ended(executor, job.key)

    return carry


@pytest.fixture
def executor(folder: Path, cache: Path) -> Executor:
    return local.create({}, folder=folder, cache=cache)


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Slurm cluster for tests that leave its daemons alone."""
    with serve_slurm(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Slurm cluster of two nodes, `left` beside the machine's own name."""
    with serve_slurm(tmp_path_factory.mktemp("slurm-two"), beside=("left",)) as cluster:
        yield cluster


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A Slurm cluster for one test that kills its daemons."""
    with serve_slurm(tmp_path / "slurm") as cluster:
        yield cluster


@pytest.fixture
def slurm_options(shared_cluster: Cluster) -> dict[str, object]:
    """What makes an executor on the shared cluster that asks often."""
    return options_for(shared_cluster)


@pytest.fixture
def make_slurm(slurm_options: dict[str, object], folder: Path, cache: Path) -> Callable[..., Executor]:
    """Make an executor on the shared cluster, with options of the test's own."""

    def create(**options: object) -> Executor:
        return slurm.create({**slurm_options, **options}, folder=folder, cache=cache)

    return create


@pytest.fixture
def on_own(own_cluster: Cluster, folder: Path, cache: Path) -> Executor:
    """An executor on a cluster that belongs to the test."""
    return slurm.create(options_for(own_cluster), folder=folder, cache=cache)


@pytest.fixture
def nothing_left(shared_cluster: Cluster, folder: Path, until: Until) -> Iterator[None]:
    """After the test no job of its folder is queued or runs."""
    yield
    prefix = JobNames.of(folder.resolve()).prefix
    until(lambda: not shared_cluster.active_jobs(prefix), "its jobs to be over")


def options_for(cluster: Cluster) -> dict[str, object]:
    """Return options of the executor for a cluster of tests."""
    return {"conf": str(cluster.conf), "ask_every_s": 0.1, "answer_within_s": 10, "files_within_s": 5}


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[KubernetesServer]:
    """A server that speaks enough of the Kubernetes API."""
    with kubernetes_server(tmp_path / "kubernetes") as server:
        yield server


@pytest.fixture
def kubernetes_options(kubernetes: KubernetesServer, tmp_path: Path) -> dict[str, object]:
    """What makes an executor on that server which asks often."""
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    return {
        "server": kubernetes.base_url,
        "namespace": "benchmarks",
        "token_file": str(token),
        "ask_every_s": 0.05,
        "files_within_s": 5,
    }


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., JobSpec]:
    """Make a job from the text of a program."""

    def make(key: str, program: str = WRITES_RESULT, **fields: Any) -> JobSpec:
        path = tmp_path / f"program-{key}.py"
        path.write_text(dedent(program), encoding="utf-8")
        values = {
            "component": "thing",
            "version": "1.0",
            "build_kind": "wheel",
            "build_location": "thing-1.0-py3-none-any.whl",
            "build_digest": "sha256:00",
            "program": str(path),
            **fields,
        }
        return JobSpec(key=key, **values)

    return make


def wait(condition: Callable[[], Any], what: str, limit_s: float = 30.0) -> Any:
    """Return the condition's first true value; fail the test when it takes too long."""
    deadline = time.monotonic() + patient(limit_s)
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {limit_s:g} s in vain: {what}")


@pytest.fixture
def until() -> Callable[..., Any]:
    return wait


@pytest.fixture
def ended() -> Callable[[Executor, str], JobStatus]:
    """Wait for the end of an attempt and return its status."""

    def look(executor: Executor, key: str) -> JobStatus:
        def status() -> JobStatus | None:
            found = executor.poll(key)
            return found if found.state is JobState.ENDED else None

        found: JobStatus = wait(status, f"{key} to end")
        return found

    return look


@pytest.fixture
def mentioning() -> Callable[[Path], list[int]]:
    """Return the processes whose command line names a path: a way to look that the product does not use."""

    def look(path: Path) -> list[int]:
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if str(path).encode() in words:
                found.append(int(name))
        return found

    return look
