"""plan: releases that have no runs get them, as many as the suite asks for, most useful first.

Planning again plans nothing twice: a run's key is its build, config, hardware class and repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.fingerprint import fingerprint
from jobs.releases import match_versions, newest_of
from jobs.suite import Config, Suite, choose, expand, gpus_of, least_gpus, load_suite, suite_revision
from tracker.errors import UserError
from tracker.logs import EventLog
from tracker.pipeline.context import Context, Place
from tracker.pipeline.suites import PYTHON_MINOR
from tracker.settings import Settings
from tracker.store import audit, catalog, runs
from tracker.store.engine import Session
from tracker.store.runs import PlannedRun
from tracker.store.standing import DRAINING, standing_of
from tracker.store.tables import BuildRow, ReleaseRow

log = EventLog(__name__)

IMAGE = "image"
PRIORITY_REQUESTED = 200
PRIORITY_FIRST = 100
PRIORITY_NEW = 90
PRIORITY_BACKFILL = 50
BACKFILL_BATCH = 4
"""Releases whose repeats are interleaved in the background: few enough that each batch is soon whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A release to be measured, and how urgently."""

    release: ReleaseRow
    build: BuildRow
    priority: int


def plan(context: Context, suite_name: str) -> int:
    """Queue the runs that the suite wants and that are not there yet; return how many that were."""
    suite = load_suite(context.find_suite(suite_name))
    places, problem = fit_places(context, suite)
    _explain_waiting(context, suite, places)
    if not places:
        log.warning("plan.no_host", suite=suite.name, why=problem)
        return 0
    with context.store.read() as session:
        component = catalog.known_component(session, suite.component)
        builds = catalog.current_builds(session, component) if component else []
    builds = [(r, b) for r, b in builds if b.replaces is None or context.settings.measure_pushed_again]
    wanted = choose_releases(suite, builds, backfill=context.settings.backfill)
    now = context.clock.now()
    with context.store.write() as session:
        revision = save_revision(session, suite, now=now)
        known = runs.planned_keys(session)
        planned = [
            run
            for place in one_of_each_class(places)
            for run in _planned(session, suite, wanted, configs_here(suite, context.settings, place), revision, place)
            if run.key not in known
        ]
        added = runs.queue_runs(session, planned, now=now)
        if added:
            audit.record(session, at=now, who=context.owner, event="runs:planned", subject=suite.name, runs=added)
    if added:
        log.info("runs.planned", suite=suite.name, runs=added)
    return added


def _explain_waiting(context: Context, suite: Suite, places: Sequence[Place]) -> None:
    """Keep why runs wait that were planned for a hardware class whose hosts are not for the suite any more."""
    fit = {place.hardware_class_id for place in places}
    unfit = {place.hardware_class_id for place in context.places()} - fit
    why = f"no host of this hardware class is for {suite.name} now (executor, pool, state); it waits until one is"
    with context.store.write() as session:
        runs.explain_queued(session, suite=suite.name, fit=fit, unfit=unfit, why=why)


CLUSTERS = frozenset({"slurm", "kubernetes"})
"""Executors that measure on whatever node a cluster picks; what is captured there says what hardware it was."""
NO_CONTAINERS = "no host of this service runs containers; set docker.engine beside [[docker.hosts]], or list more hosts"
NOT_SEEN = "its hardware is not known yet: it has not answered since it was set up (`tracker hosts check` tells why)"
ELSEWHERE = CLUSTERS | {"replay"}
"""Executors that measure on other machines: recorded results are played anywhere, and a cluster knows its nodes."""


def hardware_problem(suite: Suite, place: Place) -> str | None:
    """Return why this host cannot run the suite, None when it can, or when its executor does not measure here."""
    needs = suite.hardware
    if suite.run.executor in ELSEWHERE:
        return None
    if place.gpus is None:
        return NOT_SEEN if place.tells else None  # of one that cannot be looked at, its containers tell
    least = least_gpus(suite)
    if least > len(place.gpus):
        return f"the suite needs {least} GPU(s), this host has {len(place.gpus)}"
    if needs.gpu and not any(needs.gpu.lower() in gpu.lower() for gpu in place.gpus):
        return f"the suite needs {needs.gpu}, this host has {', '.join(place.gpus) or 'no GPU'}"
    if needs.min_memory_gb and place.memory_bytes and place.memory_bytes < needs.min_memory_gb * 1e9:
        return f"the suite needs {needs.min_memory_gb:g} GB of memory, this host has {place.memory_bytes / 1e9:.0f} GB"
    return None


def service_problem(context: Context, suite: Suite, place: Place) -> str | None:
    """Return why a host is not in service for the suite: it is draining, or not in the pool that is asked for."""
    host_id, pool = place.host_id, suite.hardware.pool
    with context.store.read() as session:
        host = standing_of(session, host_id, now=context.clock.now())
    if host.state == DRAINING:
        return host.obstacle(context.clock.now())
    if pool is None or pool in host.pools:
        return None
    known = f"is in {', '.join(host.pools)}" if host.pools else "is in no pool"
    return f"the suite asks for pool {pool}, host {host.slug} {known}; `tracker hosts add --pool {pool}` puts it there"


def configs_here(suite: Suite, settings: Settings, place: Place) -> tuple[Config, ...]:
    """Return the configs that are chosen in the settings, without those that need more GPUs than this host has."""
    chosen = choose(expand(suite, python_minor=PYTHON_MINOR), settings.choices.get(suite.name, {}), suite.name)
    if suite.run.executor in ELSEWHERE or place.gpus is None:
        return chosen
    return tuple(config for config in chosen if gpus_of(suite, config) <= len(place.gpus))


def configs_somewhere(context: Context, suite: Suite) -> tuple[Config, ...]:
    """Return the chosen configs that a host which the suite's executor reaches has the GPUs for."""
    reached = [place for place in context.places() if place.takes(suite.run.executor)] or [context.place()]
    found = {config.fingerprint: config for place in reached for config in configs_here(suite, context.settings, place)}
    return tuple(found.values())


def obstacle(suite: Suite, settings: Settings, place: Place) -> str | None:
    """Return why nothing of the suite is measured here, None where something is; UserError for a wrong choice."""
    here = configs_here(suite, settings, place)
    if problem := hardware_problem(suite, place):
        return problem
    return None if here else f"every chosen config needs more GPUs than this host has ({len(place.gpus or ())})"


def fit_places(context: Context, suite: Suite) -> tuple[list[Place], str]:
    """Return the hosts that a suite may be measured on, and in words why there is none; UserError for a wrong choice.

    A suite is measured on every hardware class of the hosts in its pool, without a pool of all that its executor
    reaches; a run goes to any of these hosts of its class.
    """
    fit, problems = [], []
    reached = [place for place in context.places() if place.takes(suite.run.executor)]
    for place in reached:
        if problem := obstacle(suite, context.settings, place) or service_problem(context, suite, place):
            problems.append(problem if place.is_here and len(reached) == 1 else f"{place.name}: {problem}")
        else:
            fit.append(place)
    if fit:
        return fit, ""
    return [], "; ".join(problems) or NO_CONTAINERS


def one_of_each_class(places: Sequence[Place]) -> list[Place]:
    """Return the first of the places of each hardware class."""
    return list({place.hardware_class_id: place for place in reversed(places)}.values())[::-1]


def save_revision(session: Session, suite: Suite, *, now: datetime) -> int:
    """Return the id of the suite's present revision, kept on first sight."""
    return catalog.save_suite_revision(
        session,
        name=suite.name,
        title=suite.title,
        component=catalog.component_id(session, suite.component),
        content_hash=suite_revision(suite),
        file=str(suite.path),
        text=suite.path.read_text(encoding="utf-8"),
        now=now,
    )


def choose_releases(suite: Suite, builds: Sequence[tuple[ReleaseRow, BuildRow]], *, backfill: bool) -> list[Wanted]:
    """Return the releases to measure: the suite's first ones, new ones, then older ones in batches, newest first.

    A release may have wheels for several platforms, as this host was upgraded; the one seen last fits it now. Images
    are for the platforms that were asked for.
    """
    newest = {(r.id, b.variant, b.kind, b.platform if b.kind == IMAGE else ""): (r, b) for r, b in builds}.values()
    usable = [(r, b) for r, b in newest if why_not(r, b) is None and r.track in suite.releases.tracks]
    early = set(suite.releases.tracks) != {"stable"}
    fitting = match_versions(suite.releases.versions, [r.identity for r, _ in usable], prereleases=early)
    usable = [(r, b) for r, b in usable if r.identity in set(fitting)]
    first = {newest_of(prefix, fitting) for prefix in suite.releases.first}
    wanted: list[Wanted] = []
    batch_of: dict[str, int] = {}
    for release, build in reversed(usable):
        if release.identity in first:
            priority = PRIORITY_FIRST
        elif not release.historic:
            priority = PRIORITY_NEW
        elif backfill and suite.releases.backfill:
            place = batch_of.setdefault(release.identity, len(batch_of))
            priority = max(1, PRIORITY_BACKFILL - place // BACKFILL_BATCH)
        else:
            continue
        wanted.append(Wanted(release=release, build=build, priority=priority))
    return wanted


def why_not(release: ReleaseRow, build: BuildRow) -> str | None:
    """Return why a build is not measured, None when it can be."""
    if release.sort_key is None:
        return release.no_place_reason or "its name gives it no place in the order"
    if build.yanked is not None:
        return f"withdrawn by its publisher: {build.yanked}"
    return build.misfit


def _planned(
    session: Session, suite: Suite, wanted: Sequence[Wanted], configs: Sequence[Config], revision: int, place: Place
) -> list[PlannedRun]:
    """Return the runs of every wanted release on one hardware class."""
    config_ids = catalog.save_configs(session, [dict(config.labels) for config in configs])
    return [
        PlannedRun(
            key=run_key(one.release, one.build, config, place, repeat),
            build_id=one.build.id or 0,
            config_id=config_id,
            suite_revision_id=revision,
            hardware_class_id=place.hardware_class_id,
            repeat=repeat,
            priority=one.priority,
        )
        for one in wanted
        for config, config_id in zip(configs, config_ids, strict=True)
        for repeat in range(1, suite.run.repeats + 1)
    ]


def run_key(release: ReleaseRow, build: BuildRow, config: Config, place: Place, repeat: int) -> str:
    """Return the idempotency key of a planned run.

    One image may be published as several releases, as when a candidate is tagged as final: each is measured.
    """
    parts = [build.digest, build.platform, config.fingerprint, place.hardware_fingerprint, str(repeat)]
    if build.kind == IMAGE:
        parts.append(release.identity)
    return fingerprint("run", "\0".join(parts))


def require_suite(context: Context, name: str) -> tuple[Suite, list[Place]]:
    """Return the suite and the hosts that it may be measured on; UserError where there is none."""
    suite = load_suite(context.find_suite(name))
    places, problem = fit_places(context, suite)
    if not places:
        raise UserError(f"suite {name}: {problem}")
    return suite, places
