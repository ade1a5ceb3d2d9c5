"""From nothing to a running container: image, assets, container, its files, its record; then the start.

Markers in the attempt's folder say how far it got, each written before what it speaks of:

creating           a container may exist from now on
starting           the program may have begun from now on; it is never begun a second time
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from jobs.environment import Host, Machine, look_over_ssh
from jobs.executors._assets import prepare_asset
from jobs.executors._attempts import Attempt, read, replace
from jobs.executors._commands import Ended, last_line
from jobs.executors._engine_client import Engine, EngineAway, EngineRefused
from jobs.executors._engine_container import ROOT, container_request, input_files
from jobs.executors._engine_images import Shelf, image_of, make_room, pull
from jobs.executors._engine_options import EngineOptions
from jobs.executors._engine_patience import Patience
from jobs.executors._engine_record import BY_SSH, MACHINE, class_of, container_record, engine_facts, host_of
from jobs.executors._engine_room import look_at_room
from jobs.executors._environments import Setup
from jobs.executors._preparation import pick_cores
from jobs.executors._processes import identify, uptime_s
from jobs.executors._program import leave_cores
from jobs.measurements import Label
from jobs.protocols import JobOutcome, JobSpec
from jobs.ssh import CommandFailed, HostAway, HostRefused

CREATING = "creating"
STARTING = "starting"
PROGRESS = "progress.json"
"""What the set-up is doing, for whoever polls."""
_STATES_BEFORE_START = ("created", "configured", "initialized")
_NO_COMMAND = re.compile(
    r"executable file not found|exec: .*(no such file|permission denied)|command that was not found"
)
_MISSING = re.compile(r'exec: \\?"(?P<name>[^"\\]{1,200})\\?"')
_NO_GPU = re.compile(r"device driver|nvidia|\bcdi\b|gpu", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One attempt and all that is needed to carry it."""

    attempt: Attempt
    job: JobSpec
    engine: Engine
    options: EngineOptions
    name: str
    """Of the container."""
    home: str
    login: str | None
    setup: Setup
    patience: Patience
    hardware: Mapping[str, Label] | None = None
    """What was named as the hardware of the engine's machine; None where nothing was, and for this machine."""

    def tell(self, text: str) -> None:
        """Write down, for the set-up's log and for whoever polls, what is being done."""
        with self.attempt.file("setup.log").open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        replace(self.attempt.file(PROGRESS), {"doing": text})


def set_up(site: Site) -> None:
    """Make the container and start it; raise Ended where that is not possible. No container of the name exists yet."""
    info = site.patience.ask(site.engine.info)
    image = _have_image(site, info)
    assets = [prepare_asset(asset, site.setup) for asset in site.job.assets]
    here = site.options.is_here
    if here:
        _check_mounts(site.options)
    cores, pin_note = pick_cores(site.job.pin_cores) if here else ((), "the engine is on another machine")
    body = container_request(site.job, site.options, image, home=site.home, cores=cores)
    site.attempt.file(CREATING).touch()
    site.patience.ask(lambda: _create(site, body))
    site.patience.ask_long(lambda: site.engine.put_files(site.name, ROOT, input_files(site.job, site.options, assets)))
    host, seen = _look_at_host(site, info)
    record = container_record(
        site.job,
        host=host,
        hardware=class_of(host, seen=seen, named=site.hardware),
        engine=engine_facts(site.patience.ask(site.engine.version), info),
        image=image,
        assets=assets,
        cores=cores,
        pin_note=pin_note,
    )
    replace(site.attempt.file("environment.json"), record)
    site.patience.check()
    site.attempt.file(STARTING).touch()
    leave_cores(cores)
    start(site)


def _look_at_host(site: Site, info: Mapping[str, Any]) -> tuple[Host, str]:
    """Return the facts of the engine's machine, and how it was seen; empty where only its engine speaks of it."""
    if site.options.is_here:
        return host_of(info, local=True), MACHINE
    if site.options.address.is_ssh:
        machine = site.patience.ask_long(lambda: _look_by_ssh(site))
        if machine is not None and machine.is_whole:
            return machine.host, BY_SSH
        site.tell(f"{site.options.address.url} does not tell its hardware: {_trouble(machine)}")
    return host_of(info, local=False), ""


def _look_by_ssh(site: Site) -> Machine | None:
    """Return what is seen of the machine; None where its shell does not run what is asked."""
    try:
        return look_over_ssh(site.options.address.open_way().tunnel.login)
    except CommandFailed:
        return None
    except (HostAway, HostRefused) as error:
        raise EngineAway(str(error)) from error


def _trouble(machine: Machine | None) -> str:
    return machine.sight.smi_trouble if machine else "its shell does not run what is asked"


def _have_image(site: Site, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the image as the engine describes it, pulled now unless it is there."""
    image = image_of(site.job)
    shelf = Shelf(folder=site.setup.cache / "engine-images" / site.options.host, keep=site.options.keep_images)
    found = site.patience.ask(lambda: site.engine.find_image(image.reference))
    if found is None:
        room, free_bytes = partial(look_at_room, site.options, info), site.options.min_free_bytes
        site.patience.ask_long(lambda: make_room(site.engine, shelf, room, min_free_bytes=free_bytes, tell=site.tell))
        site.tell(f"pulling {image.reference}")
        shelf.note(image)
        site.patience.ask_long(lambda: pull(site.engine, image, site.login, site.tell))
        found = site.patience.ask(lambda: site.engine.find_image(image.reference))
    elif shelf.has(image):
        shelf.note(image)
    if found is None:
        raise Ended(JobOutcome.INFRA_FAILED, f"{image.reference} was removed while it was being used")
    site.tell(f"using {image.reference}, {found.get('Id')}")
    return found


def _check_mounts(options: EngineOptions) -> None:
    """Raise Ended where a folder to be mounted is missing; some engines would make an empty one."""
    for target, source in options.mounts.items():
        if not Path(source).exists():
            what = f"{source}, to be seen as {target} in the container, does not exist on this machine"
            raise Ended(JobOutcome.INFRA_FAILED, f"{what}; correct mounts in the settings")


def _create(site: Site, body: Mapping[str, Any]) -> None:
    """Make the container; one of that name that is there already was made by an unheard answer."""
    try:
        site.engine.create(site.name, body)
    except EngineRefused as error:
        if site.engine.inspect(site.name) is None:
            raise Ended(JobOutcome.INFRA_FAILED, f"the engine refuses this container: {error}") from error


def start(site: Site) -> None:
    """Start the container unless it has been started before; raise Ended where it cannot be started."""

    def begin() -> None:
        if is_unstarted(
            site.engine.inspect(site.name)
        ):  # an engine starts an ended one again, and an answer may be lost
            site.engine.start(site.name)

    try:
        site.patience.ask(begin)
    except EngineRefused as error:
        raise _explain_start(error, site.job) from error
    note_start(site.attempt)


def is_unstarted(found: Mapping[str, Any] | None) -> bool:
    """Return whether a container, as the engine describes it, is there and has never run."""
    return str(((found or {}).get("State") or {}).get("Status")) in _STATES_BEFORE_START


def note_start(attempt: Attempt) -> None:
    """Write down that the program runs, since when by this machine's clock, and in which life of the machine."""
    if not attempt.file("running.json").exists():
        now = datetime.now(UTC).isoformat()
        boot = identify(1).get("boot")
        replace(attempt.file("running.json"), {"started_at": now, "boot": boot, "up_s": uptime_s()})


def ran_s(attempt: Attempt) -> float:
    """Return for how long the program has been running, whoever set the clock meanwhile."""
    begun = read(attempt.file("running.json")) or {}
    up_s = begun.get("up_s")
    if isinstance(up_s, int | float) and begun.get("boot") == identify(1).get("boot"):
        return uptime_s() - up_s
    since = attempt.started_at()
    return (datetime.now(UTC) - since).total_seconds() if since else 0.0


def _explain_start(error: EngineRefused, job: JobSpec) -> Ended:
    said = " ".join(str(error).split())[:400]
    if _NO_COMMAND.search(str(error)):
        return Ended(JobOutcome.TOOL_FAILED, _no_program(said, job))
    if job.gpus and _NO_GPU.search(str(error)):
        return Ended(JobOutcome.INFRA_FAILED, f"the engine cannot hand out {job.gpus} GPU(s): {said}")
    return Ended(JobOutcome.INFRA_FAILED, f"the container could not be started: {said}")


def _no_program(said: str, job: JobSpec) -> str:
    """Return what an image lacks, in our words and then the engine's, and what to do about it."""
    found = _MISSING.search(said)
    name = found["name"] if found else job.program
    lack = "cannot execute" if "permission denied" in said.lower() else "has no program"
    cure = "name one that it has in run.program, or watch images that have it (releases in the suite)"
    if name != job.program:
        cure = "that is its own entry point or a step before the program: see [run.container] entrypoint in the suite"
    image = image_of(job)
    return f"the image {image.repository}@{image.digest[:19]} {lack} {name!r}; {cure}. The engine said: {said}"


def asset_setup(
    attempt: Attempt,
    job: JobSpec,
    *,
    cache: Path,
    uv: str | None,
    variables: Mapping[str, str],
    check: Callable[[], None],
) -> Setup:
    """Return what making assets on this machine needs to know; its deadline is the whole set-up's."""
    return Setup(
        cache=cache,
        uv=uv,
        variables=variables,
        log=attempt.file("setup.log"),
        deadline=time.monotonic() + job.setup_timeout_s,
        limit_s=job.setup_timeout_s,
        started=lambda _: None,
        check=check,
    )


def setup_too_late(site_log: Path, limit_s: float) -> Ended:
    """Return the end of a set-up that took too long, with what it was doing."""
    doing = last_line(site_log) or "waiting for the engine"
    return Ended(JobOutcome.INFRA_FAILED, f"set-up took longer than its limit of {limit_s:g} s; it was at: {doing}")
