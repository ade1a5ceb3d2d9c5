"""Runs attempts in containers of a Docker engine, or of Podman by its compatible API. See README.md."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx

from jobs.errors import TryLater, UserError
from jobs.executors._attempts import Attempt, check_job, check_key, job_to_json, open_attempts, read, write_once
from jobs.executors._attempts import replace as replace_file
from jobs.executors._commands import last_line
from jobs.executors._engine_carrier import EXECUTOR
from jobs.executors._engine_client import Engine, EngineAway, EngineRefused, connect
from jobs.executors._engine_container import attempt_of, container_name, home_label
from jobs.executors._engine_gone import GoneEngine
from jobs.executors._engine_images import image_of, login_header
from jobs.executors._engine_options import EngineOptions, read_options
from jobs.executors._engine_patience import AWAY
from jobs.executors._engine_record import engine_facts
from jobs.executors._engine_room import look_at_room
from jobs.executors._engine_setup import PROGRESS
from jobs.executors._environments import find_uv
from jobs.executors._processes import carrier_variables, identify, is_alive
from jobs.measurements import Label
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobSpec, JobState, JobStatus

_CANCEL_WITHIN_S = 15.0
_ASKED_AGAIN_WITHIN_S = 0.5
_MISSED_WITHIN_S = 3.0
_STRAYS_WITHIN_S = 10.0
_MOST_CARRIERS = 50
"""So many carriers may die under one attempt; then it is given up."""

Login = tuple[str, str]


def create(options: Mapping[str, object], *, folder: Path, cache: Path) -> Executor:
    """Return the executor that keeps its attempts in `folder`, assets and notes about images in `cache`.

    Options: `engine` (`unix:///path`, `tcp://host:2376` with `ca`, `certificate`, `key`, or `ssh://user@host/path` with
    `known_hosts`, `identity` where ssh's own files are not to be used), `mounts`, `secrets`,
    `login` (a function from an image's reference to user name and password, or None), `gpu_driver`, `min_free_gb`,
    `keep_images`, `work_limit_gb`, `uv`, `index_url`; for an engine on another machine `host`, which names that, and
    `hardware`, a function to the labels of its hardware class, or None where nobody named them.
    """
    checked = read_options(options, uv=find_uv())
    login, index_url, hardware = options.get("login"), options.get("index_url", ""), options.get("hardware")
    if login is not None and not callable(login):
        raise UserError(f"executor docker_engine: login must be a function, found {login!r}")
    if hardware is not None and not callable(hardware):
        raise UserError(f"executor docker_engine: hardware must be a function, found {hardware!r}")
    if not (isinstance(index_url, str) or callable(index_url)):
        raise UserError(f"executor docker_engine: index_url must be text, found {index_url!r}")
    return DockerEngineExecutor(
        folder=folder.resolve(),
        cache=cache.resolve(),
        options=checked,
        find_login=login if callable(login) else lambda _: None,
        find_index=index_url if callable(index_url) else lambda: str(index_url),
        find_hardware=hardware if callable(hardware) else lambda: None,
    )


def forsake(folder: Path) -> Executor:
    """Return what ends the attempts in `folder` whose engine is not in the settings any more."""
    return GoneEngine(folder=folder.resolve())


def describe_engine(options: Mapping[str, object]) -> str:
    """Return which engine answers and with how much room for images; TryLater where none does."""
    checked = read_options(options, uv=None)
    with closing(connect(checked.address)) as engine:
        info = engine.info()
        facts = engine_facts(engine.version(), info)
    found = f"{facts.get('engine')} {facts.get('version')} at {checked.address.url}"
    room = look_at_room(checked, info)
    if room.free_bytes is None:
        return f"{found}, room not looked at: {room.unknown}"
    free = f"{room.free_bytes / 1e9:.0f} GB free in {room.folder}"
    if room.free_bytes < checked.min_free_bytes:
        raise TryLater(f"{found}: {free}, images are pulled from {checked.min_free_bytes / 1e9:g} GB on (min_free_gb)")
    return f"{found}, {free}"


def ask_engine(options: Mapping[str, object], *, within_s: float) -> None:
    """Return when the engine of these options answers; TryLater where it does not in time, UserError where it cannot.

    A tunnel that has to be made first takes its own time.
    """
    with closing(connect(read_options(options, uv=None).address)) as engine:
        engine.client.timeout = httpx.Timeout(within_s)
        engine.version()


def name_engine(options: Mapping[str, object], *, within_s: float) -> str:
    """Return what an engine calls itself, for good; empty for Podman, which takes a new name at each question.

    The name of its machine is part of it, as copies of one machine keep its engine's. TryLater where none answers.
    """
    with closing(connect(read_options(options, uv=None).address)) as engine:
        engine.client.timeout = httpx.Timeout(within_s)
        version = engine.version()
        info = engine.info() if engine_facts(version, {})["engine"] == "docker" else {}
    name, machine = info.get("ID"), info.get("Name")
    return f"{name} {machine}"[:300] if name and machine else ""


@dataclass(slots=True, kw_only=True, eq=False)
class DockerEngineExecutor:
    """See `jobs.protocols.Executor`. All it knows is in its folder and in the engine, so any process may take over."""

    folder: Path
    cache: Path
    options: EngineOptions
    find_login: Callable[[str], Login | None]
    find_index: Callable[[], str]
    find_hardware: Callable[[], Mapping[str, Label] | None]
    _children: set[int] = field(default_factory=set)
    """Carriers started here, to be reaped."""

    def start(self, job: JobSpec) -> None:
        check_job(job)
        image_of(job)
        _check_program(job)
        self._reap()
        attempt = self._attempt(job.key)
        if attempt.file("claimed.json").exists():
            return
        attempt.folder.mkdir(parents=True, exist_ok=True)
        write_once(attempt.file("job.json"), self._order(job))
        self._launch(attempt)

    def poll(self, key: str) -> JobStatus:
        self._reap()
        attempt = self._attempt(key)
        if status := attempt.status():
            return status
        claim = read(attempt.file("claimed.json"))
        if claim is None and _has_carrier(attempt):
            return JobStatus(state=JobState.PREPARING)
        if claim is None and (claim := read(attempt.file("claimed.json"))) is None:
            return attempt.status() or JobStatus(state=JobState.UNKNOWN)
        if claim.get("executor") != EXECUTOR:
            attempt.finish(JobOutcome.LOST, str(claim.get("nobody", "not started")), at=datetime.now(UTC))
            return attempt.status() or JobStatus(state=JobState.UNKNOWN)
        self._carry_on(attempt)
        if away := read(attempt.file(AWAY)):
            raise TryLater(str(away.get("why", "the container engine does not answer")))
        return attempt.status() or _state_of(attempt)

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.CANCELLED, CALLED_OFF)

    def abandon(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.LOST, "abandoned before it was started")

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        ended, troubles = [], []
        for attempt in open_attempts(self.folder, EXECUTOR):
            if attempt.key not in alive and self._is_mine(attempt):
                try:
                    self._end(attempt, JobOutcome.CANCELLED, "ended by a sweep: no run asks for it any more")
                    ended.append(attempt.key)
                except TryLater as error:
                    troubles.append(str(error))
        ended += self._remove_strays(alive)
        if troubles:
            raise TryLater("; ".join(troubles))
        return tuple(dict.fromkeys(ended))

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)

    def _is_mine(self, attempt: Attempt) -> bool:
        """Return whether an attempt was ordered for this engine: executors of several share the folder."""
        order = read(attempt.file("job.json"))
        return order is not None and order.get("host", self.options.host) == self.options.host

    def _order(self, job: JobSpec) -> dict[str, object]:
        """Return what every carrier of the attempt needs to know; no secret is in it."""
        assets = tuple(replace(asset, maker=str(Path(asset.maker).absolute())) for asset in job.assets)
        program = str(Path(job.program).absolute()) if job.program.endswith(".py") else job.program
        return {
            "executor": EXECUTOR,
            "host": self.options.host,
            "job": job_to_json(replace(job, program=program, assets=assets)),
            "cache": str(self.cache),
            "home": _home(self.folder, make=True),
        }

    def _launch(self, attempt: Attempt) -> None:
        """Start a carrier; secrets reach it by a pipe."""
        order = read(attempt.file("job.json")) or {}
        login = self.find_login(order["job"]["build_location"]) if "job" in order else None
        given = {"options": self.options.to_json(), "login": login_header(*login) if login else None}
        given["hardware"] = dict(self.find_hardware() or {}) or None
        source, target = os.pipe()
        try:
            child = self._spawn(attempt, source)
            self._children.add(child)
            times = int((read(attempt.file("launched.json")) or {}).get("times", 0)) + 1
            replace_file(attempt.file("launched.json"), {**identify(child), "times": times})
        finally:
            os.close(source)
            _send(target, json.dumps(given).encode())

    def _spawn(self, attempt: Attempt, standard_input: int) -> int:
        """Return the number of a new carrier process."""
        log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "jobs.executors._engine_carrier", str(attempt.folder)],
            carrier_variables(self.find_index()),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, standard_input, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(attempt.file("carrier.log")), log, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsigmask=(),
        )

    def _carry_on(self, attempt: Attempt) -> None:
        """Make sure that somebody carries a claimed attempt; give it up where that never lasts."""
        if attempt.status() is not None or _has_carrier(attempt):
            return
        if (read(attempt.file("launched.json")) or {}).get("times", 0) < _MOST_CARRIERS:
            self._launch(attempt)
            return
        said = last_line(attempt.file("carrier.log"))
        with closing(connect(self.options.address)) as engine:
            _remove(engine, container_name(_home(self.folder), attempt.key))
        what = f"its carrier ended {_MOST_CARRIERS} times before its work was done: {said}"
        attempt.finish(JobOutcome.INFRA_FAILED, what, at=datetime.now(UTC))

    def _reap(self) -> None:
        """Collect carriers that have ended, so that none stays as a zombie."""
        for child in tuple(self._children):
            try:
                gone, _ = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                gone = child
            if gone:
                self._children.discard(child)

    def _end(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> None:
        """Make sure that the attempt has ended: never starts, stops now, or has stopped before.

        TryLater where its engine is away: it is then ended as soon as the engine answers, by a carrier that waits.
        Asked again, that is said soon, so that no silent engine holds up those who ask for other runs.
        """
        if attempt.status() is not None:
            return
        if attempt.claim({"nobody": detail}):
            attempt.finish(outcome, detail, at=datetime.now(UTC))
            return
        asked_before = attempt.file("cancel").exists()
        attempt.file("cancel").touch()
        begun, within_s = time.monotonic(), _ASKED_AGAIN_WITHIN_S if asked_before else _CANCEL_WITHIN_S
        while True:
            waited_s = time.monotonic() - begun
            try:
                if self.poll(attempt.key).state is JobState.ENDED:
                    return
            except TryLater:
                if waited_s > min(_MISSED_WITHIN_S, within_s):
                    raise
            if waited_s > within_s:
                raise TryLater(f"the container of attempt {attempt.key} has not ended yet; it is being ended")
            time.sleep(0.02)

    def _remove_strays(self, alive: frozenset[str]) -> list[str]:
        """Remove containers of ours that no attempt speaks for any more; return their attempts' keys."""
        home = _home(self.folder)
        if not home:
            return []
        gone = []
        with closing(connect(self.options.address)) as engine:
            engine.client.timeout = httpx.Timeout(_STRAYS_WITHIN_S)
            for found in engine.list(home_label(home)):
                key, names = attempt_of(found.get("Labels")), [str(name) for name in found.get("Names") or ()]
                if key and key not in alive and not self._is_carried(key):
                    _remove(engine, str(found.get("Id") or names[0].lstrip("/")))
                    gone.append(key)
        return gone

    def _is_carried(self, key: str) -> bool:
        attempt = self._attempt(key)
        return attempt.file("job.json").exists() and attempt.status() is None


def _home(folder: Path, *, make: bool = False) -> str:
    """Return the name that marks the containers of this folder, and of no other anywhere; empty before there is one."""
    file = folder / ".engine.json"
    if make and not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_once(file, {"home": secrets.token_hex(6)})
    return str((read(file) or {}).get("home", ""))


def _check_program(job: JobSpec) -> None:
    if job.requirements:
        raise UserError(
            f"job {job.key}: an image brings its own packages; remove run.requirements ({', '.join(job.requirements)})"
        )
    if job.program.endswith(".py") and not Path(job.program).is_file():
        raise UserError(f"job {job.key}: the program {job.program} does not exist")


def _has_carrier(attempt: Attempt) -> bool:
    """Return whether a process carries the attempt, or is about to."""
    named = (read(attempt.file(name)) for name in ("carrier.json", "launched.json"))
    return any(identity is not None and is_alive(identity) for identity in named)


def _state_of(attempt: Attempt) -> JobStatus:
    started_at = attempt.started_at()
    if started_at:
        return JobStatus(state=JobState.RUNNING, started_at=started_at)
    doing = str((read(attempt.file(PROGRESS)) or {}).get("doing", ""))
    return JobStatus(state=JobState.PREPARING, detail=doing)


def _send(target: int, content: bytes) -> None:
    """Write into a pipe whose reader may be gone already."""
    try:
        with os.fdopen(target, "wb") as pipe:
            pipe.write(content)
    except BrokenPipeError:
        return


def _remove(engine: Engine, name: str) -> None:
    try:
        engine.stop(name, 0)
        engine.remove(name)
    except EngineRefused as error:
        raise EngineAway(f"container {name} cannot be removed: {error}") from error
