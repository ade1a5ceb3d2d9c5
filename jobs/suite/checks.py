"""Checks across the tables of a suite file: each returns problems as (key, text), so that all are told at once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from jobs.errors import UserError
from jobs.labels import label_problem
from jobs.metrics import find_metric
from jobs.plugins import FAMILIES, known_plugins, load
from jobs.suite.document import Document
from jobs.suite.matrix import labels_of_all, problems_of_matrix
from jobs.suite.nodes import problems_of_nodes
from jobs.suite.programs import find_script, is_script

Problem = tuple[str, str]
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@cache
def known(family: str) -> tuple[str, ...]:
    """Return the names of the plugins of a family of this package; asked once: it reads every installed package."""
    names = sorted(known_plugins(FAMILIES[family], f"tracker.{family}"))
    return tuple(names)


def _named_plugins(document: Document) -> Iterator[tuple[str, str, str]]:
    yield "source.kind", "source", document.source.kind
    yield "run.executor", "executor", document.run.executor
    yield "output.parser", "parser", document.output.parser


def plugin_problems(document: Document) -> Iterator[Problem]:
    """Yield plugin names that look misspelt; one that looks like nothing known is a limit, see `limits_of`."""
    for key, family, name in _named_plugins(document):
        near = get_close_matches(name, known(family), n=1, cutoff=0.7)
        if near and name not in known(family):
            yield key, f"no {family} named {name!r}; did you mean {near[0]!r}? known: {', '.join(known(family))}"


def source_problems(document: Document) -> Iterator[Problem]:
    """Yield what the release source, where it is installed, says about its options."""
    if document.source.kind in known("source"):
        try:
            load("source", document.source.kind).create(document.source.options)
        except UserError as error:
            yield "source", str(error)


def limits_of(document: Document) -> tuple[str, ...]:
    """Return why the suite, though sound, cannot run here: missing plugins and commands; empty if it can."""
    limits = [
        f"cannot run here: no {family} {name!r} is installed ({key}); known: {', '.join(known(family)) or 'none'}"
        for key, family, name in _named_plugins(document)
        if name not in known(family)
    ]
    program = document.run.program
    if document.run.executor == "local" and not is_script(program) and shutil.which(program) is None:
        limits.append(f"cannot run here: the command {program!r} is not on PATH (run.program)")
    return tuple(limits)


def matrix_problems(document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the matrix: labels, types, doubles, cases that do not fit, or no config left."""
    yield from problems_of_matrix(document.matrix, gpus=document.hardware.gpus)


def _fillable(document: Document) -> dict[str, str]:
    """Return placeholder -> a sample, for what may stand in arguments."""
    labels = dict.fromkeys(labels_of_all(document.matrix), "1")
    always = {"component": "x", "version": "1"}
    return {**labels, **always, **({"warmup": "1"} if document.run.warmup is not None else {})}


def _placeholder_problems(key: str, text: str, fillable: Mapping[str, str]) -> Iterator[Problem]:
    for name in _PLACEHOLDER.findall(text):
        if name not in fillable:
            near = get_close_matches(name, fillable, n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else f"known: {', '.join(f'{{{n}}}' for n in fillable)}"
            yield key, f"nothing fills {{{name}}} in {text!r}; {hint}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        yield key, f"a brace without its partner in {text!r}"


def argument_problems(document: Document) -> Iterator[Problem]:
    """Yield placeholders that nothing fills, and settings that no argument passes on."""
    fillable = _fillable(document)
    for argument in document.run.arguments:
        yield from _placeholder_problems("run.arguments", argument, fillable)
    if document.run.warmup is not None and not any("{warmup}" in a for a in document.run.arguments):
        yield "run.warmup", "no argument passes it on; add {warmup} to run.arguments or remove the key"


def node_problems(document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the nodes of a run, an executor that cannot start ranks on several included."""
    if document.run.nodes is None:
        return
    executor = document.run.executor
    if executor in known("executor") and not getattr(load("executor", executor), "SEVERAL_NODES", False):
        able = [name for name in known("executor") if getattr(load("executor", name), "SEVERAL_NODES", False)]
        yield (
            "run.nodes",
            f"executor {executor!r} starts one process on one machine and cannot start ranks on several; "
            f"use run.executor = {' or '.join(map(repr, able))}, or remove the table",
        )
    yield from problems_of_nodes(document, document.run.nodes)


def _requirement_problem(text: str) -> str | None:
    try:
        requirement = Requirement(text.replace("{version}", "1").replace("{component}", "x"))
    except InvalidRequirement as error:
        return f"{text!r} is not a requirement: {str(error).splitlines()[0]}"
    pinned = [specifier.operator for specifier in requirement.specifier] == ["=="]
    if not pinned or "*" in str(requirement.specifier):
        return f"{text!r} is not pinned, so what is measured could change by itself; write {requirement.name}==VERSION"
    return None


def requirement_problems(document: Document) -> Iterator[Problem]:
    """Yield requirements that are malformed or not pinned."""
    run = document.run
    lists = [("run.requirements", run.requirements)]
    lists += [(f"run.pins.{minor}", pins) for minor, pins in run.pins.items()]
    lists += [(f"run.asset.{asset.name}.requirements", asset.requirements) for asset in run.asset]
    for key, texts in lists:
        for text in texts:
            if key == "run.requirements":
                yield from _placeholder_problems(key, text, {"component": "x", "version": "1"})
            if problem := _requirement_problem(text):
                yield key, problem
    for minor in run.pins:
        if not re.fullmatch(r"3\.\d+", minor):
            yield f"run.pins.{minor}", f'expected a minor version of Python such as "3.11", found {minor!r}'


def script_problems(document: Document, path: Path) -> Iterator[Problem]:
    """Yield programs and makers that do not exist, and assets of one name."""
    scripts = [(f"run.asset.{asset.name}.maker", asset.maker) for asset in document.run.asset]
    if is_script(document.run.program):
        scripts.append(("run.program", document.run.program))
    for key, name in scripts:
        try:
            find_script(name, path)
        except UserError as error:
            yield key, str(error)
    names = [asset.name for asset in document.run.asset]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "run.asset", f"two assets are named {name!r}; each needs a name of its own"


def release_problems(document: Document) -> Iterator[Problem]:
    """Yield version filters that cannot be read."""
    try:
        SpecifierSet(document.releases.versions)
    except InvalidSpecifier:
        versions = document.releases.versions
        yield "releases.versions", f'{versions!r} is not a version specifier; write for instance ">=1.15,<2"'
    for wanted in document.releases.first:
        if wanted != "newest" and not re.fullmatch(r"\d+(\.\d+)*([a-z.-]+\d*)*", wanted):
            yield "releases.first", f'expected a version such as "1.26", or "newest", found {wanted!r}'


def _metric_problems(key: str, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        try:
            find_metric(name)
        except UserError as error:
            yield key, str(error)


def expectation_problems(document: Document) -> Iterator[Problem]:
    """Yield expected results with unknown labels or metrics, or that cannot be told apart."""
    for place, expectation in enumerate(document.expect, start=1):
        key = f"expect[{place}]"
        yield from _metric_problems(f"{key}.metrics", expectation.metrics)
        for label, value in expectation.labels.items():
            if problem := label_problem(label, value):
                yield f"{key}.labels", problem
        if any(expectation.labels == earlier.labels for earlier in document.expect[: place - 1]):
            yield f"{key}.labels", f"an earlier [[expect]] has the same labels {expectation.labels!r}; merge the two"


def judgement_problems(document: Document) -> Iterator[Problem]:
    """Yield gates and quality checks on what no process is expected to report."""
    reported = {metric for expectation in document.expect for metric in expectation.metrics}
    for place, gate in enumerate(document.gate, start=1):
        chosen = [e for e in document.expect if gate.where.items() <= e.labels.items()]
        if not chosen:
            yield f"gate[{place}].where", f"no [[expect]] has the labels {gate.where!r}; correct them or add one"
            continue
        for metric in gate.metrics:
            if not any(metric in expectation.metrics for expectation in chosen):
                hint = f"known: {', '.join(sorted(reported))}"
                yield (
                    f"gate[{place}].metrics",
                    f"no expected result there has {metric!r}; add it to [[expect]] ({hint})",
                )
    if document.quality and document.quality.metric not in reported:
        metric = document.quality.metric
        yield "quality.metric", f"no expected result has {metric!r}; add it to an [[expect]] or check another"


_CHECKS: tuple[tuple[Callable[[Document, Path], Iterable[Problem]], frozenset[str]], ...] = (
    (lambda document, _: plugin_problems(document), frozenset({"source", "run", "output"})),
    (lambda document, _: source_problems(document), frozenset({"source"})),
    (lambda document, _: release_problems(document), frozenset({"releases"})),
    (lambda document, _: matrix_problems(document), frozenset({"matrix"})),
    (lambda document, _: argument_problems(document), frozenset({"matrix", "run"})),
    (lambda document, _: node_problems(document), frozenset({"source", "matrix", "run", "hardware"})),
    (lambda document, _: requirement_problems(document), frozenset({"run"})),
    (script_problems, frozenset({"run"})),
    (lambda document, _: expectation_problems(document), frozenset({"expect"})),
    (lambda document, _: judgement_problems(document), frozenset({"expect", "gate", "quality"})),
)
"""Every check with the tables it reads."""


def problems_of(document: Document, path: Path, broken: frozenset[str] = frozenset()) -> list[Problem]:
    """Return everything that is wrong with a document; checks that read a `broken` table are left out."""
    return [problem for check, reads in _CHECKS if not reads & broken for problem in check(document, path)]
