"""What each config did at each release, for money, energy and frontiers: its metrics together, run by run."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from baselines.cost.derived import INPUTS
from baselines.cost.releases import Setup, Work
from tracker.pipeline.comparisons import median
from tracker.pipeline.families import Family, Line, load_family
from tracker.store import catalog, hosts, names, series
from tracker.store.engine import Session
from tracker.store.series import Point
from tracker.store.tables import ReleaseRow

RATES = ("output_tok_s", "total_tok_s", "output_tok_s_per_gpu", "total_tok_s_per_gpu", "prompt_tok_s")
"""Metrics without one of which nothing can be derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseWork:
    """One release of a config."""

    release: ReleaseRow
    day: date | None
    values: Mapping[str, float]
    """Metric -> median of the repeats."""
    runs: tuple[Mapping[str, float], ...]
    """One a run: metric -> value."""
    points: tuple[Point, ...]
    """Where and with what it was measured."""

    @property
    def costed(self) -> Work:
        """Return what its costs are made of."""
        return Work(release=self.release.display, day=self.day, values=self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWork:
    """One config of one component on one hardware class, over the releases that measured it."""

    component: str
    hardware: str
    suite: str
    name: str
    labels: Mapping[str, Any]
    variant: str
    setup: Setup
    releases: tuple[ReleaseWork, ...]
    measured: tuple[str, ...]


def load_works(session: Session, *, component: str | None = None, text: str | None = None) -> list[ConfigWork]:
    """Return the configs with a throughput, of one component or all; each word of `text` must stand in their names."""
    slugs = [catalog.find_component(session, component).slug] if component else names.component_slugs(session)
    found: list[ConfigWork] = []
    for slug in slugs:
        component_id = catalog.find_component(session, slug).id or 0
        for hardware_id in series.hardware_of(session, component_id):
            family = load_family(session, component_id, hardware_id)
            labels = json.loads(hosts.hardware_labels(session, hardware_id))
            found += _configs(family, slug, names.hardware_slug(session, hardware_id), labels)
    words = (text or "").lower().split()
    return sorted((one for one in found if all(word in _searched(one) for word in words)), key=_natural)


def _natural(work: ConfigWork) -> list[tuple[int, str]]:
    """Return a key by which `concurrency 8` comes before `concurrency 16`."""
    parts = re.split(r"(\d+)", f"{work.component} {work.hardware} {work.name}")
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)]


def _searched(work: ConfigWork) -> str:
    labels = " ".join(f"{key} {value}" for key, value in work.labels.items())
    return f"{work.component} {work.hardware} {work.suite} {work.name} {labels}".lower()


def _configs(family: Family, component: str, hardware: str, labels: Mapping[str, Any]) -> list[ConfigWork]:
    groups: dict[tuple[int, str], list[Line]] = defaultdict(list)
    for line in family.lines:
        if line.release_ids:
            groups[line.series.config_id, line.series.variant].append(line)
    return [
        _config(family, lines, component, hardware, labels)
        for lines in groups.values()
        if any(line.series.metric in RATES for line in lines)
    ]


def _config(
    family: Family, lines: Sequence[Line], component: str, hardware: str, machine: Mapping[str, Any]
) -> ConfigWork:
    first = lines[0]
    wanted = {line.series.metric: _by_release(line) for line in lines if line.series.metric in INPUTS}
    gpu = machine.get("gpu") or (hardware if "cpu" in machine else None)
    return ConfigWork(
        component=component,
        hardware=hardware,
        suite=first.series.suite,
        name=first.name,
        labels=first.labels,
        variant=first.series.variant,
        setup=Setup(gpu=str(gpu) if gpu else None, labels=first.labels, hardware=machine),
        releases=tuple(
            _release(release, wanted)
            for release in family.releases
            if any(found.get(release.id or 0) for metric, found in wanted.items() if metric in RATES)
        ),
        measured=tuple(sorted(line.series.metric for line in lines)),
    )


def _by_release(line: Line) -> dict[int, tuple[Point, ...]]:
    """Return release id -> what counts there; excluded releases are left out."""
    found = zip(line.release_ids, line.points, strict=True)
    return {release_id: points for release_id, points in found if release_id not in line.excluded}


def _release(release: ReleaseRow, lines: Mapping[str, Mapping[int, tuple[Point, ...]]]) -> ReleaseWork:
    points = {metric: found.get(release.id or 0, ()) for metric, found in lines.items()}
    runs: dict[int, dict[str, float]] = defaultdict(dict)
    for metric, found in points.items():
        for point in found:
            runs[point.run_id][metric] = point.value
    medians = {metric: median(found) for metric, found in points.items()}
    return ReleaseWork(
        release=release,
        day=_day(release, [point for found in points.values() for point in found]),
        values={metric: value for metric, value in medians.items() if value is not None},
        runs=tuple(runs[run] for run in sorted(runs)),
        points=tuple(point for found in points.values() for point in found),
    )


def _day(release: ReleaseRow, points: Sequence[Point]) -> date | None:
    """Return the last day it was measured; where that is not known the day it was published."""
    times = [point.measured_at for point in points if point.measured_at]
    moment = max(times, default=release.published_at)
    return moment.date() if moment else None
