"""What people ask for: a benchmark run now, once more, or not at all."""

from __future__ import annotations

from tracker.clock import new_public_id
from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.pipeline.plan import (
    PRIORITY_REQUESTED,
    configs_here,
    one_of_each_class,
    require_suite,
    save_revision,
    why_not,
)
from tracker.pipeline.settle import settle
from tracker.store import audit, catalog, runs
from tracker.store.engine import Session
from tracker.store.runs import PlannedRun

MOST_REPEATS = 100


def trigger(context: Context, suite_name: str, release: str, *, repeats: int | None, who: str) -> list[str]:
    """Queue runs of every config of a suite on a release, on each hardware class; return their public ids."""
    suite, places = require_suite(context, suite_name)
    count = suite.run.repeats if repeats is None else repeats
    _check_repeats(count)
    now = context.clock.now()
    with context.store.write() as session:
        _, row = catalog.find_release(session, release, suite.component)
        builds = [build for _, build in catalog.builds_of(session, row.id or 0)]
        usable = [build for build in builds if why_not(row, build) is None]
        if not usable:
            reasons = "; ".join(sorted({why_not(row, build) or "" for build in builds})) or "no build is known"
            raise UserError(f"{suite.component} {row.display} cannot be measured here: {reasons}")
        revision = save_revision(session, suite, now=now)
        wanted = [
            PlannedRun(
                key=f"request-{new_public_id()}",
                build_id=build.id or 0,
                config_id=config_id,
                suite_revision_id=revision,
                hardware_class_id=place.hardware_class_id,
                repeat=repeat,
                priority=PRIORITY_REQUESTED,
                requested_by=who,
            )
            for place in one_of_each_class(places)
            for build in usable
            for config_id in catalog.save_configs(
                session, [dict(config.labels) for config in configs_here(suite, context.settings, place)]
            )
            for repeat in _next_repeats(session, build.id or 0, config_id, place.hardware_class_id, count)
        ]
        runs.queue_runs(session, wanted, now=now)
        ids = runs.public_ids(session, [run.key for run in wanted])
        subject = f"{suite.component}/{row.identity}"
        audit.record(session, at=now, who=who, event="runs:triggered", subject=subject, suite=suite.name, runs=ids)
    return ids


def rerun(context: Context, named: str, *, who: str, repeats: int = 1) -> list[str]:
    """Queue the same benchmark on the same build again, with the same suite text; return the new runs' public ids."""
    _check_repeats(repeats)
    now = context.clock.now()
    with context.store.write() as session:
        run = runs.find_run(session, named)
        if runs.is_handed_in(run.key):
            raise UserError(
                f"run {run.public_id} was measured elsewhere and handed in; measure it there again, and"
                " `tracker ingest` the new result"
            )
        wanted = [
            PlannedRun(
                key=f"request-{new_public_id()}",
                build_id=run.build_id,
                config_id=run.config_id,
                suite_revision_id=run.suite_revision_id,
                hardware_class_id=run.hardware_class_id,
                repeat=repeat,
                priority=PRIORITY_REQUESTED,
                requested_by=who,
            )
            for repeat in _next_repeats(session, run.build_id, run.config_id, run.hardware_class_id, repeats)
        ]
        runs.queue_runs(session, wanted, now=now)
        ids = runs.public_ids(session, [one.key for one in wanted])
        audit.record(session, at=now, who=who, event="run:rerun", subject=run.public_id, runs=ids)
    return ids


def rerun_series(context: Context, fingerprint: str, release: str, *, who: str) -> list[str]:
    """Queue once more every planned repeat of a release that a series has; return the new runs' public ids."""
    with context.store.read() as session:
        named = runs.runs_behind(session, fingerprint, release)
    if not named:
        raise UserError(f"series {fingerprint} has no run at {release!r} that could be repeated")
    return [new for one in named for new in rerun(context, one, who=who)]


def cancel(context: Context, named: str, *, who: str) -> str:
    """Cancel a queued or running run; return its public id."""
    now = context.clock.now()
    with context.store.write() as session:
        run = runs.find_run(session, named)
        runs.request_cancel(session, run, who=who, now=now)
        session.flush()
        if run.state in runs.FINAL_STATES:
            settle(session, run.id or 0)
        audit.record(session, at=now, who=who, event="run:cancelled", subject=run.public_id)
        return run.public_id


def _next_repeats(session: Session, build_id: int, config_id: int, hardware_class_id: int, count: int) -> range:
    """Return the numbers of so many more repeats: each is a measurement of its own, and never one that there is."""
    last = runs.last_repeat(session, build_id=build_id, config_id=config_id, hardware_class_id=hardware_class_id)
    return range(last + 1, last + count + 1)


def _check_repeats(count: int) -> None:
    if not 1 <= count <= MOST_REPEATS:
        raise UserError(f"repeats must be from 1 to {MOST_REPEATS}, found {count}")
