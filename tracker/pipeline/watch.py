"""watch: asks each release source what is published and keeps the releases and builds it did not know.

Sources stand in suites and, for releases that are watched without being measured, in the settings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.errors import JobsError
from jobs.protocols import PublishedBuild, SourceAnswer
from jobs.releases import read_tag
from jobs.suite import Suite, load_suite
from tracker.logs import EventLog
from tracker.pipeline.context import Context
from tracker.pipeline.cursors import is_due, note_answer, note_problem
from tracker.store import audit, catalog
from tracker.store.engine import Session

log = EventLog(__name__)

RETRY_AFTER = timedelta(minutes=1)
"""A source that did not answer is asked again so soon, or after the usual time where that is shorter."""


GONE = "its tag is no longer in the registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One release source of one component."""

    component: str
    kind: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name in the store: the same for all that ask the same."""
        return f"{self.component} {self.kind} {json.dumps(dict(self.options), sort_keys=True, default=str)}"

    @property
    def shown(self) -> str:
        """What people read of it: the first option says where its releases are."""
        where = next((str(value) for value in self.options.values()), "")
        return f"{self.component}: {self.kind} {where}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What came of asking a source."""

    new_builds: int = 0
    builds: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    """Published names that were not looked at, with the reason."""
    unreadable: tuple[tuple[str, str], ...] = ()


def watch(context: Context, suite_name: str, *, force: bool = False) -> int:
    """Ask the suite's source if it is time (or `force`); return how many new builds there are."""
    return ask_source(context, source_of(load_suite(context.find_suite(suite_name))), force=force).new_builds


def source_of(suite: Suite) -> Watched:
    """Return the source that a suite names."""
    return Watched(component=suite.component, kind=suite.source.kind, options=suite.source.options)


def watched_sources(context: Context) -> list[Watched]:
    """Return the sources that the settings name, whatever suites there are."""
    return [
        Watched(component=source.component, kind=source.kind, options=source.options)
        for source in context.settings.sources
    ]


def ask_source(context: Context, watched: Watched, *, force: bool = False) -> Look:
    """Ask a source if it is time (or `force`); return what came of it.

    An unreachable source, or one that answers rubbish, is noted on its cursor and changes nothing else; with `force`
    its error is raised too. That it was asked is noted with what came of it: killed meanwhile, it is asked again.
    """
    now = context.clock.now()
    with context.store.write() as session:
        cursor = catalog.cursor_of(session, watched.name)
        every = timedelta(seconds=context.settings.watch_every_s)
        if not force and not is_due(cursor, every, now, after_trouble=RETRY_AFTER):
            return Look()
    try:
        answer = context.open_source(watched.kind, watched.options, watched.component).list_builds()
    except JobsError as error:
        with context.store.write() as session:
            note_problem(session, watched.name, error, now)
        log.warning("source.unavailable", source=watched.shown, why=str(error))
        if force:
            raise
        return Look()
    with context.store.write() as session:
        new = _keep_answer(session, watched, answer, now=now, who=context.owner)
    return Look(new_builds=new, builds=len(answer.builds), left_out=answer.left_out, unreadable=answer.unreadable)


def _keep_answer(session: Session, watched: Watched, answer: SourceAnswer, *, now: datetime, who: str) -> int:
    """Store what is new in one transaction; what was there before the first answer is history."""
    cursor = catalog.cursor_of(session, watched.name)
    first_answer = cursor.answered_at is None
    if not note_answer(cursor, answer.cursor, now):
        return 0
    component = watched.component
    new = keep_builds(session, component, answer.builds, now=now, who=who, historic=first_answer)
    if answer.scope is not None:
        _keep_missing(session, component, answer, answer.scope, now=now, who=who)
    if new:
        log.info("builds.found", source=watched.shown, builds=new)
    for tag, reason in answer.unreadable:
        log.warning("source.entry_unreadable", source=watched.shown, entry=tag, why=reason)
    if answer.left_out:
        reasons = Counter(reason for _, reason in answer.left_out).most_common(3)
        why = "; ".join(f"{number}: {reason}" for reason, number in reasons)
        log.info("source.left_out", source=watched.shown, names=len(answer.left_out), why=why)
    return new


def _keep_missing(
    session: Session, component: str, answer: SourceAnswer, scope: str, *, now: datetime, who: str
) -> None:
    """Note the builds whose tags were deleted; whatever the answer names in any way is there."""
    names = {build.tag for build in answer.builds} | {name for name, _ in (*answer.left_out, *answer.unreadable)}
    digests = {build.digest for build in answer.builds}
    component_id = catalog.component_id(session, component)
    for release, build in catalog.withdraw_missing(
        session, component_id, scope, names=names, digests=digests, why=GONE
    ):
        subject = f"{component}/{release.identity}"
        audit.record(session, at=now, who=who, event="build:gone", subject=subject, tag=build.tag, digest=build.digest)


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
        saved, is_new = catalog.save_build(session, row, build, "-".join(tag.variant), now=now)
        inside = {name: version for name, version in build.contains.items() if name != component}
        catalog.save_contents(session, saved.id or 0, inside)
        replaced = saved.replaces if is_new else catalog.restore_build(session, saved, build.tag, now=now)
        if is_new:
            new += 1
        if is_new or replaced:
            audit.record(
                session,
                at=now,
                who=who,
                event="build:pushed_again" if replaced else "build:seen",
                subject=f"{component}/{row.identity}",
                tag=build.tag,
                digest=build.digest,
                **({"replaces": replaced} if replaced else {}),
            )
    return new
