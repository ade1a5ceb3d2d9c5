"""The short result after the first set: the gated series of a suite by release, with what changed in words."""

from __future__ import annotations

from collections.abc import Sequence

from alerts.summary import RowVerdict
from alerts.wording import Change, Direction, compare_word, format_effect, format_value
from tracker.cli.output import Column, lay_out
from tracker.store.engine import Session
from tracker.store.views.series import Point, SeriesDetail, list_series, show_series

MOST_COLUMNS = 3
_BETTER = {Direction.LOWER: "lower is better", Direction.HIGHER: "higher is better", Direction.NEUTRAL: ""}


def lay_out_results(session: Session, component: str, suite: str) -> list[str]:
    """Return the lines of the result: a table with the releases down and the gated series across."""
    items = list_series(session, component=component, suite=suite, gated=True, limit=500).items
    details = [found for item in items[:MOST_COLUMNS] if (found := show_series(session, item.fingerprint))]
    if not details:
        return [f"{suite}: no value has been measured yet; `tracker runs list` shows why"]
    columns = [Column(title="release")]
    for name in short_names(details):
        columns += [Column(title=name, right=True), Column(title="")]
    rows = [
        [release, *(cell for detail in details for cell in _cells(detail, release))] for release in releases_of(details)
    ]
    first = details[0].series
    better = _BETTER[Direction(first.direction)]
    title = f"{component} on {first.hardware}, {first.metric}" + (f", {better}" if better else "")
    rest = [f"and {len(items) - len(details)} more series on the pages"] if len(items) > len(details) else []
    return ["", title, *(f"  {line}" for line in lay_out(columns, rows)), *rest, ""]


def releases_of(details: Sequence[SeriesDetail]) -> list[str]:
    """Return the measured releases of these series, oldest first."""
    measured = {p.release.display for detail in details for p in detail.points if p.level is not None}
    return list(dict.fromkeys(p.release.display for d in details for p in d.points if p.release.display in measured))


def short_names(details: Sequence[SeriesDetail]) -> list[str]:
    """Return the series' names without the labels that all of them share."""
    metrics = len({detail.series.metric for detail in details}) > 1
    parts = [detail.series.name.split(", ") for detail in details]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    names = []
    for detail, own in zip(details, parts, strict=True):
        told = [part for part in own if part not in shared] or own[:1]
        names.append(", ".join(told) + (f" {detail.series.metric}" if metrics else ""))
    return names


def _cells(detail: SeriesDetail, release: str) -> tuple[str, str]:
    point = next((one for one in detail.points if one.release.display == release), None)
    if point is None or point.level is None:
        return "no value", point.missing or "" if point else ""
    return format_value(point.level, detail.series.unit), word_point(point, detail.series.unit)


def word_point(point: Point, unit: str) -> str:
    """Return what happened to a series at a release: the change that stands there, else the verdict."""
    if point.change is not None:
        verdict = Change(point.change.verdict)
        doubt = "" if point.change.confirmed else "?"
        return f"{compare_word([unit], verdict)}{doubt} {format_effect(point.change.effect_ratio)}"
    if point.verdict is None or point.verdict.against is None:
        return ""
    if point.verdict.verdict in (RowVerdict.REGRESSED, RowVerdict.IMPROVED, RowVerdict.CHANGED):
        word = compare_word([unit], Change(point.verdict.verdict))
        return f"{word} {format_effect(point.verdict.effect_ratio)} than {point.verdict.against.display}"
    return RowVerdict(point.verdict.verdict).words
