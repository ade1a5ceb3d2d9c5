"""Two releases side by side, over all series of a family: shared by verdicts, summaries and `tracker compare`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from alerts.grouping import ReleaseName
from alerts.summary import ReleaseSummary, RowVerdict, SummaryRow, build_summary
from alerts.wording import Change, Direction, count
from baselines.comparison.compare import CompareOptions, Comparison, ComparisonInput
from jobs.releases import previous_release
from tracker.pipeline.families import Family, Line
from tracker.pipeline.quality import gate_gain
from tracker.pipeline.statistics import Statistics
from tracker.store.series import Point
from tracker.store.tables import ChangePointRow, ReleaseRow

UNGATED_EFFECT_RATIO = 0.03
"""The smallest change called one in a series that no gate speaks of."""


def compare_releases(
    statistics: Statistics, family: Family, release_id: int, against_id: int | None
) -> list[tuple[Line, Comparison]]:
    """Return the comparison of every series that stands at one of the two releases, in the family's order.

    Series with the same smallest effect are one family for the correction of their p-values. A gain whose accuracy
    fell out of tolerance is a regression.
    """
    lines = [one for one in family.lines if one.at(release_id) or (against_id is not None and one.at(against_id))]
    by_effect: dict[float, list[Line]] = defaultdict(list)
    for line in lines:
        by_effect[smallest_effect(line)].append(line)
    found: dict[int, Comparison] = {}
    for effect, members in by_effect.items():
        options = CompareOptions(min_effect_ratio=effect, margin_ratio=effect)
        inputs = [_input(line, family.rank, release_id, against_id) for line in members]
        compared = statistics.compare_many(inputs, options)
        found |= {id(line): one for line, one in zip(members, compared, strict=True)}
    return [(line, gate_gain(family, line, found[id(line)], release_id, against_id)) for line in lines]


def smallest_effect(line: Line) -> float:
    """Return the smallest change of a series that counts: its gate's, or the default."""
    return line.series.min_effect if line.series.gated and line.series.min_effect else UNGATED_EFFECT_RATIO


def _input(line: Line, rank: Mapping[int, int], release_id: int, against_id: int | None) -> ComparisonInput:
    reference = line.at(against_id) if against_id is not None else ()
    candidate = line.at(release_id)
    first = min(rank.get(one, len(rank)) for one in (release_id, against_id) if one is not None)
    earlier = [line.at(one) for one in line.release_ids if rank[one] < first]
    return ComparisonInput(
        reference=[point.value for point in reference],
        candidate=[point.value for point in candidate],
        direction=Direction(line.series.direction).value,
        confounded_by=what_else_differs(reference, candidate),
        history=[[point.value for point in points] for points in earlier if points],
        group=line.sibling_group,
    )


def what_else_differs(reference: tuple[Point, ...], candidate: tuple[Point, ...]) -> str | None:
    """Return what besides the release differs between two sets of measurements in every pair, None if nothing."""
    if not reference or not candidate:
        return None
    if not {p.host_id for p in reference} & {p.host_id for p in candidate}:
        return "the two were measured on different hosts"
    before, after = ({p.environment for p in side if p.environment} for side in (reference, candidate))
    if before and after and not before & after:
        return f"the environment changed between the two ({min(before)} and {min(after)})"
    return None


def default_reference(family: Family, release: ReleaseRow) -> ReleaseRow | None:
    """Return the release that this one is compared with unless told otherwise, among those measured."""
    measured = {release_id for line in family.lines for release_id in line.release_ids}
    known = {r.identity: r for r in family.releases if r.id in measured and r.id != release.id}
    name = previous_release(release.identity, known)
    return known.get(name) if name else None


def summarize_release(
    statistics: Statistics,
    family: Family,
    hardware_class: str,
    component: str,
    release: ReleaseRow,
    against: ReleaseRow | None,
    standing: Sequence[ChangePointRow] = (),
) -> ReleaseSummary:
    """Return the release-over-release summary of a family; a series that only the reference has is missing.

    `standing` are the family's change points: a regression that the reference has too is not in the comparison.
    """
    compared = compare_releases(statistics, family, release.id or 0, against.id if against else None)
    times = [p.measured_at for line, _ in compared for p in line.at(release.id or 0) if p.measured_at]
    return build_summary(
        component,
        name_release(release),
        name_release(against) if against else None,
        [_row(line, one, hardware_class, release.id or 0, against) for line, one in compared],
        flags=list_inherited(family, standing, release, against) if against else (),
        measured_from=_first(times),
        measured_to=max(times, default=None),
    )


def list_inherited(
    family: Family, standing: Sequence[ChangePointRow], release: ReleaseRow, against: ReleaseRow
) -> list[str]:
    """Return, in words, the regressions of gated series that came before and that the reference has as well."""
    rank = family.rank
    accepted = {change_id for line in family.lines for change_id in line.accepted}
    here, reference = rank[release.id or 0], rank[against.id or 0]
    gated = {line.series.id for line in family.lines if line.series.gated and line.at(release.id or 0)}
    newest: dict[int, ChangePointRow] = {}
    for change in sorted(standing, key=lambda one: rank[one.release_id]):
        if change.series_id in gated and rank[change.release_id] <= here:
            newest[change.series_id] = change
    found: dict[int, int] = defaultdict(int)
    for change in newest.values():
        if change.id not in accepted and change.verdict == Change.REGRESSED and rank[change.release_id] <= reference:
            found[rank[change.release_id]] += 1
    measured = sorted({rank[release_id] for line in family.lines for release_id in line.release_ids})
    notes = []
    for place, number in sorted(found.items(), reverse=True):
        before = [family.releases[one].display for one in measured if one < place][-1:] or ["EARLIER"]
        notes.append(
            f"{count(number, 'gated series', 'gated series')} that regressed in {family.releases[place].display} "
            f"did not recover since: `tracker compare {before[0]} {release.display}` shows by how much."
        )
    return notes


def _first(times: list[datetime]) -> datetime | None:
    return min(times, default=None)


def name_release(release: ReleaseRow) -> ReleaseName:
    """Return a release's name for messages."""
    return ReleaseName(identity=release.identity, display=release.display)


def _row(line: Line, one: Comparison, hardware_class: str, release_id: int, against: ReleaseRow | None) -> SummaryRow:
    before = median(line.at(against.id or 0)) if against else None
    after = median(line.at(release_id))
    verdict = RowVerdict(one.verdict) if before is not None and after is not None else RowVerdict.MISSING
    return SummaryRow(
        series_id=line.series.fingerprint,
        series_name=line.name,
        suite=line.series.suite,
        hardware_class=hardware_class,
        metric=line.series.metric,
        unit=line.series.unit,
        direction=Direction(line.series.direction),
        verdict=verdict,
        gated=line.series.gated,
        before=before,
        after=after,
        effect_ratio=one.effect_ratio,
        effect_low=one.low,
        effect_high=one.high,
        reason=_explain(line, one, release_id, against),
    )


def _explain(line: Line, one: Comparison, release_id: int, against: ReleaseRow | None) -> str:
    """Return why the verdict is so; a release that somebody excluded is missing by their word."""
    for side in (release_id, (against.id or 0) if against else 0):
        if side in line.excluded:
            return f"excluded: {line.excluded[side]}"
    return one.reason


def median(points: tuple[Point, ...]) -> float | None:
    """Return the median of the repeats, None without any."""
    values = sorted(point.value for point in points)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
