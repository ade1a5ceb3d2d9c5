from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.errors import UserError
from jobs.fingerprint import config_fingerprint
from jobs.measurements import ParsedRun, Reading
from jobs.suite import (
    BuildUnderTest,
    Suite,
    example_suites,
    expand,
    expected_results,
    find_suite,
    job_spec,
    limits_of,
    load_suite,
    min_effect_ratio,
    missing_results,
    plan,
    shipped_suites,
    suite_revision,
    suites_in,
)

WHOLE = """
name = "mine"
title = "A suite"
component = "onnxruntime"

[source]
kind = "folder"
path = "/builds"

[matrix]
model = ["small"]
isl = [128, 512]
batch = [1, 8]
exclude = [{isl = 512, batch = 8}]

[run]
executor = "local"
program = "bench.py"
arguments = ["--isl={isl}", "--batch", "{batch}", "--warmup", "{warmup}", "{component}-{version}"]
repeats = 5
warmup = 3
timeout_s = 60
estimate_s = 2.5
requirements = ["onnxruntime=={version}"]

[run.pins]
"3.11" = ["numpy==1.26.4"]

[[run.asset]]
name = "model.bin"
maker = "maker.py"
requirements = ["numpy==1.26.4; python_version < '3.13'"]

[output]
tool = "my_bench"
parser = "generic"

[[expect]]
labels = {scenario = "prefill"}
metrics = ["latency_p50_ms", "accuracy"]

[[expect]]
labels = {scenario = "decode"}
metrics = ["latency_p50_ms"]

[[gate]]
metrics = ["latency_p50_ms"]
where = {scenario = "prefill"}
min_effect_ratio = 0.05

[quality]
metric = "accuracy"
minimum = 0.99
"""
BUILD = BuildUnderTest(version="1.26.0", kind="wheel", location="x.whl", digest="sha256:0")


def write(folder: Path, text: str = WHOLE) -> Path:
    (folder / "programs").mkdir(exist_ok=True)
    (folder / "programs" / "bench.py").write_text("print(1)\n")
    (folder / "programs" / "maker.py").write_text("print(2)\n")
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(folder: Path, old: str, new: str) -> Path:
    assert WHOLE.count(old) == 1, f"{old!r} must stand once in the sample"
    return write(folder, WHOLE.replace(old, new))


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return load_suite(write(tmp_path))


# --- loading


@pytest.mark.parametrize("path", [*shipped_suites(), *example_suites()], ids=lambda path: path.name)
def test_every_suite_that_comes_along_is_sound(path: Path) -> None:
    suite = load_suite(path)
    assert suite.run.estimate_s is not None
    assert suite.gate
    assert plan(suite, python_minor="3.11").runs > 0


def test_the_shipped_suites_are_these() -> None:
    assert [path.stem for path in shipped_suites()] == [
        "llamacpp",
        "onnxruntime",
        "tensorrt-bert",
        "tensorrt-detection",
        "tensorrt-vision",
        "trtllm-latency",
        "trtllm-serve-aiperf",
        "trtllm-throughput-fp4",
        "trtllm-throughput-fp8",
    ]
    assert [path.stem for path in example_suites()] == ["aiperf", "trtexec", "trtllm_bench", "trtllm_two_nodes"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A suite"', 'titel = "A suite"', "titel: unknown key; did you mean 'title'?"),
        ('title = "A suite"', "", "title: this key is missing; add it (one line for people)"),
        ("repeats = 5", "repaets = 5", "run.repaets: unknown key; did you mean 'repeats'?"),
        ("repeats = 5", "repeats = 0", "run.repeats: input should be greater than or equal to 1"),
        ("repeats = 5", 'repeats = "5"', "run.repeats: input should be a valid integer"),
        ("repeats = 5", "repeats = true", "run.repeats: input should be a valid integer"),
        ("timeout_s = 60", "timeout_s = inf", "run.timeout_s: input should be a finite number"),
        ("timeout_s = 60", "timeout_s = -1", "run.timeout_s: input should be greater than 0"),
        ('name = "mine"', 'name = "My Suite"', "name: string should match pattern"),
        ('maker = "maker.py"', 'maekr = "maker.py"', "run.asset[1].maekr: unknown key; did you mean 'maker'?"),
        ('maker = "maker.py"', 'maker = "none.py"', "run.asset.model.bin.maker: no script 'none.py' in"),
        ('program = "bench.py"', 'program = "none.py"', "run.program: no script 'none.py' in"),
        ('program = "bench.py"', 'program = "../bench.py"', "run.program: '../bench.py' must be the bare name"),
        ('name = "model.bin"', 'name = "../model.bin"', "run.asset[1].name: string should match pattern"),
        ('model = ["small"]', 'modle = ["small"]', "matrix.modle: unknown identity label 'modle'; did you mean"),
        ('model = ["small"]', 'model = "small"', "matrix.model: expected a list of values, found 'small'"),
        ('model = ["small"]', "model = []", "matrix.model: the list is empty"),
        ('model = ["small"]', 'model = ["small", "small"]', "matrix.model: a value stands twice"),
        ('model = ["small"]', 'tool = ["small"]', "matrix.tool: the tool is set by output.tool"),
        ("isl = [128, 512]", 'isl = [128, "512"]', "matrix.isl: label 'isl' must be a whole number"),
        ("isl = 512, batch = 8", "isl = 513", "matrix.exclude: isl = 513 never occurs"),
        ("isl = 512, batch = 8", "osl = 1", "matrix.exclude: 'osl' is no label of this matrix"),
        ("isl = 512, batch = 8", 'model = "small"', "matrix.exclude: every config is excluded"),
        ("exclude = [{isl = 512, batch = 8}]", "exclude = 5", "matrix.exclude: expected a list of tables"),
        ('"{batch}"', '"{bacth}"', "run.arguments: nothing fills {bacth} in '{bacth}'; did you mean {batch}?"),
        ('"{batch}"', '"{batch"', "run.arguments: a brace without its partner"),
        ('"--warmup", "{warmup}", ', "", "run.warmup: no argument passes it on"),
        ("onnxruntime=={version}", "onnxruntime>=1", "run.requirements: 'onnxruntime>=1' is not pinned"),
        ("onnxruntime=={version}", "onnxruntime==1.*", "is not pinned"),
        ("onnxruntime=={version}", "onnx runtime", "run.requirements: 'onnx runtime' is not a requirement"),
        ("onnxruntime=={version}", "onnxruntime=={verison}", "did you mean {version}?"),
        ('"3.11" =', '"3,11" =', "run.pins.3,11: expected a minor version of Python"),
        ('executor = "local"', 'executor = "lokal"', "run.executor: no executor named 'lokal'; did you mean 'local'?"),
        ('parser = "generic"', 'parser = "genric"', "output.parser: no parser named 'genric'; did you mean 'generic'?"),
        ('metrics = ["latency_p50_ms", "accuracy"]', 'metrics = ["latency_p50"]', "did you mean latency_p50_ms"),
        (
            'metrics = ["latency_p50_ms", "accuracy"]',
            'metrics = ["latency_median_ms", "accuracy"]',
            "expect[1].metrics: unknown metric 'latency_median_ms'",
        ),
        ('labels = {scenario = "decode"}', 'labels = {scenario = "prefill"}', "expect[2].labels: an earlier"),
        ('labels = {scenario = "decode"}', "labels = {isl = 0}", "expect[2].labels: label 'isl' must be"),
        ('where = {scenario = "prefill"}', 'where = {scenario = "x"}', "gate[1].where: no [[expect]] has the labels"),
        ("min_effect_ratio = 0.05", "min_effect_ratio = 5", "gate[1].min_effect_ratio: input should be less than 1"),
        ('metric = "accuracy"', 'metric = "req_s"', "quality.metric: no expected result has 'req_s'"),
        ('kind = "folder"', "", "source.kind: this key is missing"),
        ('path = "/builds"', 'pth = "/builds"', "source: source folder: "),
        ("[matrix]", "[releases]\nversions = \"newer\"\n[matrix]", "releases.versions: 'newer' is not"),
        ("[matrix]", '[releases]\nfirst = ["best"]\n[matrix]', "releases.first: expected a version such as"),
        ("[matrix]", '[releases]\ntracks = ["stabel"]\n[matrix]', "releases.tracks[1]: input should be 'stable', 'rc'"),
        ("[matrix]", '[releases]\nfrist = ["newest"]\n[matrix]', "releases.frist: unknown key; did you mean 'first'?"),
        ("repeats = 5", "repeats = 5\nrepeats = 6", "is not TOML"),
        ("repeats = 5", "repeats = " + "9" * 5000, "is not TOML: Exceeds the limit"),
        ('title = "A suite"', 'title = "A\\u0000"', "a text in it holds the unusable character U+0000"),
        ("repeats = 5", 'repeats = 5\nenvironment = {"A=B" = "x"}', "run.environment.A=B"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_key_and_cure(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(UserError) as caught:
        load_suite(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_gate_on_what_its_results_do_not_report_is_named(tmp_path: Path) -> None:
    path = changed(tmp_path, '[[gate]]\nmetrics = ["latency_p50_ms"]', '[[gate]]\nmetrics = ["req_s"]')
    with pytest.raises(UserError, match=r"gate\[1\].metrics: no expected result there has 'req_s'"):
        load_suite(path)


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("{batch}", "{bacth}").replace("1.26.4", "1.*").replace("isl = [128", "isl = [0")
    with pytest.raises(UserError) as caught:
        load_suite(write(tmp_path, text))
    lines = str(caught.value).splitlines()
    keys = {"run.arguments", "run.pins.3.11", "run.asset.model.bin.requirements", "matrix.isl"}
    assert re.search(r"4 problems$", lines[0])
    assert {line.split(": ")[1] for line in lines[1:]} == keys


def test_a_table_of_wrong_shape_does_not_hide_mistakes_in_the_others(tmp_path: Path) -> None:
    text = (
        WHOLE.replace('title = "A suite"', "").replace("repeats = 5", "repaets = 5").replace("isl = [128", "isl = [0")
    )
    text = text.replace('metric = "accuracy"', 'metric = "req_s"')
    with pytest.raises(UserError) as caught:
        load_suite(write(tmp_path, text))
    keys = [line.split(": ")[1] for line in str(caught.value).splitlines()[1:]]
    assert sorted(keys) == ["matrix.isl", "quality.metric", "run.repaets", "title"]


def test_an_endless_matrix_is_refused_without_making_it(tmp_path: Path) -> None:
    numbers = list(range(1, 200))
    path = changed(tmp_path, "isl = [128, 512]", f"isl = {numbers}\nosl = {numbers}")
    path.write_text(path.read_text().replace("exclude = [{isl = 512, batch = 8}]", ""))
    with pytest.raises(UserError, match="configs are more than 10000"):
        load_suite(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (b"name = ", "is not TOML"),
        (b"a = " + b"[" * 100_000, "is not TOML"),
        (b"", "problems"),
    ],
)
def test_a_file_that_is_no_suite_is_a_user_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_suite(path)


def test_a_missing_file_and_a_folder_are_user_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            load_suite(path)


def test_a_parser_that_is_not_installed_is_a_limit_not_a_mistake(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, 'parser = "generic"', 'parser = "zzz_tool"'))
    assert any("cannot run here: no parser 'zzz_tool' is installed" in limit for limit in limits_of(suite))


def test_a_command_that_is_not_there_is_a_limit(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, 'program = "bench.py"', 'program = "no-such-command"'))
    assert any("'no-such-command' is not on PATH" in limit for limit in limits_of(suite))


def test_suites_are_found_by_name_or_path_and_own_ones_come_first(tmp_path: Path) -> None:
    path = write(tmp_path)
    own = tmp_path / "onnxruntime.toml"
    own.write_text("")
    assert find_suite("mine", [tmp_path]) == path
    assert find_suite(str(path)) == path
    assert find_suite("onnxruntime", [tmp_path]) == own
    assert find_suite("onnxruntime") in shipped_suites()
    assert find_suite("trtexec") in example_suites()
    assert suites_in(tmp_path / "none") == []
    with pytest.raises(UserError, match=r"no suite named 'onxruntime'; known: .*Did you mean 'onnxruntime'"):
        find_suite("onxruntime")


# --- expansion


def test_the_matrix_is_multiplied_in_order_without_what_is_excluded(suite: Suite) -> None:
    configs = expand(suite, python_minor="3.11")
    assert [(c.labels["isl"], c.labels["batch"]) for c in configs] == [(128, 1), (128, 8), (512, 1)]
    assert {k: v for k, v in configs[0].labels.items() if k not in ("isl", "batch")} == {
        "tool": "my_bench",
        "python": "3.11",
        "pins": "numpy==1.26.4",
        "model": "small",
    }
    assert len({config.fingerprint for config in configs}) == 3
    assert configs[0].fingerprint == config_fingerprint(configs[0].labels)


def test_a_python_without_pins_is_refused_with_the_cure(suite: Suite) -> None:
    with pytest.raises(UserError, match=r"nothing is pinned for Python 3.15; known: 3.11"):
        expand(suite, python_minor="3.15")


def test_a_suite_without_pins_does_not_depend_on_python(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, '"3.11" = ["numpy==1.26.4"]', ""))
    assert expand(suite, python_minor="3.11") == expand(suite, python_minor="3.15")
    assert "python" not in expand(suite, python_minor="3.11")[0].labels


def test_the_number_of_gpus_is_identity(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, "[output]", "[hardware]\ngpus = 8\n\n[output]"))
    assert expand(suite, python_minor="3.11")[0].labels["gpu_count"] == 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("repeats = 5", "repeats = 9"),
        ("timeout_s = 60", "timeout_s = 61"),
        ('title = "A suite"', 'title = "Other"'),
        ("[output]", '[hardware]\npool = "h200"\n\n[output]'),
    ],
)
def test_repeats_limits_titles_and_pools_change_neither_config_nor_revision(tmp_path: Path, old: str, new: str) -> None:
    before = load_suite(write(tmp_path))
    prints = [c.fingerprint for c in expand(before, python_minor="3.11")], suite_revision(before)
    after = load_suite(changed(tmp_path, old, new))
    assert ([c.fingerprint for c in expand(after, python_minor="3.11")], suite_revision(after)) == prints


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("warmup = 3", "warmup = 4"),
        ('"3.11" = ["numpy==1.26.4"]', '"3.11" = ["numpy==1.26.3"]'),
        ("isl = [128, 512]", "isl = [128, 512, 1024]"),
        ('"--batch", ', '"--batch-size", '),
    ],
)
def test_what_decides_results_changes_the_revision(tmp_path: Path, old: str, new: str) -> None:
    before = suite_revision(load_suite(write(tmp_path)))
    assert suite_revision(load_suite(changed(tmp_path, old, new))) != before


@pytest.mark.parametrize("script", ["bench.py", "maker.py"])
def test_a_changed_script_changes_the_revision(suite: Suite, script: str) -> None:
    before = suite_revision(suite)
    (suite.path.parent / "programs" / script).write_text("print(3)\n")
    assert suite_revision(suite) != before


def test_the_plan_counts_processes_and_estimates_time(suite: Suite) -> None:
    work = plan(suite, python_minor="3.11")
    assert (len(work.configs), work.repeats, work.runs, work.estimate_s) == (3, 5, 15, 37.5)


def test_without_an_estimate_the_plan_has_none(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, "estimate_s = 2.5", ""))
    assert plan(suite, python_minor="3.11").estimate_s is None


# --- expectations and gates


def reading(value: float) -> Reading:
    return Reading(value=value, unit="ms", key="k", raw=str(value), raw_unit="ms")


def test_a_result_that_was_expected_and_did_not_come_is_known_as_missing(suite: Suite) -> None:
    config = expand(suite, python_minor="3.11")[0]
    prefill = ParsedRun(labels={"scenario": "prefill"}, metrics={"latency_p50_ms": reading(1)})
    missing = missing_results(suite, config, [prefill])
    assert [(m.labels["scenario"], m.metrics) for m in missing] == [
        ("prefill", ("accuracy",)),
        ("decode", ("latency_p50_ms",)),
    ]
    assert missing[0].labels == {**config.labels, "scenario": "prefill"}


def test_nothing_is_missing_when_all_came(suite: Suite) -> None:
    config = expand(suite, python_minor="3.11")[0]
    runs = [
        ParsedRun(labels={"scenario": "prefill"}, metrics={"latency_p50_ms": reading(1), "accuracy": reading(1)}),
        ParsedRun(labels={"scenario": "decode"}, metrics={"latency_p50_ms": reading(1)}),
    ]
    assert missing_results(suite, config, runs) == ()
    assert len(expected_results(suite, config)) == 2


def test_only_the_gated_results_have_a_smallest_change(suite: Suite) -> None:
    prefill, decode = ({"scenario": scenario, "isl": 128} for scenario in ("prefill", "decode"))
    assert min_effect_ratio(suite, prefill, "latency_p50_ms") == 0.05
    assert min_effect_ratio(suite, decode, "latency_p50_ms") is None
    assert min_effect_ratio(suite, prefill, "accuracy") is None


# --- the job


def test_a_job_has_its_scripts_arguments_and_requirements_filled_in(suite: Suite) -> None:
    config = expand(suite, python_minor="3.11")[1]
    job = job_spec(suite, config, BUILD, key="run-1-1", python_minor="3.11")
    programs = suite.path.parent / "programs"
    assert (job.key, job.component, job.version, job.build_digest) == ("run-1-1", "onnxruntime", "1.26.0", "sha256:0")
    assert job.program == str(programs / "bench.py")
    assert job.arguments == ("--isl=128", "--batch", "8", "--warmup", "3", "onnxruntime-1.26.0")
    assert job.requirements == ("onnxruntime==1.26.0", "numpy==1.26.4")
    assert job.assets[0].maker == str(programs / "maker.py")
    assert (job.timeout_s, job.output_limit_bytes, job.result_file) == (60.0, 16_000_000, "result.json")


def test_a_command_stays_a_command(tmp_path: Path) -> None:
    suite = load_suite(changed(tmp_path, 'program = "bench.py"', 'program = "trtexec"'))
    job = job_spec(suite, expand(suite, python_minor="3.11")[0], BUILD, key="k", python_minor="3.11")
    assert job.program == "trtexec"
