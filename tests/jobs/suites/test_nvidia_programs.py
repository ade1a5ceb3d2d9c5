"""The programs that start NVIDIA's tools, with stand-ins for the tools on PATH: what they ask for, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.suite.programs import find_script

BENCH, SERVE = "trtllm_bench.py", "trtllm_serve_load.py"
SAYS_ITS_WORDS = '#!/bin/sh\necho "$0 $*"\n'


def start(folder: Path, tools: Mapping[str, str], program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Return how a program ended that ran in `folder` with those tools first on its PATH."""
    shelf = folder / "bin"
    shelf.mkdir(exist_ok=True)
    for name, text in tools.items():
        (shelf / name).write_text(text)
        (shelf / name).chmod(0o755)
    (folder / "models" / "acme" / "tiny").mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(find_script(program, folder / "suite.toml")), *words]
    command += ["--model", "acme/tiny", "--models", str(folder / "models"), "--tp", "1", "--pp", "1"]
    path = f"{shelf}:/usr/bin:/bin"
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PATH": path}
    )


def bench(folder: Path, *words: str, model: str = "", ep: int = 1) -> str:
    words = (*words, "--precision", "fp8", "--ep", str(ep), "--isl", "6", "--osl", "3", "--warmup", "2")
    ended = start(folder, {"trtllm-bench": SAYS_ITS_WORDS}, BENCH, *words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_every_release_gets_the_same_requests_of_the_lengths_asked_for(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        bench(folder, "throughput", "--requests", "4")
    lines = [json.loads(line) for line in (first / "requests.jsonl").read_text().splitlines()]
    assert [(one["task_id"], len(one["input_ids"]), one["output_tokens"]) for one in lines] == [
        (number, 6, 3) for number in range(4)
    ]
    assert (first / "requests.jsonl").read_bytes() == (second / "requests.jsonl").read_bytes()


def test_throughput_is_without_a_limit_and_latency_one_request_at_a_time(tmp_path: Path) -> None:
    said = bench(tmp_path, "throughput", "--requests", "4").splitlines()[-1]
    assert "--concurrency" not in said
    assert "--streaming" not in said
    assert "--extra_llm_api_options options.json" in said
    assert said.index("--model_path") < said.index(" throughput ")
    said = bench(tmp_path, "latency").splitlines()[-1]
    assert "--concurrency 1" in said
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 20


def test_spread_experts_go_with_attention_in_parallel_over_data(tmp_path: Path) -> None:
    said = bench(tmp_path, "throughput", "--requests", "1", ep=4)
    assert "--ep 4" in said
    assert json.loads((tmp_path / "options.json").read_text())["enable_attention_dp"] is True
    said = bench(tmp_path, "throughput", "--requests", "1")
    assert "--ep" not in said.splitlines()[-1]
    assert "enable_attention_dp" not in json.loads((tmp_path / "options.json").read_text())


@pytest.mark.parametrize("program", [BENCH, SERVE])
def test_a_model_that_is_not_there_is_told_with_what_to_do(tmp_path: Path, program: str) -> None:
    words = ["--ep", "1", "--isl", "6", "--osl", "3", "--model", "x", "--models", "/nowhere"]
    words += ["--tp", "1", "--pp", "1"]
    words += ["throughput", "--precision", "fp4", "--warmup", "1"] if program == BENCH else ["--concurrency", "2"]
    script = find_script(program, tmp_path / "suite.toml")
    ended = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no model in /nowhere/x: mount its folder there, or choose other models" in ended.stderr


def load(folder: Path, tools: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    lengths = ("--ep", "1", "--isl", "6", "--osl", "3", "--concurrency", "2")
    return start(folder, tools, SERVE, *lengths, "--wheels", str(folder / "wheels"), *words)


def test_a_server_that_ends_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    ended = load(tmp_path, {"aiperf": "#!/bin/sh\n", "trtllm-serve": "#!/bin/sh\necho out of memory\nexit 3\n"})
    assert ended.returncode == 1
    assert "trtllm-serve ended with exit code 3:\nout of memory" in ended.stderr


def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    hangs = "#!/bin/sh\necho loading\nexec sleep 60\n"
    ended = load(tmp_path, {"aiperf": "#!/bin/sh\n", "trtllm-serve": hangs}, "--start-within-s", "0.1")
    assert "trtllm-serve did not answer within 0.1 s:" in ended.stderr


def test_without_aiperf_or_its_wheels_nothing_is_started(tmp_path: Path) -> None:
    ended = load(tmp_path, {"trtllm-serve": "#!/bin/sh\ntouch started\n"})
    assert "no aiperf on PATH and no wheels in" in ended.stderr
    assert not (tmp_path / "started").exists()
