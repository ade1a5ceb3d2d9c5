"""A config of each shipped suite for NVIDIA's containers: found in a registry, run by Podman, read, and compared.

Registry and engine are real, the tools inside the images are stand-ins with figures of our own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.suite import find_suite
from tests.fakes.nvidia_tools import FILES, host_nvidia_smi
from tests.fakes.podman import serve_podman
from tests.fakes.python_image import python_files
from tests.fakes.registry import Registry, make_image, serve_registry
from tracker.app import App
from tracker.pipeline.analyze import analyze
from tracker.pipeline.execute import advance
from tracker.pipeline.ingest import ingest
from tracker.pipeline.plan import plan
from tracker.pipeline.watch import watch
from tracker.settings import load_settings

pytestmark = [
    pytest.mark.real("podman"),
    pytest.mark.real("container registry"),
    pytest.mark.timeout(300),
]

GPT_OSS, QWEN = "openai/gpt-oss-20b", "nvidia/Qwen3-235B-A22B-FP4"
CHOICES: Mapping[str, dict[str, Any]] = {
    "trtllm-throughput-fp4": {"model": [GPT_OSS, QWEN], "isl": 1000, "tp": [1, 4]},
    "trtllm-throughput-fp8": {"model": GPT_OSS, "isl": 1000},
    "trtllm-latency": {"model": GPT_OSS, "isl": 128},
    "trtllm-serve-aiperf": {"model": GPT_OSS, "isl": 1000, "concurrency": 16},
    "tensorrt-vision": {"model": "HF-Swin-Base", "batch": 128},
    "tensorrt-detection": {"model": "YOLOv11-M"},
    "tensorrt-bert": {"model": "HF-Bert-Large", "precision": "mixed"},
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the service says once all is measured, as `--json` has it."""

    runs: list[dict[str, Any]]
    series: list[dict[str, Any]]
    home: Path

    def series_of(self, tool: str, metric: str) -> list[dict[str, Any]]:
        return [one for one in self.series if one["metric"] == metric and one["labels"]["tool"] == tool]

    def log_of(self, run: str) -> str:
        key = ask(self.home, "runs", "show", run)["attempts"][0]["key"]
        return (self.home / "attempts" / key / "run.log").read_text()

    def compare(self, release: str) -> list[dict[str, Any]]:
        """Return published line, measured and published value, and ratio of each series that has a row."""
        found: list[dict[str, Any]] = ask(self.home, "references", "compare", "--release", release)["items"]
        return found


def ask(home: Path, *words: str) -> Any:
    command = [sys.executable, "-m", "tracker.cli", *words, "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "TRACKER_HOME": str(home)}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_suites(folder: Path, registry: Registry) -> None:
    """Write the shipped suites with the test's registry in place of nvcr.io, one repeat each.

    Limits are those that a machine without the right to raise any can set.
    """
    folder.mkdir()
    for name in CHOICES:
        text = find_suite(name).read_text(encoding="utf-8")
        text, moved = re.subn(r'"nvcr\.io/', f'"{registry.address}/', text)
        text, once = re.subn(r"repeats = \d+", "repeats = 1", text)
        text, lowered = re.subn(r"ulimits = .*", "ulimits = { nofile = 16384, nproc = 4096 }", text)
        assert (moved, once, lowered) == (1, 1, 1)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def make_models(folder: Path) -> None:
    for name in (GPT_OSS, QWEN):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    (folder / "onnx").mkdir()
    for name in ("HF-Swin-Base-fp8", "HF-Bert-Large-mixed", "YOLOv11-M-int8"):  # and no YOLO in FP8
        (folder / "onnx" / f"{name}.onnx").write_text("")


def push_images(registry: Registry, folder: Path) -> None:
    image = make_image(folder, {**python_files(), **FILES}, name="trtllm", env={"TRT_LLM_VERSION": "1.2.0"})
    registry.push(image, "nvidia/tensorrt-llm/release", "1.2.0")
    image = make_image(folder, FILES, name="tensorrt", env={"TENSORRT_VERSION": "10.15.1.29"})
    registry.push(image, "nvidia/tensorrt", "26.02-py3")


def settings_text(engine: str, folder: Path) -> str:
    lines = [f"suites = {json.dumps(list(CHOICES))}", f'suite_folders = ["{folder / "suites"}"]']
    for name, choice in CHOICES.items():
        lines += [f"[choices.{name}]", *(f"{label} = {json.dumps(values)}" for label, values in choice.items())]
    lines += [
        "[docker]",
        f'engine = "{engine}"',
        f'mounts = {{"/models" = "{folder / "models"}"}}',
        "min_free_gb = 0.1",
    ]
    return "\n".join(lines)


def measure_all(app: App) -> None:
    """Do what the daemon does until nothing is left to do."""
    for suite in app.settings.suites:
        watch(app.context, suite)
        assert plan(app.context, suite) > 0
    while advance(app.context):
        time.sleep(0.1)
    ingest(app.context)
    analyze(app.context)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """A service that measured the chosen configs of all suites on a machine with four stand-in GPUs."""
    folder = tmp_path_factory.mktemp("nvidia")
    home, tools = folder / "home", folder / "bin"
    home.mkdir()
    tools.mkdir()
    (tools / "nvidia-smi").write_text(host_nvidia_smi(4))
    (tools / "nvidia-smi").chmod(0o755)
    make_models(folder / "models")
    with pytest.MonkeyPatch.context() as patch, serve_registry(folder / "registry") as registry:
        patch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("TRACKER_HOME", str(home))
        patch.setenv("HOME", str(folder))
        for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
            patch.delenv(name, raising=False)
        push_images(registry, folder / "images")
        write_suites(folder / "suites", registry)
        with serve_podman() as podman:
            (home / "tracker.toml").write_text(settings_text(podman.url, folder))
            app = App(load_settings())
            measure_all(app)
            app.close()
            left = podman.containers()
        assert left == []
        yield Measured(runs=ask(home, "runs", "list")["items"], series=ask(home, "series", "list")["items"], home=home)


LLM = "tensorrt-llm/1.2.0"
TENSORRT = "tensorrt-container/26.02"


def test_every_chosen_config_ran_once_but_for_the_model_that_is_not_there(measured: Measured) -> None:
    ended = sorted((run["suite"], run["state"], run["attempts"]) for run in measured.runs)
    assert ended == [
        ("tensorrt-bert", "done", 1),
        ("tensorrt-detection", "done", 1),
        ("tensorrt-detection", "failed", 1),
        ("tensorrt-vision", "done", 1),
        ("trtllm-latency", "done", 1),
        ("trtllm-serve-aiperf", "done", 1),
        ("trtllm-throughput-fp4", "done", 1),
        ("trtllm-throughput-fp4", "done", 1),
        ("trtllm-throughput-fp8", "done", 1),
    ]
    assert [run["reason"] for run in measured.runs if run["state"] == "done"] == [""] * 8
    (failed,) = (run["reason"] for run in measured.runs if run["state"] == "failed")
    assert "YOLOv11-M-fp8.onnx" in failed


@pytest.mark.parametrize(
    ("tool", "metric", "unit", "levels"),
    [
        ("trtllm-bench", "output_tok_s_per_gpu", "tok/s/GPU", [55000.5] * 4),
        ("trtllm-bench", "ttft_p50_ms", "ms", [20.5]),
        ("trtllm-bench", "tpot_p50_ms", "ms", [3.9]),
        ("aiperf", "output_tok_s", "tok/s", [2500.5]),
        ("aiperf", "tpot_p50_ms", "ms", [6.1]),
        ("trtexec", "req_s", "req/s", [40.5] * 3),
        ("trtexec", "latency_p99_ms", "ms", [26.1] * 3),
    ],
)
def test_each_tool_leaves_its_series_in_the_catalogue_s_units(
    measured: Measured, tool: str, metric: str, unit: str, levels: list[float]
) -> None:
    found = measured.series_of(tool, metric)
    assert {one["unit"] for one in found} == {unit}
    assert [one["trend"][0]["level"] for one in found] == levels


def test_series_are_named_by_what_the_suite_asked_for(measured: Measured) -> None:
    spread = next(s for s in measured.series_of("trtllm-bench", "output_tok_s") if s["labels"]["model"] == QWEN)
    asked = {"gpu_count": 4, "tp": 4, "pp": 1, "ep": 4, "layout": "dep", "isl": 1000, "osl": 1000, "precision": "fp4"}
    assert asked.items() <= spread["labels"].items()
    (served,) = measured.series_of("aiperf", "tok_s_user")
    assert {"model": GPT_OSS, "concurrency": 16, "precision": "fp4", "tp": 1}.items() <= served["labels"].items()
    vision = next(one for one in measured.series_of("trtexec", "req_s") if one["labels"]["batch"] == 128)
    assert {"model": "HF-Swin-Base", "precision": "fp8", "gpu_count": 1}.items() <= vision["labels"].items()


def test_the_programs_start_the_tools_as_published(measured: Measured) -> None:
    chosen = [run for run in measured.runs if run["suite"].startswith("trtllm-throughput")]
    logs = {(run["suite"][-3:], run["config"].split(",")[0]): measured.log_of(run["id"]) for run in chosen}
    assert '"enable_attention_dp": true' in logs["fp4", QWEN]
    assert '"moe_config": {"backend": "CUTLASS"}, "kv_cache_config": {"dtype": "fp8"}' in logs["fp4", GPT_OSS]
    assert '"moe_config": {"backend": "TRITON"}, "kv_cache_config": {"dtype": "auto"}' in logs["fp8", GPT_OSS]
    called = f"+ trtllm-bench --model {GPT_OSS} --model_path /models/{GPT_OSS} throughput --backend pytorch"
    assert called in logs["fp4", GPT_OSS]


def test_tensorrt_llm_is_laid_beside_the_published_rows(measured: Measured) -> None:
    rows = {(one["metric"], one["reference"]["line"]): one for one in measured.compare(LLM)}
    assert {line for _, line in rows} == {98, 113}
    assert rows["output_tok_s_per_gpu", 113]["published"] == 53812
    assert rows["output_tok_s_per_gpu", 113]["ratio"] == pytest.approx(55000.5 / 53812)
    assert rows["output_tok_s", 98]["published"] == 4 * 5764


def test_tensorrt_is_laid_beside_the_published_rows_batches_as_samples(measured: Measured) -> None:
    rows = {one["reference"]["line"]: one for one in measured.compare(TENSORRT)}
    assert rows.keys() == {215, 220}
    assert rows[215]["ratio"] == pytest.approx(40.5 * 128 / 4948)
    assert rows[220]["ratio"] == pytest.approx(40.5 / 1034.36)
