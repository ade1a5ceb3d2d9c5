"""Whether the answers of a config held where it became faster: its accuracy against its past and its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from baselines.comparison.compare import Comparison
from baselines.verdicts.quality import TOLERANCE, Quality, QualityReference, gate, judge_quality, neighbour_reference
from tracker.pipeline.families import Family, Line
from tracker.store.tables import ChangePointRow

METRIC = "accuracy"
PARALLEL = ("tp", "pp", "ep", "dp", "layout", "gpu_count")
"""Labels in which neighbours may differ: how work is spread must not change the answers."""
DECIDING = (
    "model", "precision", "dtype", "quantization", "kv_cache_dtype", "spec_decoding", "framework", *PARALLEL,
)  # fmt: skip
"""Labels that say which answers a config gives; load, lengths, dataset and tool are not among them."""


def gate_gain(
    family: Family, line: Line, comparison: Comparison, release_id: int, against_id: int | None
) -> Comparison:
    """Return the comparison of a series, a gain whose accuracy fell out of tolerance as a quality regression."""
    if comparison.verdict != "improved" or line.series.metric == METRIC:
        return comparison
    return gate(comparison, find_lost(family, line, release_id, against_id))


def is_hollow_gain(family: Family, line: Line, change: ChangePointRow) -> bool:
    """Return whether a change for the better came with answers that became worse."""
    if change.verdict != "improved" or line.series.metric == METRIC:
        return False
    place = line.release_ids.index(change.release_id) if change.release_id in line.release_ids else 0
    before = line.release_ids[place - 1] if place else None
    return find_lost(family, line, change.release_id, before) is not None


def find_lost(family: Family, line: Line, release_id: int, against_id: int | None) -> Quality | None:
    """Return what was lost in any accuracy of the config at a release, None where nothing is known to be."""
    measured = [one for one in family.lines if one.series.metric == METRIC]
    for own in measured:
        if not _answers_alike(own.labels, line.labels) or own.series.variant != line.series.variant:
            continue
        found = judge_quality(_values(own, release_id), _references(family, own, measured, release_id, against_id))
        if found.outcome == "lost":
            return found
    return None


def _references(
    family: Family, own: Line, measured: list[Line], release_id: int, against_id: int | None
) -> list[QualityReference]:
    """Return what the accuracy should be: that of the reference release, and that of its neighbours."""
    tolerance = own.series.min_effect if own.series.gated and own.series.min_effect else TOLERANCE
    found = []
    if against_id is not None and (before := _values(own, against_id)):
        name = next((one.display for one in family.releases if one.id == against_id), "the reference")
        found.append(QualityReference(value=median(before), whence=name, tolerance=tolerance))
    around = {
        one.series.fingerprint: _values(one, release_id)
        for one in measured
        if one is not own and _without(one.labels, PARALLEL) == _without(own.labels, PARALLEL)
    }
    if (neighbours := neighbour_reference(around, tolerance)) is not None:
        found.append(neighbours)
    return found


def _values(line: Line, release_id: int) -> list[float]:
    return [point.value for point in line.at(release_id)]


def _answers_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in DECIDING)


def _without(labels: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if name not in names}
