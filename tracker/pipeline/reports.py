"""What people ask to see compared: any release against any other, computed when asked."""

from __future__ import annotations

from alerts.summary import ReleaseSummary
from tracker.errors import UserError
from tracker.pipeline.comparisons import default_reference, summarize_release
from tracker.pipeline.context import Context
from tracker.pipeline.families import load_family
from tracker.store import catalog, names, series


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
        families = [
            (load_family(session, row.component_id, hardware), names.hardware_slug(session, hardware))
            for hardware in series.hardware_of(session, row.component_id)
        ]
    return [
        summarize_release(
            context.statistics, family, hardware, found.slug, row, other or default_reference(family, row)
        )
        for family, hardware in families
    ]
