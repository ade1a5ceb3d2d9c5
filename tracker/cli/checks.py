"""The checks of `tracker doctor`: each looks at one thing and says what it found and what to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import alerts.errors
import jobs.errors
import tracker.errors
from alerts.wording import count
from jobs.suite import Suite, load_suite
from tracker.app import App, open_app, whoami
from tracker.cli.cluster_check import rehearse_suite
from tracker.cli.machine_checks import Check, check_this_machine, ok
from tracker.cli.models import missing_models, model_path, require_mounts
from tracker.cli.serving import listen
from tracker.cli.slack_check import check_token
from tracker.cli.starting import cure_engine, find_engine
from tracker.engines import describe_engine
from tracker.pipeline.context import CONTAINERS, Place
from tracker.pipeline.gate import Sighting, look
from tracker.pipeline.hosts import learn_hardware
from tracker.pipeline.plan import configs_here, fit_places
from tracker.pipeline.release_notes import match_releases
from tracker.pipeline.watch import Watched, source_of, watched_sources
from tracker.setting_tables import ReleaseNotesSettings
from tracker.settings import Settings, home_folder, settings_file
from tracker.store.hosts import count_running
from tracker.store.standing import standing_of
from tracker.store.views.sightings import look_at_running

STATES = ("ok", "warn", "fail")
PROBLEMS = (
    tracker.errors.TrackerError,
    jobs.errors.JobsError,
    alerts.errors.AlertsError,
    OSError,
)


def check_all(tell: Callable[[str], None]) -> list[Check]:
    """Return all checks; `tell` hears of what may take a while."""
    home = home_folder()
    checks = check_this_machine(home)
    try:
        app = open_app()
    except PROBLEMS as error:
        cure = "correct it; `tracker init` shows every setting"
        return [*checks, Check(name="settings", state="fail", found=str(error), cure=cure)]
    checks.append(check_settings(app.settings, settings_file()))
    try:
        checks += [
            check_store(app),
            *check_running(app),
            check_host(app),
            *check_other_hosts(app, tell),
            *check_suites(app, tell),
        ]
        checks += [check_port(app), check_slack(app, tell)]
    finally:
        app.close()
    return checks


def check_settings(settings: Settings, file: Path) -> Check:
    """Return that the settings can be read, and by whom where the file holds the Slack token."""
    token = settings.slack.token.get_secret_value() if settings.slack.token else ""
    if token and file.is_file() and token in file.read_text(encoding="utf-8") and file.stat().st_mode & 0o077:
        found = f"{file} holds the Slack token and others on this machine can read it"
        return Check(name="settings", state="warn", found=found, cure=f"chmod 600 {file}")
    return ok("settings", "can be read")


def check_store(app: App) -> Check:
    """Return whether the store opens, and whether a daemon works on it."""
    from tracker.store.views.runs import count_states

    try:
        with app.store.read() as session:
            states = count_states(session)
    except PROBLEMS as error:
        return Check(name="store", state="fail", found=str(error), cure="put it right, or set another TRACKER_HOME")
    running, runs = app.daemon_state()["running"], sum(states.values())
    found = f"opens, {runs} runs, {'a' if running else 'no'} daemon works on it"
    waiting = states.get("queued", 0) + states.get("running", 0)
    if waiting and not running:
        return Check(
            name="store",
            state="warn",
            found=f"{found}, {waiting} runs wait",
            cure="start one with `tracker serve`; it goes on where the last one stopped",
        )
    return ok("store", found)


def check_running(app: App) -> Iterator[Check]:
    """Yield whether what runs is seen, where something runs and the store opens."""
    now = app.clock.now()
    with suppress(*PROBLEMS), app.store.read() as session:
        sightings = look_at_running(session, now=now)
        if sightings.unseen:
            cure = "put that right: nothing was ended, and they are followed again as soon as there is an answer"
            yield Check(name="runs", state="warn", found=sightings.words(now), cure=cure)
        elif sightings.running:
            yield ok("runs", f"{count(sightings.running, 'run')} under way, seen")


def check_host(app: App) -> Check:
    """Return whether this host starts runs now, and is fit to measure on."""
    now = app.clock.now()
    try:
        host_id = app.place.host_id
        with app.store.read() as session:
            host = standing_of(session, host_id, now=now)
            own_runs = count_running(session, host_id)
        health = look(app.context, app.place, own_runs=own_runs)
    except PROBLEMS as error:
        return Check(name="host", state="fail", found=str(error), cure="put it right, or set another TRACKER_HOME")
    name = host.slug
    if why := host.obstacle(now):
        cure = f"`tracker hosts show {name}` tells more, `tracker hosts uncordon {name}` lets runs start"
        if host.window is not None:
            cure = f"wait, or take it back with `tracker hosts maintain {name} --lift {host.window.id}`"
        return Check(name="host", state="warn", found=f"starts nothing: {why}", cure=cure)
    if health.refusals:
        found = "; ".join(one.words for one in health.refusals)
        cure = "runs are refused until that is put right; `tracker hosts check` looks again"
        return Check(name="host", state="warn", found=f"not fit: {found}", cure=cure)
    return ok("host", f"{name} starts runs" + (", not all of its state can be seen" if health.unknown else ""))


def check_other_hosts(app: App, tell: Callable[[str], None]) -> Iterator[Check]:
    """Yield of each other host whether it answers, starts runs and is fit; all are asked at once."""
    try:
        others = [place for place in app.places() if not place.is_here]
    except PROBLEMS as error:
        yield Check(name="hosts", state="fail", found=str(error), cure="correct [[docker.hosts]] in the settings")
        return
    if others:
        tell(f"asking {count(len(others), 'other host')} ...")
        with ThreadPoolExecutor(max_workers=len(others)) as pool:
            yield from pool.map(partial(check_other_host, app), others)


def check_other_host(app: App, place: Place) -> Check:
    """Return whether another host answers, starts runs and is fit to measure on."""
    name, now = f"host {place.name}", app.clock.now()
    try:
        with app.store.read() as session:
            host, own_runs = standing_of(session, place.host_id, now=now), count_running(session, place.host_id)
        found = describe_engine(app.settings, app.engine_hosts[place.name])
        seen = Sighting(machine=app.look_at(place))
        if place.gpus is None:  # so that the suites are told where they run before anything was started
            place = learn_hardware(app.context, place, seen, who=whoami())
        health = look(app.context, place, own_runs=own_runs, seen=seen)
    except PROBLEMS as error:
        cure = "put that right, or correct its entry in the settings; until then it starts nothing, other hosts do"
        return Check(name=name, state="fail", found=str(error), cure=cure)
    if host.away_since is None and (why := host.obstacle(now)):
        return Check(name=name, state="warn", found=f"starts nothing: {why}", cure=f"`tracker hosts show {place.name}`")
    if health.refusals:
        words = "; ".join(one.words for one in health.refusals)
        return Check(name=name, state="warn", found=f"not fit: {words}", cure="runs are refused until that is right")
    if place.gpus is None and not place.tells:
        cure = f"name it: `tracker hosts add {place.name} --gpu NAME --gpus N`, or --cpu NAME --cores N"
        return Check(name=name, state="warn", found=f"{found}; its hardware is unknown", cure=cure)
    return ok(name, found + (", not all of its state can be seen" if health.unknown else ""))


def check_suites(app: App, tell: Callable[[str], None]) -> Iterator[Check]:
    """Yield whether each suite can be read and run here, and whether its releases can be asked for."""
    for source in watched_sources(app.context):
        tell(f"asking for the releases of {source.component} ...")
        yield check_source(app, source)
    for entry in app.settings.release_notes:
        tell(f"asking for the release notes of {entry.component} ...")
        yield check_notes(app, entry)
    if not app.settings.suites:
        yield Check(name="suites", state="warn", found="none is set up", cure="set `suites`, or give --suite")
    for name in app.settings.suites:
        try:
            suite = load_suite(app.find_suite(name))
        except PROBLEMS as error:
            cure = "correct it; `tracker suites list` shows the known ones"
            yield Check(name=f"suite {name}", state="fail", found=str(error), cure=cure)
            continue
        yield check_suite(app, suite)
        if suite.run.executor == CONTAINERS and app.settings.docker.is_here:
            yield check_engine(app)
            yield from check_models(app, suite)
        if suite.run.executor == "slurm":
            yield from (Check(**found) for found in rehearse_suite(app.settings, suite))
        tell(f"asking for the releases of {suite.component} ...")
        yield check_source(app, source_of(suite))


def check_suite(app: App, suite: Suite) -> Check:
    """Return whether a host has what a suite needs, and which."""
    try:
        places, problem = fit_places(app.context, suite)
    except PROBLEMS as error:
        return Check(name=f"suite {suite.name}", state="fail", found=str(error), cure="correct it in the settings")
    if problem:
        return Check(name=f"suite {suite.name}", state="warn", found=problem, cure="run it on another host")
    where = ", ".join("here" if place.is_here else f"on {place.name}" for place in places)
    return ok(f"suite {suite.name}", f"{suite.title}, runs {where}")


def check_engine(app: App) -> Check:
    """Return whether the engine of containers answers, and has room for images."""
    try:
        return ok("engine", describe_engine(app.settings))
    except PROBLEMS as error:
        return Check(name="engine", state="fail", found=str(error), cure=cure_engine(str(error), find_engine()))


def check_models(app: App, suite: Suite) -> Iterator[Check]:
    """Yield whether the models of the chosen configs lie on this machine, whose containers run here."""
    docker = app.settings.docker
    name = f"models of {suite.name}"
    try:
        require_mounts(suite, docker)
        configs = configs_here(suite, app.settings, app.place)
    except PROBLEMS as error:
        yield Check(name=name, state="fail", found=str(error), cure="until then the service does not start")
        return
    if missing := missing_models(suite, configs, docker.mounts):
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        cure = f"put them there, mount their folder in [docker], or choose others in [choices.{suite.name}]"
        yield Check(name=name, state="fail", found=f"nothing at {', '.join(missing[:3])}{more}", cure=cure)
    elif any(model_path(suite, config) for config in configs):
        yield ok(name, "all there")


def check_source(app: App, source: Watched) -> Check:
    """Return whether a release source answers, and how fast."""
    name, started = f"releases of {source.component}", time.monotonic()
    try:
        answer = app.open_source(source.kind, source.options, source.component).list_builds()
    except PROBLEMS as error:
        cure = "nothing new is found until it answers; what is known is still measured"
        return Check(name=name, state="fail", found=str(error), cure=cure)
    fitting = sum(build.misfit is None and build.yanked is None for build in answer.builds)
    found = f"{len(answer.builds)} builds, {fitting} of them fit here, in {time.monotonic() - started:.1f} s"
    if fitting:
        return ok(name, found)
    return Check(name=name, state="warn", found=found, cure="none can be measured on this machine; try another one")


def check_notes(app: App, entry: ReleaseNotesSettings) -> Check:
    """Return whether a publisher's release notes can be read; nothing waits for them, so trouble is a warning."""
    name = f"release notes of {entry.component}"
    try:
        answer = app.open_release_notes(entry).list_notes()
    except PROBLEMS as error:
        cure = "releases are watched and measured without them; correct [[release_notes]] if its names are wrong"
        return Check(name=name, state="warn", found=str(error), cure=cure)
    matched, _ = match_releases(answer.notes, entry.component)
    if matched:
        return ok(name, f"of {count(len(matched), 'release')}")
    found = f"{len(answer.notes)} found, none of a release of {entry.component}"
    return Check(name=name, state="warn", found=found, cure="check the repository in [[release_notes]]")


def check_port(app: App) -> Check:
    """Return whether the pages' port is free."""
    where = f"{app.settings.port} on {app.settings.host}"
    if app.daemon_state()["running"]:
        return ok("port", f"{where}: not tried, a daemon runs")
    try:
        listen(app.settings.host, app.settings.port).close()
    except PROBLEMS as error:
        return Check(name="port", state="warn", found=str(error), cure="")
    return ok("port", f"{where} is free")


def check_slack(app: App, tell: Callable[[str], None]) -> Check:
    """Return whether Slack takes the token, where one is set."""
    slack = app.settings.slack
    if slack.token is None and slack.channel is None:
        return ok("slack", "not set up, nobody is told there")
    if slack.token is None or slack.channel is None:
        cure = "set both TRACKER_SLACK__TOKEN and TRACKER_SLACK__CHANNEL"
        return Check(name="slack", state="warn", found="token or channel is missing, nothing is sent", cure=cure)
    tell("asking Slack ...")
    try:
        team = check_token(slack.api_url, slack.token.get_secret_value())
    except PROBLEMS as error:
        return Check(name="slack", state="fail", found=str(error), cure="correct the token or the address")
    return ok("slack", f"token accepted by {team}, messages go to {slack.channel}")
