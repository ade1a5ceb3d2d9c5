"""The benchmark programs that come along, without the packages they measure: the outside is replaced at its port."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jobs.content import Content
from jobs.measurements import ParseOutcome
from jobs.reading import read_result
from jobs.suite.programs import SHIPPED

PROGRAMS = SHIPPED / "programs"
MAY_IMPORT = {
    "onnxruntime_model.py": {"numpy", "onnx"},
    "onnxruntime_bench.py": {"numpy", "onnxruntime"},
    "llamacpp_model.py": {"numpy", "gguf"},
    "llamacpp_bench.py": {"xllamacpp"},
    "token_dataset.py": set(),
    "trtllm_bench.py": set(),
    "trtllm_serve_load.py": set(),
}


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def imported(path: Path) -> set[str]:
    """Return the top-level packages a program imports, the standard library left out."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names - sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.name)
def test_a_program_imports_only_the_standard_library_and_its_requirements(path: Path) -> None:
    assert imported(path) == MAY_IMPORT[path.name]


@pytest.mark.parametrize("name", ["onnxruntime_bench", "llamacpp_bench"])
def test_a_run_that_was_held_up_or_not_pinned_says_so(name: str) -> None:
    flags: Callable[[int, float], list[str]] = load(name).condition_flags
    cores = len(os.sched_getaffinity(0))
    assert flags(cores, 1.0) == []
    assert flags(cores, 0.5) == ["contended"]
    assert flags(cores + 1, 1.0) == ["unpinned"]
    assert flags(cores + 1, 0.5) == ["unpinned", "contended"]


def test_latency_is_described_by_mean_median_and_ninth_decile() -> None:
    described = load("onnxruntime_bench").describe([float(value) for value in range(1, 12)])
    assert {name: entry["value"] for name, entry in described.items()} == {
        "latency_mean_ms": 6.0,
        "latency_p50_ms": 6.0,
        "latency_p90_ms": 10.0,
    }
    assert {entry["samples"] for entry in described.values()} == {11}


def test_every_shape_is_timed_often_enough_and_in_turns() -> None:
    bench = load("onnxruntime_bench")
    assert all(bench.ROUNDS * iterations >= 12 for _, _, iterations in bench.SHAPES)
    assert bench.ROUNDS >= 5


class Llama:
    """Answers like llama.cpp: one chunk a token, then one with the timings."""

    def __init__(self, *, lost: int = 0, error: str = "", text: bool = False) -> None:
        self._lost, self._error, self._text = lost, error, text

    def handle_completions(self, request: dict[str, Any], callback: Callable[[Any], bool]) -> None:
        tokens = request["n_predict"] - self._lost
        chunks: list[dict[str, Any]] = [{"choices": [{"text": "ab"}]} for _ in range(tokens)]
        timings = {"prompt_n": len(request["prompt"]), "predicted_n": tokens, "prompt_ms": 100.0}
        chunks.append({"error": self._error} if self._error else {"choices": [{"text": ""}], "timings": timings})
        for chunk in chunks:
            callback(json.dumps(chunk) if self._text else chunk)


@pytest.mark.parametrize("text", [False, True])
def test_llamacpp_requests_are_timed_from_their_chunks(text: bool) -> None:
    bench = load("llamacpp_bench")
    shapes = bench.time_shapes(Llama(text=text), 1)
    assert [len(times) for times in shapes] == [bench.ROUNDS] * 2
    assert all(0 < taken["ttft_ms"] <= taken["e2e_ms"] for times in shapes for taken in times)
    assert bench.metrics_of("prefill", 256, 1, shapes[0])["prompt_tok_s"]["value"] == 2560.0


def test_llamacpp_rates_follow_their_definitions() -> None:
    times = [
        {"ttft_ms": 20.0, "e2e_ms": 650.0, "prompt_ms": 19.0},
        {"ttft_ms": 20.0, "e2e_ms": 650.0, "prompt_ms": 19.0},
    ]
    metrics = load("llamacpp_bench").metrics_of("decode", 16, 64, times)
    assert metrics["tpot_p50_ms"]["value"] == 10.0
    assert metrics["output_tok_s"]["value"] == pytest.approx(64 / 0.65)


def test_llamacpp_prompts_have_exactly_the_length_asked_for_and_differ() -> None:
    make_request = load("llamacpp_bench").make_request
    prompts = [make_request(number, 256, 1)["prompt"] for number in range(7)]
    assert {len(prompt) for prompt in prompts} == {256}
    assert len({tuple(prompt[:4]) for prompt in prompts}) == 7
    assert all(256 <= token < 516 for prompt in prompts for token in prompt)


@pytest.mark.parametrize(("server", "reason"), [(Llama(lost=1), "asked for"), (Llama(error="boom"), "boom")])
def test_llamacpp_fails_when_it_did_not_do_what_was_asked(server: Llama, reason: str) -> None:
    bench = load("llamacpp_bench")
    with pytest.raises(SystemExit, match=reason):
        bench.time_request(server, bench.make_request(0, 16, 64))


def test_the_dataset_has_the_lengths_in_its_name_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    outputs = [tmp_path / folder / "tokens-16-8-3.jsonl" for folder in "ab"]
    for output in outputs:
        output.parent.mkdir()
        subprocess.run([sys.executable, PROGRAMS / "token_dataset.py", output], check=True)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    lines = [json.loads(line) for line in outputs[0].read_text().splitlines()]
    assert [(line["task_id"], len(line["input_ids"]), line["output_tokens"]) for line in lines] == [
        (0, 16, 8),
        (1, 16, 8),
        (2, 16, 8),
    ]


def test_a_dataset_name_that_says_no_lengths_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, PROGRAMS / "token_dataset.py", tmp_path / "tokens.jsonl"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "tokens-ISL-OSL-COUNT.jsonl" in ended.stderr


def test_the_example_in_the_parsers_readme_is_read_as_it_says() -> None:
    readme = (SHIPPED.parent / "parsers" / "README.md").read_text()
    example = readme.partition("```json\n")[2].partition("```")[0]
    result = read_result(Content.of_text(example), "generic", {"tool": "my_bench"})
    assert (result.outcome, result.reason, len(result.runs[0].metrics)) == (ParseOutcome.OK, "", 2)
