"""Sweeps: the configs that differ only in load and parallelism, and what each of their repeats reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baselines.cost.derived import Tokens, derive_interactivity, tokens_per_gpu
from baselines.cost.releases import Setup
from baselines.frontier.change import SweepConfig
from tracker.pipeline.works import ConfigWork
from tracker.store.views.names import name_series

SWEPT = (
    "concurrency", "request_rate", "batch", "tp", "pp", "ep", "dp", "gpu_count", "prefill_gpus", "decode_gpus",
    "layout", "spec_decoding",
)  # fmt: skip
"""Labels in which the configs of one sweep may differ."""
KINDS: tuple[Tokens, ...] = ("output", "total")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The configs of one front: release -> what each config reached; releases in order."""

    component: str
    hardware: str
    name: str
    tokens: Tokens
    releases: Mapping[str, tuple[SweepConfig, ...]]
    left_out: tuple[str, ...] = ()
    """Why a config has no point, each reason once."""


def gather_sweeps(works: Sequence[ConfigWork], tokens: Tokens | None = None) -> list[Sweep]:
    """Return the sweeps of two configs or more; tokens of the kind asked for, else output where it is known."""
    groups: dict[tuple[object, ...], list[ConfigWork]] = defaultdict(list)
    for work in works:
        kept = {key: value for key, value in work.labels.items() if key not in SWEPT}
        machine = work.setup.gpu or work.hardware
        groups[work.component, machine, work.variant, tuple(sorted(kept.items()))].append(work)
    return [_sweep(found, tokens) for found in groups.values() if len(found) > 1]


def _sweep(works: Sequence[ConfigWork], tokens: Tokens | None) -> Sweep:
    first = works[0]
    kept = {key: value for key, value in first.labels.items() if key not in SWEPT}
    kind: Tokens = (
        tokens
        if tokens is not None
        else next((one for one in KINDS if any(_points(work, one)[0] for work in works)), "output")
    )
    releases: dict[int, tuple[str, list[SweepConfig]]] = {}
    reasons: dict[str, None] = {}
    order = {
        one.release.id or 0: (one.release.sort_key or "", one.release.id or 0) for w in works for one in w.releases
    }
    for work in works:
        found, why = _points(work, kind)
        reasons |= dict.fromkeys(why)
        for release_id, (display, config) in found.items():
            releases.setdefault(release_id, (display, []))[1].append(config)
    return Sweep(
        component=first.component,
        hardware=first.hardware,
        name=name_series(kept, first.variant),
        tokens=kind,
        releases={releases[one][0]: tuple(releases[one][1]) for one in sorted(releases, key=lambda one: order[one])},
        left_out=tuple(reasons),
    )


def _points(work: ConfigWork, kind: Tokens) -> tuple[dict[int, tuple[str, SweepConfig]], list[str]]:
    """Return the repeats of a config at each release, and why others have none."""
    name = ", ".join(f"{key.replace('_', ' ')} {work.labels[key]}" for key in SWEPT if key in work.labels)
    found, why = {}, []
    for one in work.releases:
        repeats = []
        for run in one.runs:
            point = place_run(run, work.setup, kind)
            if isinstance(point, str):
                why.append(point)
            else:
                repeats.append(point)
        if repeats:
            config = SweepConfig(name=name or work.name, repeats=tuple(repeats))
            found[one.release.id or 0] = one.release.display, config
    return found, why


def place_run(values: Mapping[str, float], setup: Setup, kind: Tokens) -> tuple[float, float] | str:
    """Return tok/s/user and tok/s/GPU of one run, or why it has no place on the plane."""
    across = derive_interactivity(values)
    up = tokens_per_gpu(values, setup.labels, setup.hardware)[kind]
    if across.value is None:
        return across.reason
    return up.how if up.value is None else (across.value, float(up.value))
