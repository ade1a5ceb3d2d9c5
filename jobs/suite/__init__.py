"""Suites: TOML files that say what is measured, how, and what must come out (see jobs/suites/README.md).

One run is one fresh process of one config, and may report several results. A result's series is named by the
config's labels merged with its own (`jobs.labels.series_labels`).
"""

from __future__ import annotations

from jobs.suite.checks import limits_of
from jobs.suite.document import Suite
from jobs.suite.expansion import (
    Config,
    ExpectedResult,
    Plan,
    choose,
    expand,
    expected_results,
    gpus_of,
    least_gpus,
    min_effect_ratio,
    missing_results,
    plan,
    suite_revision,
)
from jobs.suite.loading import example_suites, find_suite, load_suite, recorded_suites, shipped_suites, suites_in
from jobs.suite.spec import BuildUnderTest, job_spec

__all__ = [
    "BuildUnderTest",
    "Config",
    "ExpectedResult",
    "Plan",
    "Suite",
    "choose",
    "example_suites",
    "expand",
    "expected_results",
    "find_suite",
    "gpus_of",
    "job_spec",
    "least_gpus",
    "limits_of",
    "load_suite",
    "min_effect_ratio",
    "missing_results",
    "plan",
    "recorded_suites",
    "shipped_suites",
    "suite_revision",
    "suites_in",
]
