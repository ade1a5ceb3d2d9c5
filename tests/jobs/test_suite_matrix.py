"""Cases of a matrix: what adds up instead of multiplying, and how many GPUs a config needs."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.suite import BuildUnderTest, Suite, choose, expand, job_spec, load_suite
from jobs.suite.matrix import combinations

TEXT = """
name = "cases"
title = "Cases"
component = "thing"
source = {kind = "oci_registry", repository = "registry.example/thing"}

[matrix]
precision = ["fp8"]
case = [
    {model = "small", gpu_count = 1, tp = 1, isl = [128, 512], osl = 128},
    {model = ["small", "big"], gpu_count = 4, tp = 4, isl = 1024, osl = [1024, 2048]},
]

[run]
executor = "docker_engine"
program = "bench"
arguments = ["{model}", "{isl}", "{tp}"]
timeout_s = 60

[output]
tool = "bench"
parser = "generic"

[[expect]]
metrics = ["output_tok_s"]
"""
BUILD = BuildUnderTest(version="1.0", kind="image", location="registry.example/thing:1.0", digest="sha256:0")


def load(folder: Path, old: str = "", new: str = "") -> Suite:
    assert not old or TEXT.count(old) == 1
    path = folder / "cases.toml"
    path.write_text(TEXT.replace(old, new) if old else TEXT)
    return load_suite(path)


def test_cases_add_up_and_each_is_multiplied_with_what_stands_beside_them(tmp_path: Path) -> None:
    configs = expand(load(tmp_path), python_minor="3.11")
    shown = [tuple(c.labels[label] for label in ("model", "gpu_count", "isl", "osl", "precision")) for c in configs]
    assert shown == [
        ("small", 1, 128, 128, "fp8"),
        ("small", 1, 512, 128, "fp8"),
        ("small", 4, 1024, 1024, "fp8"),
        ("small", 4, 1024, 2048, "fp8"),
        ("big", 4, 1024, 1024, "fp8"),
        ("big", 4, 1024, 2048, "fp8"),
    ]


def test_a_config_gets_the_gpus_of_its_case(tmp_path: Path) -> None:
    suite = load(tmp_path)
    jobs = [job_spec(suite, c, BUILD, key="run-1-1", python_minor="3.11") for c in expand(suite, python_minor="3.11")]
    assert [job.gpus for job in jobs] == [1, 1, 4, 4, 4, 4]


def test_exclude_reaches_into_cases(tmp_path: Path) -> None:
    suite = load(tmp_path, 'precision = ["fp8"]', 'precision = ["fp8"]\nexclude = [{model = "big", osl = 2048}]')
    assert len(expand(suite, python_minor="3.11")) == 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("case = [\n", "case = [1,\n", "matrix.case: expected a list of tables, such as case = "),
        ("model = \"small\"", "model = []", r"matrix.case\[1\].model: the list is empty"),
        ("osl = 128}", "osl = \"x\"}", r"matrix.case\[1\].osl: label 'osl' must be a whole number"),
        ("osl = 128}", "oslo = 128}", r"matrix.case\[1\].oslo: unknown identity label 'oslo'; did you mean 'osl'"),
        ("osl = 128}", "osl = 128, precision = \"fp4\"}", r"matrix.case\[1\].precision: it stands in the matrix too"),
        ("isl = 1024, osl = [1024, 2048]}", "osl = 1024}", r"nothing fills \{isl\}"),
        ("[output]", "[hardware]\ngpus = 1\n[output]", r"matrix.gpu_count: \[hardware\] gpus = 1 says it too"),
        ('precision = ["fp8"]', 'exclude = [{isl = 77}]', r"isl = 77 never occurs; the matrix has \[128, 512, 1024\]"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_case_is_named_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(tmp_path, old, new)


values = st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True)


@given(st.lists(st.fixed_dictionaries({"isl": values, "osl": values}), min_size=1, max_size=4))
def test_each_combination_of_any_case_is_there_once(cases: list[dict[str, list[int]]]) -> None:
    found = [(one["isl"], one["osl"]) for one in combinations({"case": cases})]
    assert len(found) == len(set(found))
    assert set(found) == {pair for case in cases for pair in product(case["isl"], case["osl"])}


# --- what a user has


def test_a_choice_keeps_the_configs_that_have_one_of_its_values(tmp_path: Path) -> None:
    configs = expand(load(tmp_path), python_minor="3.11")
    assert choose(configs, {}, "cases") == configs
    assert choose(configs, {"gpu_count": 1}, "cases") == configs[:2]
    assert choose(configs, {"model": ["big"], "osl": [1024, 128]}, "cases") == configs[4:5]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"modell": ["big"]}, "choices.cases.modell: .* did you mean 'model'"),
        ({"model": ["bigg"]}, "choices.cases.model: no config has 'bigg'; did you mean 'big'"),
        ({"isl": 77}, "choices.cases.isl: no config has 77; known: 128, 512, 1024"),
        ({"model": ["big"], "gpu_count": [1]}, "choices.cases: no config has all of it"),
    ],
)
def test_a_choice_that_means_nothing_is_told(tmp_path: Path, choice: dict[str, list[str]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(expand(load(tmp_path), python_minor="3.11"), choice, "cases")
