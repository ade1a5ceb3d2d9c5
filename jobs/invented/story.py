"""The truth behind the invented recordings, read from `story.toml`: what each release of the engine can do."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """One kind of machine; `slowness` multiplies every time."""

    name: str
    gpu: str
    gpu_count: int
    precision: str
    driver: str
    slowness: float
    power_w: Sequence[float]
    """Mean power of one GPU, by concurrency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model at the first release; times in ms on hardware with slowness 1, by concurrency."""

    name: str
    gpus: int
    tpot_ms: Sequence[float]
    ttft_ms: Sequence[float]
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is another from a release on; factors, 1 for what stays. Without hardware or model it is true of all."""

    name: str
    at: str
    hardware: str | None = None
    model: str | None = None
    speed: Sequence[float] | float = 1.0
    ttft: float = 1.0
    accuracy: float = 1.0
    driver: str | None = None

    def concerns(self, hardware: Hardware, model: Model | None = None) -> bool:
        """Return whether it is true of this machine, and of this model where one is given."""
        here = self.hardware is None or self.hardware == hardware.name
        return here and (model is None or self.model is None or self.model == model.name)

    def speed_at(self, place: int) -> float:
        """Return the factor of tokens a second at one concurrency of the story, by its place in the list."""
        return self.speed if isinstance(self.speed, float) else self.speed[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What one model does on one machine at one release and one concurrency, without noise."""

    output_tok_s_per_gpu: float
    tpot_ms: float
    ttft_ms: float
    power_w: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that is true; `noise`, `bad_night`, `broken`, `drift` and `bimodal` are as in the file."""

    component: str
    config: str
    tool: str
    seed: int
    repeats: int
    concurrency: Sequence[int]
    hardware: Sequence[Hardware]
    models: Sequence[Model]
    releases: Mapping[str, date]
    changes: Sequence[Change]
    noise: Mapping[str, float]
    bad_night: Mapping[str, Any]
    broken: Mapping[str, Any]
    drift: Mapping[str, Any]
    bimodal: Mapping[str, Any]

    def so_far(self, release: str, hardware: Hardware, model: Model | None = None) -> list[Change]:
        """Return the changes that a release has, of those that concern this machine and model."""
        order = list(self.releases)
        reached = order.index(release)
        return [one for one in self.changes if order.index(one.at) <= reached and one.concerns(hardware, model)]

    def driver_of(self, release: str, hardware: Hardware) -> str:
        """Return the driver of a machine on the day a release was measured on it."""
        named = [one.driver for one in self.so_far(release, hardware) if one.driver is not None]
        return named[-1] if named else hardware.driver

    def truth_of(self, release: str, hardware: Hardware, model: Model, place: int) -> Truth:
        """Return what is true at one concurrency, by its place in the list; drift is part of it."""
        tpot, ttft, accuracy = model.tpot_ms[place] * hardware.slowness, model.ttft_ms[place] * hardware.slowness, 1.0
        for change in self.so_far(release, hardware, model):
            tpot, ttft, accuracy = tpot / change.speed_at(place), ttft * change.ttft, accuracy * change.accuracy
        if (self.drift["hardware"], self.drift["model"]) == (hardware.name, model.name):
            ttft *= (1 + self.drift["ttft_a_release"]) ** list(self.releases).index(release)
        return Truth(
            output_tok_s_per_gpu=0.98 * self.concurrency[place] * 1000 / tpot / model.gpus,
            tpot_ms=tpot,
            ttft_ms=ttft,
            power_w=hardware.power_w[place],
            accuracy=model.accuracy * accuracy,
        )


def load_story() -> Story:
    """Return the story that ships."""
    raw = tomllib.loads(resources.files("jobs.invented").joinpath("story.toml").read_text(encoding="utf-8"))
    tables = {"hardware": Hardware, "model": Model, "change": Change}
    read = {name: tuple(table(**one) for one in raw.pop(name)) for name, table in tables.items()}
    return Story(**raw, hardware=read["hardware"], models=read["model"], changes=read["change"])
