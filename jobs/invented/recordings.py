"""Invented recordings: the story with noise, as lines for the replay executor. The same story gives the same lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from random import Random
from typing import Any

from jobs.fingerprint import fingerprint
from jobs.invented.story import Hardware, Model, Story, Truth

NOTE = "Invented: no such engine, model or GPU exists, and nobody measured this."
_P99_OVER_P50 = 2.2
_NIGHT = time(2, 10, tzinfo=UTC)
_TURNS = timedelta(minutes=25)
"""Between two repeats of one release."""
_NEXT_DAY = timedelta(hours=34)
"""From the night to the repeats that people ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of the benchmark: one repeat of one model on one machine at one release."""

    release: str
    hardware: Hardware
    model: Model
    repeat: int


def write_lines(story: Story) -> Iterator[str]:
    """Yield one line per process, in release order."""
    for release in story.releases:
        for hardware in story.hardware:
            for model in story.models:
                for repeat in range(1, story.repeats + 1):
                    process = Process(release=release, hardware=hardware, model=model, repeat=repeat)
                    yield json.dumps(record(story, process), sort_keys=True)


def record(story: Story, process: Process) -> dict[str, Any]:
    """Return what one process left, as the replay executor reads it."""
    asked = {"model": process.model.name, "precision": process.hardware.precision}
    day = story.releases[process.release]
    moment = datetime.combine(day, _NIGHT) + _TURNS * process.repeat
    moment += _NEXT_DAY if process.repeat > story.repeats // 2 else timedelta(days=1)
    about = {
        "component": story.component,
        "version": process.release,
        "config": story.config.format(**asked),
        "repeat": process.repeat,
        "published_at": datetime.combine(day, time(9, tzinfo=UTC)).isoformat(),
        "measured_at": moment.isoformat(),
        "environment": describe_machine(story, process),
    }
    if process.release == story.broken["at"]:
        detail = story.broken["detail"]
        log = f"{NOTE}\nloading {process.model.name}\n{detail.partition(': ')[2]}\n"
        return {**about, "outcome": "tool_failed", "detail": detail, "exit_code": 1, "log": log}
    log = f"{NOTE}\n{process.model.name} on {process.hardware.gpu}: {len(story.concurrency)} loads\n"
    return {**about, "outcome": "ok", "exit_code": 0, "log": log, "result": measure(story, process)}


def describe_machine(story: Story, process: Process) -> dict[str, Any]:
    """Return the environment as it would have been captured there."""
    hardware = process.hardware
    driver = story.driver_of(process.release, hardware)
    gpu = {"product": hardware.gpu, "driver": driver}
    labels = {"gpu": hardware.gpu, "gpu_count": hardware.gpu_count}
    return {
        "note": NOTE,
        "fingerprint": fingerprint("environment", f"{hardware.gpu} {driver}"),
        "hardware_class": {"slug": f"{hardware.gpu_count}x-{hardware.gpu}".lower().replace(" ", "-"), "labels": labels},
        "host": {"cpu_model": "Invented CPU", "gpus": [gpu] * hardware.gpu_count},
        "pinned": True,
    }


def measure(story: Story, process: Process) -> dict[str, Any]:
    """Return the result file of one process: a result for each concurrency, and one for its answers."""
    drawn = Noise(story, process)
    runs = []
    for place, load in enumerate(story.concurrency):
        truth = story.truth_of(process.release, process.hardware, process.model, place)
        runs.append({"labels": {"concurrency": load}, "metrics": drawn.metrics(truth, load), "flags": drawn.flags})
    accuracy = truth.accuracy * drawn.share("accuracy")
    answers = {"labels": {"dataset": "invented-questions"}, "metrics": {"accuracy": round(accuracy, 4)}}
    return {"tool": story.tool, "version": process.release, "runs": [*runs, answers]}


class Noise:
    """What chance does to one process. Times are multiplied by it, tokens a second are divided."""

    def __init__(self, story: Story, process: Process) -> None:
        names = (process.release, process.hardware.name, process.model.name, process.repeat)
        again = process.repeat > story.repeats // 2
        self._night = Random(f"{story.seed} {process.release} {process.hardware.name} {again}")
        self._random = Random(f"{story.seed} {names}")
        self._story, self._process = story, process
        noise, night = story.noise, story.bad_night
        self._slow = _share(self._night, noise["night"]) * _share(self._random, noise["run"])
        if self._random.random() < noise["odd_runs"]:
            self._slow *= 1 + noise["odd_slowdown"] * self._random.uniform(0.4, 1)
        there = (night["at"], night["hardware"]) == (process.release, process.hardware.name)
        self.flags: list[str] = []
        if there and process.repeat < night["calm_from"]:
            self._slow *= night["slowdown"] * self._random.uniform(0.97, 1.06)
            self.flags = ["contended"]

    def share(self, name: str) -> float:
        """Return a factor around 1 of the story's size for this kind of value."""
        return _share(self._random, self._story.noise[name])

    def metrics(self, truth: Truth, load: int) -> dict[str, float]:
        """Return the values at one concurrency."""
        tpot = truth.tpot_ms * self._slow * self.share("tpot")
        ttft = truth.ttft_ms * self._slow
        return {
            "output_tok_s_per_gpu": _digits(truth.output_tok_s_per_gpu / self._slow / self.share("throughput")),
            "tpot_p50_ms": _digits(tpot),
            "tok_s_user": _digits(1000 / tpot),
            "ttft_p50_ms": _digits(ttft * self.share("ttft_p50")),
            "ttft_p99_ms": _digits(ttft * _P99_OVER_P50 * self.share("ttft_p99") * self._second_level(load)),
            "power_w": _digits(truth.power_w * self.share("power")),
        }

    def _second_level(self, load: int) -> float:
        """Return the factor of the series that has two levels, 1 for all others."""
        two, process = self._story.bimodal, self._process
        here = (two["hardware"], two["model"], two["concurrency"]) == (process.hardware.name, process.model.name, load)
        return float(two["ttft_p99"]) if here and self._random.random() < 0.5 else 1.0


def _share(random: Random, size: float) -> float:
    return math.exp(random.gauss(0, size))


def _digits(value: float) -> float:
    """Return a value with five digits, as tools print them."""
    return float(f"{value:.5g}")
