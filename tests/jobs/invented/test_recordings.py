"""The invented recordings: the same every time, around the truth of the story, and invented by their every name."""

from __future__ import annotations

import dataclasses
import json
from statistics import median

import pytest

from jobs.executors.replay import load_recordings
from jobs.invented import Story, load_story, write_lines


@pytest.fixture(scope="module")
def story() -> Story:
    return load_story()


@pytest.fixture(scope="module")
def lines(story: Story) -> list[str]:
    return list(write_lines(story))


def test_the_same_story_gives_the_same_lines_and_another_seed_others(story: Story, lines: list[str]) -> None:
    assert list(write_lines(load_story())) == lines
    assert list(write_lines(dataclasses.replace(story, seed=story.seed + 1))) != lines


def test_the_replay_executor_takes_every_line(tmp_path, lines: list[str]) -> None:
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    assert len(load_recordings(tmp_path)) == len(lines)


def test_component_models_gpus_and_logs_say_that_they_are_invented(lines: list[str]) -> None:
    for line in lines:
        one = json.loads(line)
        labels = one["environment"]["hardware_class"]["labels"]
        for text in (one["component"], one["config"].split()[1], labels["gpu"], one["log"]):
            assert text.lower().startswith("invented")


def test_values_lie_around_the_truth(story: Story, lines: list[str]) -> None:
    ratios = []
    for one in map(json.loads, lines):
        if one["outcome"] != "ok" or one["version"] == story.bad_night["at"]:
            continue
        hardware = next(h for h in story.hardware if h.gpu == one["environment"]["hardware_class"]["labels"]["gpu"])
        model = next(m for m in story.models if m.name == one["config"].split()[1])
        for place, run in enumerate(one["result"]["runs"][:-1]):
            truth = story.truth_of(one["version"], hardware, model, place)
            ratios.append(run["metrics"]["tpot_p50_ms"] / truth.tpot_ms)
    assert median(ratios) == pytest.approx(1, abs=0.002)
    assert sum(abs(ratio - 1) > 0.05 for ratio in ratios) < 0.02 * len(ratios)


def test_a_release_that_does_not_run_leaves_no_result(story: Story, lines: list[str]) -> None:
    broken = [one for one in map(json.loads, lines) if one["version"] == story.broken["at"]]
    assert broken
    assert all("result" not in one and one["outcome"] == "tool_failed" for one in broken)
