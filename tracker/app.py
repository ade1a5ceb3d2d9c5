"""The composition root: the only place that makes engines, clients and plugins, and hands them to the rest."""

from __future__ import annotations

import fcntl
import getpass
import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from alerts.plugins import create_sink
from alerts.protocol import Sink
from alerts.summary_formats import to_dict
from jobs import plugins
from jobs.environment import Machine, capture_host, hardware_class, hardware_fingerprint
from jobs.fingerprint import canonical_labels
from jobs.measurements import Label
from jobs.protocols import Executor, ReleaseSource
from jobs.suite import find_suite
from tracker.clock import Clock, SystemClock
from tracker.engines import EngineHost, engine_options, look_at_host, name_engine, other_hosts
from tracker.errors import UserError
from tracker.pipeline import requests
from tracker.pipeline.context import CONTAINERS, Context, NotesSource, Place, place_of
from tracker.pipeline.exclusions import exclude, include
from tracker.pipeline.reports import summaries_of
from tracker.pipeline.statistics import OwnStatistics, Statistics, StatisticsProcess
from tracker.pipeline.triage import triage
from tracker.setting_tables import ReleaseNotesSettings
from tracker.settings import Settings, load_settings
from tracker.store import hosts, standing, tokens
from tracker.store.engine import Store, open_store
from tracker.twins import THIS_MACHINE, Twins

FULL_BELOW_BYTES = 10_000_000
"""With less room than this on the disk of the home folder, the store may fail to be written any moment."""


class App:
    """Everything one process of the service needs, each part made when it is first asked for."""

    def __init__(self, settings: Settings, clock: Clock | None = None, statistics: Statistics | None = None) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self.statistics = statistics or OwnStatistics()
        self._executors: dict[tuple[str, str], Executor] = {}

    @property
    def owner(self) -> str:
        """Return what names this service in leases, and as the one that uses other hosts."""
        return f"{socket.gethostname()}:{self.settings.home}"

    @cached_property
    def store(self) -> Store:
        """Return the store, made and brought up to date on first use."""
        return open_store(self.settings.store_url)

    @cached_property
    def context(self) -> Context:
        """Return what the pipeline's steps are given."""
        return Context(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            owner=self.owner,
            statistics=self.statistics,
            place=lambda: self.place,
            places=self.places,
            find_suite=self.find_suite,
            open_source=self.open_source,
            open_release_notes=self.open_release_notes,
            open_executor=self.open_executor,
            look_at=self.look_at,
            open_sink=self.open_sink,
            sink_is_set_up=self.sink_is_set_up,
            render=render_chart,
        )

    @cached_property
    def place(self) -> Place:
        """Return where this process measures, known to the store from now on."""
        host = capture_host()
        slug, labels = hardware_class(host)
        host_name = socket.gethostname()
        if self.settings.recordings is not None:
            slug, labels = recorded_hardware(self.settings.recordings)
            host_name = "recorded"
        name = hardware_fingerprint(labels)
        with self.store.write() as session:
            hardware_id = hosts.save_hardware_class(
                session, fingerprint=name, slug=slug, labels=canonical_labels(labels)
            )
            host_id = hosts.save_host(session, slug=host_name, hardware_class_id=hardware_id, now=self.clock.now())
        return Place(
            host_id=host_id,
            hardware_class_id=hardware_id,
            hardware_fingerprint=name,
            gpus=tuple(gpu.product for gpu in host.gpus),
            memory_bytes=host.memory_bytes,
            name=host_name,
            containers=self.settings.docker.is_here,
        )

    @cached_property
    def engine_hosts(self) -> dict[str, EngineHost]:
        """Return the other machines that containers run on, known to the store from now on."""
        found = {host.name: host for host in other_hosts(self.settings.docker)}
        if self.place.name in found:
            raise UserError(
                f"docker.hosts: {self.place.name!r} is the name of this machine, which listed hosts must not have; "
                "its own engine is docker.engine = unix://..."
            )
        now = self.clock.now()
        with self.store.write() as session:
            hosts.leave_hosts(session, served_by=self.owner, but=found, now=now)
            for name, host in found.items():
                unknown = partial(hosts.unknown_class, session, name)
                engine = host.address
                hosts.serve_host(
                    session, slug=name, engine=engine, served_by=self.owner, unknown_class=unknown, now=now
                )
        return found

    def places(self) -> tuple[Place, ...]:
        """Return every host that this service measures on, this machine first, as the store knows them now."""
        others = self.engine_hosts
        if not others:
            return (self.place,)
        with self.store.read() as session:
            served = hosts.served_hosts(session, served_by=self.owner)
        return (self.place, *(place_of(one, tells=others[one.name].is_ssh) for one in served if one.name in others))

    def look_at(self, place: Place, whole: bool = True) -> Machine | None:
        """Return what is seen of another host; None where only its engine answers, or is asked (not `whole`).

        JobsError where nothing does.
        """
        seen = look_at_host(self.engine_hosts[place.name], whole=whole)
        if whole and len(self._twins.names) > 1:
            self._twins.check(place.name)
        return seen

    @cached_property
    def _twins(self) -> Twins:
        docker = {name: host.settings for name, host in self.engine_hosts.items()}
        if self.settings.docker.hosts and self.place.containers:
            docker = {THIS_MACHINE: self.settings.docker, **docker}
        return Twins(ask=lambda name: name_engine(docker[name]), names=tuple(docker))

    def find_suite(self, name: str) -> Path:
        """Return the file of the suite with this name; UserError with the near match."""
        return find_suite(name, self.settings.suite_folders)

    def open_source(self, kind: str, options: Mapping[str, Any], component: str) -> ReleaseSource:
        """Return the release source of a component, set up with these options and what the settings say of its kind."""
        given = {"path": str(self.settings.recordings), **options} if kind == "recorded" else options
        more: dict[str, Any] = {}
        if kind == "oci_registry":
            from tracker.registries import find_access

            cache = self.settings.home / "cache" / "registries"
            access = partial(find_access, self.settings)
            more = {"component": component, "find_access": access, "cache": cache}
        source: ReleaseSource = plugins.load("source", kind).create(given, **more)
        return source

    def open_release_notes(self, entry: ReleaseNotesSettings) -> NotesSource:
        """Return where the notes that an entry of the settings names are read, with the token that it names."""
        from tracker.registries import open_release_notes

        return open_release_notes(entry, cache=self.settings.home / "cache" / "release_notes")

    def open_executor(self, name: str, place: Place | None) -> Executor:
        """Return the executor of this name on a host, None for one that is not used any more.

        All attempts lie under the home folder.
        """
        host = "" if place is None or place.is_here else place.name
        folder = self.settings.home / "attempts"
        if place is None and name == CONTAINERS:
            from jobs.executors.docker_engine import forsake

            return forsake(folder)
        if (name, host) not in self._executors:
            module = plugins.load("executor", name)
            options = self._executor_options(name, host)
            self._executors[name, host] = module.create(options, folder=folder, cache=self.settings.home / "cache")
        return self._executors[name, host]

    def _executor_options(self, name: str, host: str) -> dict[str, object]:
        if name == "replay":
            return {"recordings": str(self.settings.recordings)}
        if name in ("local", "slurm"):
            from jobs.sources.package_index import configured_index

            more = self.settings.slurm.model_dump() if name == "slurm" else {}
            return {**more, "index_url": lambda: configured_index() or ""}
        if name == "kubernetes":
            return self.settings.kubernetes.model_dump()
        if name == CONTAINERS:
            other = self.engine_hosts[host] if host else None
            return engine_options(self.settings, other, partial(self._known_hardware, host) if host else None)
        return {}

    def _known_hardware(self, host: str) -> dict[str, Label] | None:
        """Return the labels of another host's hardware class; None where nobody has said or seen what it has."""
        with self.store.read() as session:
            served = hosts.served_hosts(session, served_by=self.owner)
        return next((dict(one.labels) for one in served if one.name == host and one.is_known), None)

    def sink_is_set_up(self, name: str) -> bool:
        """Return whether the settings that the sink needs are filled in."""
        slack = self.settings.slack
        return name != "slack" or (slack.token is not None and slack.channel is not None)

    def open_sink(self, name: str) -> Sink | None:
        """Return the sink of this name; None when its settings are not filled in."""
        if not self.sink_is_set_up(name):
            return None
        options: dict[str, object] = {}
        secrets: dict[str, Any] = {}
        if name == "slack":
            from alerts.secret import Secret

            slack = self.settings.slack
            options = {"channel": slack.channel, "base_url": slack.api_url}
            secrets = {"token": Secret(slack.token.get_secret_value() if slack.token else "")}
        return create_sink(name, options, secrets)

    # --- what pages and API ask for (see tracker.web.service.WebService) ---

    def daemon_state(self) -> dict[str, Any]:
        """Return whether a daemon works on this folder, whether results are recorded ones, whether the disk is full."""
        home = self.settings.home
        return {
            "running": folder_is_taken(home),
            "demo": self.settings.recordings is not None,
            "disk_full": shutil.disk_usage(home).free < FULL_BELOW_BYTES if home.exists() else False,
        }

    def verify_token(self, token: str) -> str | None:
        """Return the name of a valid token, None for any other text."""
        with self.store.read() as session:
            if tokens.find_valid(session, token) is None:
                return None  # a guess never waits for, nor holds up, what is being written
        with self.store.write() as session:
            return tokens.verify_token(session, token, now=self.clock.now())

    def render_chart(self, spec: Mapping[str, Any], format: Literal["png", "svg"]) -> bytes:
        """Return a chart as a picture, drawn in a process of its own."""
        return render_chart(spec, format)

    def summarize(self, component: str, release: str, against: str | None) -> list[dict[str, Any]]:
        """Return the summaries of a release made now, one a hardware class, as data."""
        found = summaries_of(self.context, release, against, component=component)
        return [to_dict(summary) for summary in found]

    def trigger(self, suite: str, release: str, who: str, repeats: int | None = None) -> list[str]:
        """Queue a suite on a release; return the runs' public ids."""
        return requests.trigger(self.context, suite, release, repeats=repeats, who=who)

    def rerun(self, run_id: str, who: str, repeats: int = 1) -> list[str]:
        """Queue a run again; return the new runs' public ids."""
        return requests.rerun(self.context, run_id, who=who, repeats=repeats)

    def rerun_series(self, series: str, release: str, who: str) -> list[str]:
        """Queue every repeat of a release that a series has once more; return the new runs' public ids."""
        return requests.rerun_series(self.context, series, release, who=who)

    def ingest(self, upload: Path, said: Mapping[str, Any], who: str) -> list[dict[str, Any]]:
        """Keep the results in an uploaded file, a packed one's each; return what became of them."""
        from jobs.intake import Handed, arrivals
        from tracker.pipeline.deposit import deposit
        from tracker.pipeline.origins import read_origin

        name = str(said["name"])
        origin = read_origin(
            said["component"],
            said["release"],
            said.get("image"),
            said.get("host"),
            said.get("label") or (),
            said.get("at"),
            history=bool(said.get("history")),
        )
        tool, replace = said.get("tool", "auto"), bool(said.get("replace"))
        with closing(arrivals([Handed(path=upload, name=name, shown=name)])) as arriving:
            found = deposit(self.context, origin, arriving, who=who, tool=tool, replace=replace)
            return [asdict(one) for one in found]

    def cancel(self, run_id: str, who: str) -> None:
        """Cancel a queued or running run."""
        requests.cancel(self.context, run_id, who=who)

    def exclude(self, series: str, release: str, who: str, why: str) -> None:
        """Have a release of a series judged no more."""
        exclude(self.context, release, fingerprint=series, who=who, why=why)

    def include(self, series: str, release: str, who: str) -> None:
        """Have an excluded release of a series judged again."""
        include(self.context, release, fingerprint=series, who=who)

    def set_host_state(self, name: str, state: str, who: str, why: str = "") -> None:
        """Take a host out of service (`cordoned`, `draining`) or back in (`ready`)."""
        with self.store.write() as session:
            standing.set_state(session, name, state, why=why, who=who, now=self.clock.now())

    def triage(self, alert_id: str, state: str, who: str, note: str = "") -> None:
        """Keep a decision about an alert."""
        triage(self.context, alert_id, state=state, who=who, note=note)

    def close(self) -> None:
        """Give connections and processes back."""
        self.statistics.rest()
        if "store" in self.__dict__:
            self.store.close()


def recorded_hardware(folder: Path) -> tuple[str, dict[str, Label]]:
    """Return slug and labels of the hardware class that recordings were taken on; UserError when they do not say."""
    from jobs.executors.replay import load_recordings

    for recording in load_recordings(folder).values():
        if hardware := recording.get("environment", {}).get("hardware_class"):
            return hardware["slug"], hardware["labels"]
    raise UserError(
        f"recordings in {folder}: none has environment.hardware_class, so nobody knows where they were taken"
    )


def render_chart(spec: Mapping[str, Any], format: Literal["png", "svg"] = "png") -> bytes:
    """Return a chart as a picture, drawn in a process of its own."""
    from alerts.charts import render

    return render(dict(spec), format=format, scale=2)


def folder_is_taken(home: Path) -> bool:
    """Return whether a daemon holds the service folder's lock."""
    try:
        with (home / "daemon.lock").open("r", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def open_app(**overrides: Any) -> App:
    """Return the app with the settings of file and variables, `overrides` winning."""
    return App(load_settings(**overrides), statistics=StatisticsProcess())


def whoami() -> str:
    """Return who is asking, for the audit."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
