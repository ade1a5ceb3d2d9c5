"""Builds that are images on a real Slurm; pyxis and enroot are replaced by programs of our own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.executors import slurm
from jobs.protocols import JobOutcome, JobSpec
from tests.fakes.slurm import stand_in
from tests.jobs.executors.slurm_bench import HANGS, WRITES, Ended, Job, Until, run, texts_of

pytestmark = pytest.mark.real("slurm")


SRUN = """#!/bin/sh
for word; do case $word in
    --*container*) echo "$word" >> {told} ;;
    *) set -- "$@" "$word" ;;
esac; shift; done
exec {srun} "$@"
"""
ENROOT = """#!/bin/sh
echo "$4" >> {told}
echo image > "$3"
"""


@pytest.fixture
def pyxis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands in which srun takes pyxis' options; `told` in it lists them and what enroot imported."""
    bin_folder = stand_in(tmp_path / "bin", srun=SRUN, enroot=ENROOT)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    return bin_folder


def _in_image(job: Job, key: str, program: str) -> JobSpec:
    digest = "sha256:" + "ab" * 32
    location = f"nvcr.io/nvidia/tensorrt-llm/release@{digest}"
    return job(key, program, build_kind="image", build_location=location, build_digest=digest, requirements=("x==1",))


def test_a_build_that_is_an_image_runs_as_a_step_in_a_container_imported_once(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path
) -> None:
    options = {**slurm_options, "bin": str(pyxis), "mounts": [str(tmp_path)]}
    cache = tmp_path / "cache"
    executor = slurm.create(options, folder=folder, cache=cache)
    for key in ("image-1", "image-2"):
        status = run(executor, _in_image(job, key, f"print('in a step')\n{WRITES}"), ended)
        assert (status.outcome, status.detail) == (JobOutcome.OK, "")
    assert texts_of(executor, "image-1")["log"] == "in a step\n"
    told = (pyxis / "told").read_text().splitlines()
    hexes = "ab" * 32
    assert [line for line in told if "docker://" in line] == [
        f"docker://nvcr.io#nvidia/tensorrt-llm/release:sha256:{hexes}"
    ]
    assert told.count(f"--container-image={cache.resolve()}/images/{hexes}.sqsh") == 2
    assert any(word.startswith("--container-mounts=") and f"{tmp_path}:{tmp_path}:ro" in word for word in told)


def test_a_program_in_a_container_ends_at_its_time_limit_and_with_its_own_exit_code(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path, until: Until
) -> None:
    executor = slurm.create({**slurm_options, "bin": str(pyxis)}, folder=folder, cache=tmp_path / "cache")
    failed = run(executor, _in_image(job, "code", "import sys\nsys.exit(7)"), ended)
    assert (failed.outcome, failed.exit_code) == (JobOutcome.TOOL_FAILED, 7)
    late = run(executor, replace(_in_image(job, "late", HANGS), timeout_s=1.0), ended)
    assert late.outcome is JobOutcome.TIMEOUT
    until(lambda: _program_is_gone(tmp_path / "program-late.py"), "the step to be over")


def _program_is_gone(path: Path) -> bool:
    done = subprocess.run(["pgrep", "-f", f"^python3 {path}"], capture_output=True, check=False)
    return done.returncode == 1


def test_an_image_that_cannot_be_imported_is_not_the_benchmarks_fault(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended, pyxis: Path
) -> None:
    (pyxis / "enroot").write_text("#!/bin/sh\necho '[ERROR] Could not process JSON input' >&2\nexit 1\n")
    executor = slurm.create({**slurm_options, "bin": str(pyxis)}, folder=folder, cache=tmp_path / "cache")
    status = run(executor, _in_image(job, "noimage", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "could not be imported: [ERROR] Could not process JSON input" in status.detail
    assert list((tmp_path / "cache" / "images").glob("*.sqsh")) == []


def test_a_cluster_without_pyxis_is_named_as_the_trouble(
    slurm_options: dict[str, object], folder: Path, tmp_path: Path, job: Job, ended: Ended
) -> None:
    executor = slurm.create(slurm_options, folder=folder, cache=tmp_path / "cache")
    status = run(executor, _in_image(job, "nopyxis", WRITES), ended)
    assert status.outcome is JobOutcome.INFRA_FAILED
    assert "the container did not start: " in status.detail
    assert "unrecognized option" in status.detail
