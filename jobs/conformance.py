"""Runs parsers over cases: what a file should give, beside what it gives. For our own cases and for users' folders.

A case is a folder with `input` (any ending) and `expected.json`: one object in the schema of `result_json`, where
`flags` is the least that must be set and `absent` names metrics that must not be reported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.content import Content
from jobs.errors import UserError
from jobs.reading import AUTO, read_result, result_json

RELATIVE_ERROR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One case and what differs; no differences is a pass."""

    name: str
    differences: tuple[str, ...]


def check_folder(folder: Path) -> Iterator[Checked]:
    """Yield the outcome of every case below `folder`; raise UserError if there is none or one cannot be read."""
    cases = sorted(folder.rglob("expected.json"))
    if not cases:
        raise UserError(f"no case found: expected folders with input and expected.json below {folder}")
    for expected in cases:
        yield check_case(expected.parent)


def check_case(folder: Path) -> Checked:
    """Return what differs in one case folder; raise UserError where its files are missing or not JSON."""
    inputs = sorted(path for path in folder.iterdir() if path.name.partition(".")[0] == "input")
    if len(inputs) != 1:
        raise UserError(f"expected one file named input (with any ending) in {folder}, found {len(inputs)}")
    try:
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{folder / 'expected.json'} is not JSON: {error}") from error
    if not isinstance(expected, dict):
        raise UserError(f"expected one object in {folder / 'expected.json'}")
    return Checked(name=folder.name, differences=tuple(differences(expected, read(inputs[0]))))


def read(path: Path, tool: str = AUTO) -> dict[str, Any]:
    """Return what a file holds, in the schema of expected.json."""
    return result_json(path.name, read_result(Content(path.name, path), tool))


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield, in words, where a parse is not what was expected."""
    for key in ("tool", "outcome", "version"):
        if expected.get(key) != found[key]:
            yield f"{key}: expected {expected.get(key)!r}, found {found[key]!r} ({found['reason']})"
    if found["outcome"] != "ok" and not found["reason"]:
        yield f"an outcome of {found['outcome']} needs a reason"
    runs, found_runs = expected.get("runs", []), found["runs"]
    if len(runs) != len(found_runs):
        yield f"runs: expected {len(runs)}, found {len(found_runs)}"
    for number, (run, found_run) in enumerate(zip(runs, found_runs, strict=False), start=1):
        for difference in _run_differences(run, found_run):
            yield f"run {number}: {difference}"


def _run_differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    labels, found_labels = expected.get("labels", {}), found["labels"]
    for name in sorted({*labels, *found_labels}):
        if _plain(labels.get(name)) != _plain(found_labels.get(name)):
            yield f"label {name}: expected {labels.get(name)!r}, found {found_labels.get(name)!r}"
    metrics, found_metrics = expected.get("metrics", {}), found["metrics"]
    for name in sorted({*metrics, *found_metrics}):
        yield from _metric_differences(name, metrics.get(name), found_metrics.get(name))
    for flag in expected.get("flags", []):
        if flag not in found["flags"]:
            yield f"flag {flag} is missing; found {found['flags']}"
    yield from (f"{name} must be absent" for name in expected.get("absent", []) if name in found_metrics)


def _plain(value: object) -> object:
    return (type(value) is bool, value)


def _metric_differences(
    name: str, expected: Mapping[str, Any] | None, found: Mapping[str, Any] | None
) -> Iterator[str]:
    if expected is None or found is None:
        yield f"{name}: expected {_value(expected)}, found {_value(found)}"
        return
    if expected["unit"] != found["unit"]:
        yield f"{name}: expected the unit {expected['unit']!r}, found {found['unit']!r}"
    if not math.isclose(expected["value"], found["value"], rel_tol=RELATIVE_ERROR, abs_tol=0.0):
        yield f"{name}: expected {expected['value']!r}, found {found['value']!r}"


def _value(metric: Mapping[str, Any] | None) -> str:
    return "nothing" if metric is None else repr(metric["value"])
