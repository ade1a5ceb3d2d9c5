"""Suites narrowed in the settings to what one has: what is planned, and what a wrong choice is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.nvidia_tools import host_nvidia_smi
from tests.tracker.cli.conftest import Tracker

SUITE = "trtllm-throughput-fp8"


def choose(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "tracker.toml").write_text(text)


def put_gpus(folder: Path, patch: pytest.MonkeyPatch, count: int) -> None:
    (folder / "nvidia-smi").write_text(host_nvidia_smi(count))
    (folder / "nvidia-smi").chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_plan_holds_what_is_chosen(home: Path, tracker: Tracker) -> None:
    everything = tracker("suites", "plan", SUITE, "--json").data
    choose(home, f'[choices.{SUITE}]\nmodel = "openai/gpt-oss-20b"\nisl = [1000, 8192]\n')
    chosen = tracker("suites", "plan", SUITE, "--json").data
    assert len(everything["configs"]) == 37
    assert [(one["model"], one["isl"]) for one in chosen["configs"]] == [
        ("openai/gpt-oss-20b", 1000),
        ("openai/gpt-oss-20b", 8192),
    ]
    assert chosen["runs_per_release"] == 2 * chosen["repeats"]


def test_configs_for_more_gpus_than_the_machine_has_are_counted_apart(
    home: Path, tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_gpus(tmp_path, monkeypatch, 4)
    found = tracker("suites", "plan", SUITE, "--json").data
    assert found["configs_elsewhere"] == sum(one["gpu_count"] == 8 for one in found["configs"])
    assert "6 of the configs need more GPUs than this machine has" in tracker("suites", "plan", SUITE).out


def test_a_choice_may_stand_in_a_variable(home: Path, tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_CHOICES", '{"tensorrt-detection": {"precision": "fp8"}}')
    assert {one["precision"] for one in tracker("suites", "plan", "tensorrt-detection", "--json").data["configs"]} == {
        "fp8"
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[choices.tensorrt-detecton]\nprecision = "int8"', "choices.tensorrt-detecton: no suite named"),
        ('[choices.tensorrt-detection]\nprecison = "int8"', "no config has this label; did you mean 'precision'?"),
        ('[choices.tensorrt-detection]\nprecision = "int4"', "precision: no config has 'int4'; did you mean 'int8'?"),
        ("[choices.tensorrt-vision]\nbatch = [3]", "batch: no config has 3; known: 32, 128, 16, 1024, 2048, 4"),
        ('[choices.tensorrt-vision]\nmodel = "HF-ViT-Base"\nbatch = 128', "choices.tensorrt-vision: no config has all"),
        ("[choices.tensorrt-vision]\nbatch = {}", "'choices.tensorrt-vision.batch"),
    ],
)
def test_a_choice_that_means_nothing_is_told_by_the_check(home: Path, tracker: Tracker, text: str, said: str) -> None:
    choose(home, text)
    checked = tracker("suites", "check")
    assert (checked.code, said in checked.err) == (2, True), checked.err
    one = tracker("suites", "plan", text.partition("]")[0].removeprefix("[choices."))
    assert one.code == 2
