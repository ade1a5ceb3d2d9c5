"""watch: asks each suite's source what is published and keeps the releases and builds it did not know."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from jobs.errors import JobsError
from jobs.protocols import PublishedBuild, SourceAnswer
from jobs.releases import read_tag
from jobs.suite import Suite, load_suite
from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.store import audit, catalog
from tracker.store.engine import Session

log = EventLog(__name__)

RETRY_AFTER = timedelta(minutes=1)
"""A source that did not answer is asked again so soon, or after the usual time where that is shorter."""


def watch(context: Context, suite_name: str, *, force: bool = False) -> int:
    """Ask the suite's source if it is time (or `force`); return how many new builds there are.

    An unreachable source, or one that answers rubbish, is noted on its cursor and changes nothing else; with `force`
    its error is raised too. That it was asked is noted with what came of it: killed meanwhile, it is asked again.
    """
    suite = load_suite(context.find_suite(suite_name))
    name = source_name(suite)
    now = context.clock.now()
    with context.store.write() as session:
        cursor = catalog.cursor_of(session, name)
        wait = timedelta(seconds=context.settings.watch_every_s)
        if cursor.problem is not None:
            wait = min(wait, RETRY_AFTER)
        if not force and cursor.asked_at is not None and now - cursor.asked_at < wait:
            return 0
    try:
        answer = context.open_source(suite.source.kind, suite.source.options).list_builds()
    except JobsError as error:
        _note_problem(context, name, str(error), now)
        if force:
            raise
        return 0
    with context.store.write() as session:
        return _keep_answer(session, suite.component, name, answer, now=now, who=context.owner)


def source_name(suite: Suite) -> str:
    """Return the source's name in the store: its kind and options, for one component."""
    return f"{suite.component} {suite.source.kind} {json.dumps(suite.source.options, sort_keys=True, default=str)}"


def _note_problem(context: Context, name: str, problem: str, now: datetime) -> None:
    with context.store.write() as session:
        cursor = catalog.cursor_of(session, name)
        cursor.asked_at, cursor.problem = now, problem
    log.warning("source.unavailable", source=name, why=problem)


def _keep_answer(session: Session, component: str, name: str, answer: SourceAnswer, *, now: datetime, who: str) -> int:
    """Store what is new in one transaction; what was there before the first answer is history."""
    cursor = catalog.cursor_of(session, name)
    first_answer = cursor.answered_at is None
    unchanged = cursor.cursor == answer.cursor
    cursor.asked_at, cursor.answered_at, cursor.problem, cursor.cursor = now, now, None, answer.cursor
    if unchanged:
        return 0
    new = keep_builds(session, component, answer.builds, now=now, who=who, historic=first_answer)
    for tag, reason in answer.unreadable:
        log.warning("source.entry_unreadable", source=name, entry=tag, why=reason)
    return new


def keep_builds(
    session: Session,
    component: str,
    builds: tuple[PublishedBuild, ...],
    *,
    now: datetime,
    who: str,
    historic: bool = False,
) -> int:
    """Store the builds of a component with their releases; return how many are new."""
    component_id = catalog.component_id(session, component)
    new = 0
    for build in builds:
        tag = read_tag(build.tag, component)
        row, _ = catalog.save_release(session, component_id, tag, now=now, historic=historic)
        _, is_new = catalog.save_build(session, row, build, "-".join(tag.variant), now=now)
        if is_new:
            new += 1
            audit.record(
                session,
                at=now,
                who=who,
                event="build:seen",
                subject=f"{component}/{row.identity}",
                tag=build.tag,
                digest=build.digest,
            )
    return new
