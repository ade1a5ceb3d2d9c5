"""The matrix of a suite: labels with their values, cases that go together, and what is left out.

`isl = [128, 512]` multiplies. `case = [{isl = 128, osl = [128, 2048]}, {isl = 5000, osl = 500}]` adds up: each case is
multiplied out on its own, together with the labels that stand beside the cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.labels import label_problem
from jobs.measurements import Label

LARGEST_MATRIX = 10_000
EXCLUDE, CASE = "exclude", "case"
NOT_LABELS = frozenset({EXCLUDE, CASE})
_Problem = tuple[str, str]


def shared_axes(matrix: Mapping[str, Any]) -> dict[str, list[Label]]:
    """Return the labels that stand beside the cases, with their values."""
    return {label: list(values) for label, values in matrix.items() if label not in NOT_LABELS}


def cases_of(matrix: Mapping[str, Any]) -> list[dict[str, list[Label]]]:
    """Return the labels and values of each case, one case without any where the matrix has none."""
    cases = matrix.get(CASE) or [{}]
    return [{label: _as_list(values) for label, values in case.items()} for case in cases]


def labels_of_all(matrix: Mapping[str, Any]) -> list[str]:
    """Return the labels that every config has; a case may have more of its own."""
    of_cases = [set(case) for case in matrix.get(CASE) or [{}] if isinstance(case, dict)]
    common = set.intersection(*of_cases) if of_cases else set()
    return [label for label in matrix if label not in NOT_LABELS] + sorted(common)


def combinations(matrix: Mapping[str, Any]) -> list[dict[str, Label]]:
    """Return the configs' labels in the order written, each once, without the excluded ones."""
    excluded = matrix.get(EXCLUDE, [])
    found: list[dict[str, Label]] = []
    for case in cases_of(matrix):
        axes = {**shared_axes(matrix), **case}
        made = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
        found += [one for one in made if not any(table.items() <= one.items() for table in excluded)]
    unique = {tuple(sorted(one.items(), key=lambda item: item[0])): one for one in found}
    return list(unique.values())


def problems_of_matrix(matrix: Mapping[str, Any], *, gpus: int) -> Iterator[_Problem]:
    """Yield what is wrong with a matrix; `gpus` is what the suite's [hardware] asks for."""
    found = [p for label, values in matrix.items() if label not in NOT_LABELS for p in _axis_problems(label, values)]
    found += list(_case_problems(matrix))
    if not matrix.keys() - {EXCLUDE}:
        found.append(("matrix", 'the matrix is empty; give at least one label, such as model = ["name"]'))
    if not found:
        found += list(_whole_problems(matrix, gpus))
    yield from found


def _as_list(values: Any) -> list[Label]:
    return list(values) if isinstance(values, list) else [values]


def _axis_problems(label: str, values: object, key: str = "") -> Iterator[_Problem]:
    key = key or f"matrix.{label}"
    if label == "tool":
        yield "matrix.tool", "the tool is set by output.tool; remove the key"
    elif not isinstance(values, list):
        yield key, f"expected a list of values, found {values!r}; write {label} = [{values!r}]"
    elif not values:
        yield key, "the list is empty, so no config is left; give at least one value or remove the key"
    else:
        for value in values:
            if problem := label_problem(label, value):
                yield key, problem
        if any(value in values[:place] for place, value in enumerate(values)):
            yield key, f"a value stands twice in {values!r}; each gives one config"


def _case_problems(matrix: Mapping[str, Any]) -> Iterator[_Problem]:
    cases = matrix.get(CASE, [{"": 0}])
    if not isinstance(cases, list) or not cases or not all(isinstance(case, dict) and case for case in cases):
        yield "matrix.case", "expected a list of tables, such as case = [{isl = 128, osl = [128, 2048]}]"
        return
    for place, case in enumerate(cases if CASE in matrix else (), start=1):
        for label, values in case.items():
            if label in matrix:
                yield f"matrix.case[{place}].{label}", "it stands in the matrix too; keep it in one of the two"
            yield from _axis_problems(label, _as_list(values), f"matrix.case[{place}].{label}")


def _whole_problems(matrix: Mapping[str, Any], gpus: int) -> Iterator[_Problem]:
    """Yield what only shows once every label and value is sound."""
    cases = cases_of(matrix)
    axes = shared_axes(matrix)
    size = sum(math.prod(len(values) for values in {**axes, **case}.values()) for case in cases)
    if size > LARGEST_MATRIX:
        yield "matrix", f"{size} configs are more than {LARGEST_MATRIX}; give fewer values"
        return
    if gpus and any("gpu_count" in {**axes, **case} for case in cases):
        yield "matrix.gpu_count", f"[hardware] gpus = {gpus} says it too; keep one of the two"
    excludable: dict[str, list[Label]] = {}
    for case in ({**axes, **case} for case in cases):
        for label, values in case.items():
            excludable.setdefault(label, []).extend(value for value in values if value not in excludable[label])
    wrong = list(_exclude_problems(excludable, matrix.get(EXCLUDE, [])))
    yield from wrong
    if not wrong and not combinations(matrix):
        yield "matrix.exclude", "every config is excluded, so nothing is left to run; exclude less"


def _exclude_problems(known: Mapping[str, Sequence[Label]], excluded: object) -> Iterator[_Problem]:
    if not isinstance(excluded, list) or not all(isinstance(table, dict) and table for table in excluded):
        yield "matrix.exclude", "expected a list of tables, such as exclude = [{isl = 128, batch = 8}]"
        return
    for table in excluded:
        for label, value in table.items():
            if label not in known:
                yield "matrix.exclude", f"{label!r} is no label of this matrix; known: {', '.join(known)}"
            elif value not in known[label]:
                yield "matrix.exclude", f"{label} = {value!r} never occurs; the matrix has {known[label]!r}"
