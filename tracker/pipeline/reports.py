"""What people ask to see compared: any release against any other, computed when asked."""

from __future__ import annotations

import dataclasses

from alerts.summary import ReleaseSummary
from alerts.wording import count
from tracker.errors import UserError
from tracker.pipeline.comparisons import default_reference, summarize_release
from tracker.pipeline.context import Context
from tracker.pipeline.families import load_family
from tracker.store import catalog, changes, names, series
from tracker.store.views.releases import ReleaseItem, find_releases


def summaries_of(
    context: Context, release: str, against: str | None = None, *, component: str | None = None
) -> list[ReleaseSummary]:
    """Return the summary of a release on each hardware class; UserError when a release is unknown.

    Without `against` it is compared with its default reference: for a stable release the previous stable one, for a
    candidate the previous release of its line, among those that were measured.
    """
    with context.store.read() as session:
        found, row = catalog.find_release(session, release, component)
        other = catalog.find_release(session, against, found.slug)[1] if against else None
        if other is not None and other.component_id != row.component_id:
            raise UserError(f"{release!r} and {against!r} are releases of different components; compare within one")
        standing = word_standing(find_releases(session, [row.id or 0])[0])
        families = [
            (load_family(session, row.component_id, hardware), names.hardware_slug(session, hardware))
            for hardware in series.hardware_of(session, row.component_id)
        ]
        found_changes = [
            changes.standing_changes(session, [line.series.id or 0 for line in family.lines]) for family, _ in families
        ]
    return [
        explain_missing(
            summarize_release(
                context.statistics,
                family,
                hardware,
                found.slug,
                row,
                other or default_reference(family, row),
                found_changes[place],
            ),
            standing,
        )
        for place, (family, hardware) in enumerate(families)
    ]


def explain_missing(summary: ReleaseSummary, standing: str) -> ReleaseSummary:
    """Return the summary with the reason why nothing was measured, if nothing was."""
    if not standing or any(row.after is not None for row in summary.rows):
        return summary
    rows = tuple(dataclasses.replace(row, reason=standing) for row in summary.rows)
    return dataclasses.replace(summary, rows=rows, standing=standing)


def word_standing(release: ReleaseItem) -> str:
    """Return why a release has no measurement that counts, in words; empty where nothing is known."""
    runs = release.runs
    total, left = sum(runs.values()), sum(runs.get(state, 0) for state in ("queued", "running", "measured"))
    if total and runs.get("queued") == total:
        return f"{count(total, 'run is', 'runs are')} queued"
    if left:
        return f"{total - left} of {count(total, 'run is', 'runs are')} finished"
    if runs.get("failed"):
        return f"{count(runs['failed'], 'run')} failed"
    if runs.get("cancelled"):
        return f"{count(runs['cancelled'], 'run was', 'runs were')} cancelled"
    return release.obstacle or release.no_place_reason or ""
