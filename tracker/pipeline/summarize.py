"""summarize: a release whose runs are all final is compared with its reference, and the summary is kept and told."""

from __future__ import annotations

from datetime import datetime

from tracker.logs import EventLog
from tracker.pipeline import outbox
from tracker.pipeline.comparisons import default_reference, summarize_release
from tracker.pipeline.context import Context
from tracker.pipeline.families import Family, load_family
from tracker.pipeline.reports import explain_missing, word_standing
from tracker.pipeline.summary_content import to_content, what_it_says
from tracker.store import alerts, changes, names, series
from tracker.store.engine import Session
from tracker.store.tables import ReleaseRow, SummaryRow
from tracker.store.views.releases import find_releases

log = EventLog(__name__)

UNFINISHED = frozenset({"queued", "running", "measured"})


def summarize(context: Context) -> int:
    """Bring the summaries of every family analyzed since the last look up to date; return how many changed."""
    with context.store.read() as session:
        waiting = series.families_to_summarize(session)
    changed = 0
    for component_id, hardware_class_id in waiting:
        with context.store.read() as session:
            family = load_family(session, component_id, hardware_class_id)
            standing = changes.standing_changes(session, [line.series.id or 0 for line in family.lines])
            failed = failed_releases(session, family)
            component = names.component_slug(session, component_id)
            hardware = names.hardware_slug(session, hardware_class_id)
        told = measured_releases(family) + [one for one in family.releases if one.identity in failed]
        now = context.clock.now()
        contents = {
            release.id or 0: (
                reference,
                to_content(
                    explain_missing(
                        summarize_release(
                            context.statistics, family, hardware, component, release, reference, standing
                        ),
                        failed.get(release.identity, ""),
                    )
                ),
            )
            for release in told
            for reference in [default_reference(family, release)]
        }
        with context.store.write() as session:
            for release in told:
                reference, content = contents[release.id or 0]
                changed += _keep(session, context, family, release, reference, content, now)
            series.set_summarized(session, component_id, hardware_class_id)
    return changed


def measured_releases(family: Family) -> list[ReleaseRow]:
    """Return the releases at which at least one series of the family is settled and measured, oldest first."""
    measured = {release_id for line in family.lines for release_id in line.release_ids}
    return [release for release in family.releases if release.id in measured]


def failed_releases(session: Session, family: Family) -> dict[str, str]:
    """Return identity -> what became of its runs, for new releases that failed and are newer than all measured ones."""
    newest = max((family.rank[release.id or 0] for release in measured_releases(family)), default=-1)
    ids = [release.id or 0 for release in family.releases[newest + 1 :] if not release.historic]
    return {
        item.identity: word_standing(item)
        for item in find_releases(session, ids)
        if set(item.runs) & {"failed"} and not set(item.runs) & UNFINISHED
    }


def _keep(
    session: Session,
    context: Context,
    family: Family,
    release: ReleaseRow,
    reference: ReleaseRow | None,
    content: str,
    now: datetime,
) -> bool:
    """Store the summary if a number changed, and tell it if what it says did; return whether it was stored."""
    against_id = reference.id if reference else None
    last = alerts.newest_summary(session, release.id or 0, family.hardware_class_id)
    if last is not None and last.against_id == against_id and last.content == content:
        return False
    row = SummaryRow(
        release_id=release.id or 0,
        against_id=against_id,
        hardware_class_id=family.hardware_class_id,
        revision=last.revision + 1 if last else 1,
        content=content,
        created_at=now,
    )
    session.add(row)
    session.flush()
    news = last is None or what_it_says(last.content) != what_it_says(content)
    if reference and news and (release.id == measured_releases(family)[-1].id or not release.historic):
        subject = f"summary:{release.id}:{family.hardware_class_id}"
        sinks = {sink for rule in context.settings.rules for sink in rule.sinks}
        outbox.queue(session, context, subject=subject, kind="summary", revision=row.revision, sinks=sinks)
    log.info("summary.kept", release=release.identity, against=reference.identity if reference else None)
    return True
