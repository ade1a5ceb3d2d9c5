"""The shipped suites against real releases from the machine's package index, one process each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from jobs.content import Content
from jobs.executors.local import find_uv
from jobs.measurements import ParseOutcome
from jobs.reading import read_result
from jobs.suite import BuildUnderTest, expand, find_suite, job_spec, load_suite, missing_results

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


def run(*words: str | Path, folder: Path) -> None:
    ended = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


def make_environment(folder: Path, requirements: Sequence[str]) -> Path:
    """Return the interpreter of a fresh environment that holds the requirements."""
    uv, python = find_uv(), folder / "bin" / "python"
    if uv:
        run(uv, "venv", "--quiet", "--python", sys.executable, folder, folder=folder.parent)
        run(uv, "pip", "install", "--quiet", "--python", python, *requirements, folder=folder)
    else:
        run(sys.executable, "-m", "venv", folder, folder=folder.parent)
        run(python, "-m", "pip", "install", "--quiet", *requirements, folder=folder)
    return python


@pytest.mark.real("package index")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("name", "version"), [("onnxruntime", "1.28.0"), ("llamacpp", "2026.4.8929")])
def test_a_release_is_measured_and_reports_all_that_is_expected(tmp_path: Path, name: str, version: str) -> None:
    suite = load_suite(find_suite(name))
    config = expand(suite, python_minor=MINOR)[0]
    build = BuildUnderTest(version=version, kind="wheel", location="", digest="sha256:0")
    job = job_spec(suite, config, build, key="run-1-1", python_minor=MINOR)
    for asset in job.assets:
        maker = make_environment(tmp_path / "maker", asset.requirements)
        run(maker, asset.maker, tmp_path / asset.name, folder=tmp_path)
    python = make_environment(tmp_path / "environment", job.requirements)
    run(python, job.program, *job.arguments, folder=tmp_path)
    result = read_result(Content(job.result_file, tmp_path / job.result_file), "generic", config.labels)
    assert (result.outcome, result.reason, result.version) == (ParseOutcome.OK, "", version)
    assert missing_results(suite, config, result.runs) == ()
    if suite.quality:
        assert result.runs[0].metrics[suite.quality.metric].value >= suite.quality.minimum
