"""Families: the series of one component on one hardware class, with what was measured at each settled release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.fingerprint import canonical_labels
from tracker.pipeline.settle import held_back
from tracker.store import catalog, changes, exclusions, series
from tracker.store.engine import Session
from tracker.store.series import Point
from tracker.store.tables import ReleaseRow, SeriesRow
from tracker.store.trust import trust
from tracker.store.views.names import name_series


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series with its repeats at each release that has any, in release order."""

    series: SeriesRow
    labels: dict[str, Any]
    release_ids: tuple[int, ...]
    points: tuple[tuple[Point, ...], ...]
    """points[i]: the valid measurements at release_ids[i], never empty."""
    excluded: Mapping[int, str] = field(default_factory=dict)
    """Release id -> why it is not judged, by somebody's word."""
    accepted: Mapping[int, changes.Accepted] = field(default_factory=dict)
    """Change point id -> its release and levels, of changes that somebody accepted as the new normal."""

    @property
    def values(self) -> list[list[float]]:
        """Return the repeats of each release."""
        return [[point.value for point in points] for points in self.points]

    @property
    def name(self) -> str:
        """Return the series' labels as people read them, the metric left out."""
        return name_series(self.labels, self.series.variant)

    @property
    def sibling_group(self) -> str:
        """Return the name of the series it shares releases and noise with: one suite and metric."""
        return canonical_labels({"suite": self.series.suite, "metric": self.series.metric})

    @property
    def restarts(self) -> dict[int, tuple[float, float]]:
        """Return release id -> levels before and after, where the level starts afresh by somebody's word."""
        return {one.release_id: (one.before, one.after) for one in self.accepted.values()}

    @property
    def environments(self) -> list[str | None]:
        """Return what each release was measured with besides itself, None where that is not known of every repeat."""
        known = [{point.environment for point in points} for points in self.points]
        return [None if None in one else "+".join(sorted(filter(None, one))) for one in known]

    @property
    def hosts(self) -> list[str]:
        """Return the hosts that measured each release."""
        return ["+".join(sorted({str(point.host_id) for point in points})) for points in self.points]

    def at(self, release_id: int) -> tuple[Point, ...]:
        """Return the measurements at a release, none where there are none or where it is excluded."""
        if release_id in self.excluded:
            return ()
        return dict(zip(self.release_ids, self.points, strict=True)).get(release_id, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What is judged together."""

    component_id: int
    hardware_class_id: int
    releases: tuple[ReleaseRow, ...]
    """All releases that have a place, oldest first, measured or not."""
    lines: tuple[Line, ...]

    @property
    def rank(self) -> dict[int, int]:
        """Return release id -> place in the order."""
        return {release.id or 0: place for place, release in enumerate(self.releases)}


def load_family(session: Session, component_id: int, hardware_class_id: int) -> Family:
    """Return a family as it stands; releases that are too early to judge are left out of its lines."""
    members = series.family_of(session, component_id, hardware_class_id)
    history = series.history(session, [one.id or 0 for one, _ in members])
    left_out = exclusions.excluded_of(session, [one.id or 0 for one, _ in members])
    accepted = changes.accepted_of(session, [one.id or 0 for one, _ in members])
    held = held_back(session)
    lines = []
    for one, labels in members:
        grouped: dict[int, list[Point]] = {}
        for point in history[one.id or 0]:
            if (one.suite, point.release_id, hardware_class_id) not in held:
                grouped.setdefault(point.release_id, []).append(point)
        lines.append(
            Line(
                series=one,
                labels=json.loads(labels),
                release_ids=tuple(grouped),
                points=tuple(tuple(trust(points)) for points in grouped.values()),
                excluded=left_out.get(one.id or 0, {}),
                accepted=accepted.get(one.id or 0, {}),
            )
        )
    return Family(
        component_id=component_id,
        hardware_class_id=hardware_class_id,
        releases=tuple(catalog.ordered_releases(session, component_id)),
        lines=tuple(lines),
    )
