"""One published figure as the service keeps it, and as JSON shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baselines.references.figures import Canonical, convert_figure, read_unit, share_of_one
from jobs.fingerprint import fingerprint
from jobs.names import canonical_gpu, canonical_model, canonical_precision, name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Why a reference is doubtful: a stable code, and the reason in words."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One row as its page prints it, each cell under its own heading; None is what the page does not say."""

    line: int
    table: int
    mlperf: bool = False
    scenario: str | None = None
    model: str | None = None
    number: str | None = None
    unit: str | None = None
    gpus: int | None = None
    gpu: str | None = None
    gpu_version: str | None = None
    system: str | None = None
    parallelism: str | None = None
    isl: int | None = None
    osl: int | None = None
    batch: int | None = None
    latency: str | None = None
    efficiency: str | None = None
    precision: str | None = None
    framework: str | None = None
    container: str | None = None
    dataset: str | None = None
    qsl: int | None = None
    constraints: str | None = None
    target_accuracy: str | None = None
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A published figure: what was printed, what it means, and why it may be doubted."""

    printed: Printed
    model: str | None
    gpu: str | None
    value: float | None
    value_per_gpu: float | None
    canonical: Canonical | None
    latency_ms: float | None
    notes: tuple[str, ...] = field(default=())
    """What a reader should know though nothing is wrong with the row itself."""

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Return why the figure may be doubted, nothing for most."""
        return self.printed.flags

    @property
    def key(self) -> str:
        """Return what stays the same when a newer copy of the page prints another figure or version."""
        one = self.printed
        unit = read_unit(one.unit) if one.unit else None
        duration = "time" if unit and unit.counted == "time" else ""
        parts = (
            one.scenario, name_key(self.model or ""), name_key(self.gpu or ""), one.gpus, one.parallelism, one.isl,
            one.osl, one.batch, canonical_precision(one.precision) if one.precision else None, duration,
        )  # fmt: skip
        return fingerprint("reference", "\0".join("" if part is None else str(part) for part in parts))

    def with_doubts(self, flags: tuple[Flag, ...], notes: tuple[str, ...]) -> Reference:
        """Return the same reference with more flags and notes."""
        return replace(
            self, printed=replace(self.printed, flags=(*self.printed.flags, *flags)), notes=(*self.notes, *notes)
        )


def derive(printed: Printed) -> Reference:
    """Return what a printed row means: canonical names, the figure of one GPU, the catalogue's metric."""
    unit = read_unit(printed.unit) if printed.unit else None
    number = printed.number
    return Reference(
        printed=printed,
        model=canonical_model(printed.model) if printed.model else None,
        gpu=canonical_gpu(printed.gpu) if printed.gpu else None,
        value=as_number(number) if number else None,
        value_per_gpu=share_of_one(number, unit, printed.gpus) if number and unit else None,
        canonical=convert_figure(number, unit, printed.gpus, tail=printed.mlperf) if number and unit else None,
        latency_ms=as_number(printed.latency) if printed.latency else None,
    )


def as_number(text: str) -> float:
    """Return a printed number, whole where it is printed whole."""
    return float(text) if "." in text else int(text)


def as_json(reference: Reference) -> dict[str, Any]:
    """Return a reference as `tracker references import --json` shows it."""
    one, canonical = reference.printed, reference.canonical
    return {
        "line": one.line,
        "table": one.table,
        "model": reference.model,
        "model_printed": one.model,
        "gpu": reference.gpu,
        "gpus": one.gpus,
        "system": one.system,
        "value": reference.value,
        "unit": one.unit,
        "value_per_gpu": reference.value_per_gpu,
        "canonical": canonical_json(canonical) if canonical else None,
        "scenario": one.scenario,
        "parallelism": one.parallelism,
        "isl": one.isl,
        "osl": one.osl,
        "batch": one.batch,
        "latency_ms": reference.latency_ms,
        "efficiency": one.efficiency,
        "precision": one.precision,
        "framework": one.framework,
        "container": one.container,
        "dataset": one.dataset,
        "constraints": one.constraints,
        "target_accuracy": one.target_accuracy,
        "flags": [{"code": flag.code, "reason": flag.reason} for flag in reference.flags],
    }


def canonical_json(canonical: Canonical) -> Mapping[str, Any]:
    """Return metric, value, unit and direction."""
    return {
        "metric": canonical.metric,
        "value": canonical.value,
        "unit": canonical.unit,
        "direction": canonical.direction.value,
    }
