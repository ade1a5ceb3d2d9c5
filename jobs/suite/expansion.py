"""From a suite to what runs: its configs, its plan, its revision, and the results that one process must report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from jobs.errors import UserError
from jobs.fingerprint import config_fingerprint, fingerprint
from jobs.labels import series_labels
from jobs.measurements import Label, ParsedRun
from jobs.suite.document import Suite
from jobs.suite.matrix import combinations
from jobs.suite.programs import find_script, is_script

Choice = Mapping[str, Label | Sequence[Label]]
"""Label -> the value or values that are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One combination of a suite's matrix: what one process measures."""

    labels: Mapping[str, Label]
    """Identity only: repeats, limits, priority and notes are not in it."""

    @property
    def fingerprint(self) -> str:
        """The config's name."""
        return config_fingerprint(self.labels)


def _python_labels(suite: Suite, python_minor: str) -> dict[str, Label]:
    """Return the identity that the interpreter adds; empty for a suite that does not pin by it."""
    pins = suite.run.pins
    if not pins:
        return {}
    if python_minor not in pins:
        known = ", ".join(pins)
        raise UserError(
            f"{suite.path}: run.pins: nothing is pinned for Python {python_minor}; known: {known}. Add {python_minor!r}"
        )
    return {"python": python_minor, "pins": " ".join(sorted(pins[python_minor]))}


def expand(suite: Suite, *, python_minor: str) -> tuple[Config, ...]:
    """Return the configs for an interpreter ("3.11"), in the order of the matrix; raise UserError without its pins."""
    shared: dict[str, Label] = {"tool": suite.output.tool, **_python_labels(suite, python_minor)}
    if suite.hardware.gpus:
        shared["gpu_count"] = suite.hardware.gpus
    if suite.run.nodes:
        shared["node_count"] = suite.run.nodes.count
    return tuple(Config(labels={**shared, **labels}) for labels in combinations(suite.matrix))


def gpus_of(suite: Suite, config: Config) -> int:
    """Return how many GPUs one run of a config needs, over all its nodes: its `gpu_count`, else what the suite asks."""
    count = config.labels.get("gpu_count", suite.hardware.gpus)
    return count if isinstance(count, int) else suite.hardware.gpus


def least_gpus(suite: Suite) -> int:
    """Return how many GPUs a host needs to measure any config of a suite."""
    counts = [labels.get("gpu_count", suite.hardware.gpus) for labels in combinations(suite.matrix)]
    return min((count for count in counts if isinstance(count, int)), default=suite.hardware.gpus)


def choose(configs: Sequence[Config], choice: Choice, suite: str) -> tuple[Config, ...]:
    """Return the configs whose labels have one of the chosen values each; raise UserError for what no config has."""
    wanted = {
        label: list(v) if isinstance(v, Sequence) and not isinstance(v, str) else [v] for label, v in choice.items()
    }
    for label, values in wanted.items():
        known = list(dict.fromkeys(config.labels[label] for config in configs if label in config.labels))
        if not known:
            labels = sorted({name for config in configs for name in config.labels})
            raise UserError(f"choices.{suite}.{label}: no config has this label{_near(label, labels)}")
        for value in values:
            if value not in known:
                raise UserError(f"choices.{suite}.{label}: no config has {value!r}{_near(value, known)}")
    chosen = tuple(c for c in configs if all(c.labels.get(label) in values for label, values in wanted.items()))
    if configs and not chosen:
        raise UserError(
            f"choices.{suite}: no config has all of it; `tracker suites plan {suite}` without it shows them"
        )
    return chosen


def _near(value: Label, known: Sequence[Label]) -> str:
    close = get_close_matches(str(value), [str(one) for one in known if isinstance(one, str)], n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(map(str, known))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much work one release is; `estimate_s` is None where the suite gives no estimate."""

    configs: tuple[Config, ...]
    repeats: int
    runs: int
    estimate_s: float | None


def plan(suite: Suite, *, python_minor: str, choice: Choice | None = None) -> Plan:
    """Return what measuring one release takes, of the chosen configs where there is a choice (see `choose`)."""
    configs = choose(expand(suite, python_minor=python_minor), choice or {}, suite.name)
    runs = len(configs) * suite.run.repeats
    estimate_s = None if suite.run.estimate_s is None else runs * suite.run.estimate_s
    return Plan(configs=configs, repeats=suite.run.repeats, runs=runs, estimate_s=estimate_s)


def suite_revision(suite: Suite) -> str:
    """Return the hash over what decides results: programs, pins, matrix; not limits, repeats or judgement."""
    judged_or_said = {"path", "title", "description", "releases", "expect", "gate", "quality"}
    decides = suite.model_dump(mode="json", exclude=judged_or_said)
    for limit in ("repeats", "timeout_s", "setup_timeout_s", "estimate_s", "output_limit_mb"):
        del decides["run"][limit]
    del decides["hardware"]["pool"]  # which of the hosts that have what is needed: their hardware is known by itself
    for table in ("container", "nodes"):  # a suite without the table keeps the revision it had before there was one
        if decides["run"][table] is None:
            del decides["run"][table]
    scripts = [asset.maker for asset in suite.run.asset]
    scripts += [suite.run.program] if is_script(suite.run.program) else []
    contents = {name: hashlib.sha256(find_script(name, suite.path).read_bytes()).hexdigest() for name in scripts}
    return fingerprint("suite", json.dumps({"suite": decides, "scripts": contents}, sort_keys=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedResult:
    """One result that a process of a config must report, with the full labels of its series."""

    labels: Mapping[str, Label]
    metrics: tuple[str, ...]


def expected_results(suite: Suite, config: Config) -> tuple[ExpectedResult, ...]:
    """Return what one process of `config` must report."""
    return tuple(ExpectedResult(labels=series_labels(config.labels, e.labels), metrics=e.metrics) for e in suite.expect)


def missing_results(suite: Suite, config: Config, runs: Sequence[ParsedRun]) -> tuple[ExpectedResult, ...]:
    """Return the expected results, cut down to the metrics that `runs` do not hold; empty if nothing is missing."""
    found = [(series_labels(config.labels, run.labels), run.metrics) for run in runs]
    missing = []
    for expected in expected_results(suite, config):
        held = {m for labels, metrics in found if expected.labels.items() <= labels.items() for m in metrics}
        absent = tuple(metric for metric in expected.metrics if metric not in held)
        if absent:
            missing.append(ExpectedResult(labels=expected.labels, metrics=absent))
    return tuple(missing)


def min_effect_ratio(suite: Suite, labels: Mapping[str, Label], metric: str) -> float | None:
    """Return the smallest change of a series that may raise an alert (0.05 is 5 %); None where it is not gated."""
    for gate in suite.gate:
        if metric in gate.metrics and gate.where.items() <= labels.items():
            return gate.min_effect_ratio
    return None
