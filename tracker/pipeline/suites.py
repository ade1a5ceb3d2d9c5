"""Suites as the pipeline needs them: read from the text that runs were planned from, so that a run stays as it was."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from jobs.measurements import Label, ParseResult
from jobs.protocols import JobSpec
from jobs.suite import BuildUnderTest, Config, Suite, job_spec, missing_results
from tracker.store.claims import Claim

PYTHON_MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


@lru_cache(maxsize=64)
def read_suite_text(text: str, file: str) -> Suite:
    """Return the suite of a stored text; it was checked when it was stored."""
    return Suite.model_validate({**tomllib.loads(text), "path": Path(file)})


def suite_of(claim: Claim) -> Suite:
    """Return the suite that a claimed run was planned from."""
    return read_suite_text(claim.suite_text, claim.suite_file)


def job_of(claim: Claim) -> JobSpec:
    """Return what an executor needs to run a claimed run's newest attempt."""
    build = BuildUnderTest(
        version=claim.version, kind=claim.build_kind, location=claim.build_location, digest=claim.build_digest
    )
    python = str(claim.labels.get("python", PYTHON_MINOR))
    job = job_spec(suite_of(claim), Config(labels=claim.labels), build, key=claim.attempt_key, python_minor=python)
    return replace(job, environment={**job.environment, "BENCHMARK_REPEAT": str(claim.repeat)})


def absent_results(suite: Suite, asked: dict[str, Label], result: ParseResult) -> list[str]:
    """Return one line per result that the suite expects of a process and that is not there."""
    missing = missing_results(suite, Config(labels=asked), result.runs)
    return [
        f"no {', '.join(expected.metrics)} for "
        + " ".join(f"{k}={v}" for k, v in expected.labels.items() if asked.get(k) != v)
        for expected in missing
    ]


def quality_problem(suite: Suite, result: ParseResult) -> str | None:
    """Return why the result's answers are not good enough to count, None when they are or nothing is asked."""
    if suite.quality is None:
        return None
    values = [r.metrics[suite.quality.metric].value for r in result.runs if suite.quality.metric in r.metrics]
    if not values:
        return f"the quality check's {suite.quality.metric} is missing"
    if min(values) < suite.quality.minimum:
        return f"{suite.quality.metric} is {min(values):g}, below the suite's minimum of {suite.quality.minimum:g}"
    return None
