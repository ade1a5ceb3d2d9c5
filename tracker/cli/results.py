"""The short result after the first set: the gated series of a suite by release, with what changed in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from alerts.summary import RowVerdict, SummaryRow
from alerts.wording import Change, Direction, compare_word, format_effect, format_value
from tracker.app import App
from tracker.cli.output import Column, drop_shared, lay_out
from tracker.pipeline.reports import summaries_of
from tracker.store.views.changes import Change as ChangePoint
from tracker.store.views.series import SeriesDetail, list_series, show_series

MOST_COLUMNS = 3
_BETTER = {Direction.LOWER: "lower is better", Direction.HIGHER: "higher is better", Direction.NEUTRAL: ""}
_JUDGED = (RowVerdict.REGRESSED, RowVerdict.IMPROVED, RowVerdict.CHANGED)


def lay_out_results(app: App, component: str, suite: str, releases: Collection[str]) -> list[str]:
    """Return the lines of the result: a table with the releases down and the gated series across."""
    with app.store.read() as session:
        items = list_series(session, component=component, suite=suite, gated=True, limit=500).items
        details = [found for item in items[:MOST_COLUMNS] if (found := show_series(session, item.fingerprint))]
    measured = measured_releases(details, releases)
    if not measured:
        return [f"{suite}: no value has been measured yet; `tracker runs list` shows why"]
    words = word_steps(app, component, details, measured)
    columns, names = [Column(title="release")], short_names(details)
    for name in names if len(details) > 1 else [details[0].series.metric]:
        columns += [Column(title=name, right=True), Column(title="")]
    rows = [[display, *_cells(details, identity, words)] for identity, display in measured.items()]
    first = details[0].series
    better = _BETTER[Direction(first.direction)]
    title = f"{component} on {first.hardware}, {first.metric}" + (f", {better}" if better else "")
    title += "" if len(details) > 1 else f"\n{names[0]}"
    rest = [f"and {len(items) - len(details)} more series on the pages"] if len(items) > len(details) else []
    return ["", title, *(f"  {line}" for line in lay_out(columns, rows)), *rest, ""]


def measured_releases(details: Sequence[SeriesDetail], wanted: Collection[str]) -> dict[str, str]:
    """Return identity -> display of the releases of these series that have a level, oldest first."""
    points = [point.release for detail in details for point in detail.points]
    measured = {p.release.identity for detail in details for p in detail.points if p.level is not None}
    return {r.identity: r.display for r in points if r.identity in measured and r.identity in wanted}


def word_steps(
    app: App, component: str, details: Sequence[SeriesDetail], measured: dict[str, str]
) -> dict[tuple[str, str], str]:
    """Return (series, release) -> what changed there: the change that stands, else against the release before."""
    words = {
        (row.series_id, after): word_row(row)
        for before, after in pairwise(measured)
        for summary in summaries_of(app.context, after, before, component=component)
        for row in summary.rows
    }
    standing = {
        (detail.series.fingerprint, change.release.identity): word_change(change, detail.series.unit)
        for detail in details
        for change in detail.changes
    }
    return words | standing


def short_names(details: Sequence[SeriesDetail]) -> list[str]:
    """Return what tells these series apart: labels that all of them share are left out, the metric where it differs."""
    metrics = len({detail.series.metric for detail in details}) > 1
    names = drop_shared([detail.series.name for detail in details])
    return [f"{name} {detail.series.metric}" if metrics else name for name, detail in zip(names, details, strict=True)]


def _cells(details: Sequence[SeriesDetail], identity: str, words: dict[tuple[str, str], str]) -> list[str]:
    """Return level and word of each series at a release."""
    cells = []
    for detail in details:
        level = next((point.level for point in detail.points if point.release.identity == identity), None)
        cells += [format_value(level, detail.series.unit), words.get((detail.series.fingerprint, identity), "")]
    return cells


def word_change(change: ChangePoint, unit: str) -> str:
    """Return a change in words, with a question mark while only one release shows it."""
    doubt = "" if change.confirmed else "?"
    return f"{compare_word([unit], Change(change.verdict))}{doubt} {format_effect(change.effect_ratio)}"


def word_row(row: SummaryRow) -> str:
    """Return how a series compares with the release before."""
    if row.verdict in _JUDGED:
        return f"{compare_word([row.unit], Change(row.verdict.value))} {format_effect(row.effect_ratio)}"
    return row.verdict.words
