"""A real benchmark in a real container: the shipped suite on llama.cpp, in an image of this machine's own files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobs.content import Content
from jobs.executors import docker_engine
from jobs.executors.local import find_uv
from jobs.measurements import ParseOutcome
from jobs.protocols import Executor, JobOutcome, JobState, JobStatus
from jobs.reading import read_result
from jobs.sources.package_index import configured_index
from jobs.suite import BuildUnderTest, Suite, expand, find_suite, job_spec, load_suite, missing_results
from tests.fakes.podman import serve_podman
from tests.fakes.python_image import folder_files, python_files, shared_libraries
from tests.fakes.registry import Image, make_image

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSION = "2026.4.8929"
IMAGE = f"localhost/llama.cpp:{VERSION}"
PACKAGES = "opt/packages"

pytestmark = [
    pytest.mark.real("podman"),
    pytest.mark.real("container registry"),
    pytest.mark.real("package index"),
    pytest.mark.timeout(400),
]


def suite_for_images(folder: Path) -> Suite:
    """Return the shipped suite with only that changed which says where its releases come from and run."""
    text = find_suite("llamacpp").read_text(encoding="utf-8")
    for old, new in (
        ('executor = "local"', 'executor = "docker_engine"'),
        ('requirements = ["xllamacpp=={version}"]\n', ""),
        ('kind = "package_index"\npackage = "xllamacpp"', 'kind = "oci_registry"\nrepository = "localhost/llama.cpp"'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "llamacpp.toml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path)


def image_with_llamacpp(folder: Path) -> Image:
    """Return an image with Python and llama.cpp, made of files of this machine."""
    target, uv = folder / "packages", find_uv()
    install = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    command = [str(word) for word in (*install, "--quiet", "--target", target, f"xllamacpp=={VERSION}")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    files = {**python_files(), **shared_libraries(target.rglob("*.so*")), **folder_files(target, PACKAGES)}
    return make_image(folder / "images", files, name="llamacpp", env={"PYTHONPATH": f"/{PACKAGES}"})


def wait_for_end(executor: Executor, key: str, within_s: float) -> JobStatus:
    deadline = time.monotonic() + within_s
    while (status := executor.poll(key)).state is not JobState.ENDED:
        assert time.monotonic() < deadline, status
        time.sleep(0.1)
    return status


def test_the_llamacpp_suite_measures_in_a_container(tmp_path: Path) -> None:
    suite = suite_for_images(tmp_path)
    config = expand(suite, python_minor=MINOR)[0]
    with serve_podman() as podman:
        digest = podman.load(image_with_llamacpp(tmp_path), IMAGE)
        build = BuildUnderTest(version=VERSION, kind="image", location=IMAGE, digest=digest)
        job = job_spec(suite, config, build, key="run-1-1", python_minor=MINOR)
        options = {"engine": podman.url, "min_free_gb": 0.1, "index_url": lambda: configured_index() or ""}
        executor = docker_engine.create(options, folder=tmp_path / "attempts", cache=tmp_path / "cache")
        executor.start(job)
        status = wait_for_end(executor, job.key, within_s=300)
        executor.sweep(frozenset())
        left = podman.containers()
    attempt = tmp_path / "attempts" / job.key
    assert status.outcome is JobOutcome.OK, (status.detail, (attempt / "run.log").read_text()[-2000:])
    result = read_result(Content(job.result_file, attempt / "result" / job.result_file), "generic", config.labels)
    assert (result.outcome, result.reason, result.version) == (ParseOutcome.OK, "", VERSION)
    assert missing_results(suite, config, result.runs) == ()
    assert all("unpinned" not in run.flags for run in result.runs)
    assert left == []
