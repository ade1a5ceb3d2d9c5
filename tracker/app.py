"""The composition root: the only place that makes engines, clients and plugins, and hands them to the rest."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from alerts.plugins import create_sink
from alerts.protocol import Sink
from jobs import plugins
from jobs.environment import capture_host, hardware_class, hardware_fingerprint
from jobs.fingerprint import canonical_labels
from jobs.protocols import Executor, ReleaseSource
from jobs.suite import find_suite
from tracker.clock import Clock, SystemClock
from tracker.pipeline.context import Context, Place
from tracker.settings import Settings, load_settings
from tracker.store import hosts
from tracker.store.engine import Store, open_store


class App:
    """Everything one process of the service needs, each part made when it is first asked for."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self._executors: dict[str, Executor] = {}

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
            owner=f"{socket.gethostname()}:{self.settings.home}",
            place=lambda: self.place,
            find_suite=self.find_suite,
            open_source=open_source,
            open_executor=self.open_executor,
            open_sink=self.open_sink,
            render=render_picture,
        )

    @cached_property
    def place(self) -> Place:
        """Return where this process measures, known to the store from now on."""
        host = capture_host()
        slug, labels = hardware_class(host)
        name = hardware_fingerprint(labels)
        with self.store.write() as session:
            hardware_id = hosts.save_hardware_class(
                session, fingerprint=name, slug=slug, labels=canonical_labels(labels)
            )
            host_id = hosts.save_host(
                session, slug=socket.gethostname(), hardware_class_id=hardware_id, now=self.clock.now()
            )
        return Place(
            host_id=host_id,
            hardware_class_id=hardware_id,
            hardware_fingerprint=name,
            gpus=tuple(gpu.product for gpu in host.gpus),
            memory_bytes=host.memory_bytes,
        )

    def find_suite(self, name: str) -> Path:
        """Return the file of the suite with this name; UserError with the near match."""
        return find_suite(name, self.settings.suite_folders)

    def open_executor(self, name: str) -> Executor:
        """Return the executor of this name; all its attempts lie under the home folder."""
        if name not in self._executors:
            home = self.settings.home
            options = {"recordings": str(self.settings.recordings)} if name == "replay" else {}
            module = plugins.load("executor", name)
            self._executors[name] = module.create(options, folder=home / "attempts", cache=home / "cache")
        return self._executors[name]

    def open_sink(self, name: str) -> Sink | None:
        """Return the sink of this name; None when its settings are not filled in."""
        options: dict[str, object] = {}
        secrets: dict[str, Any] = {}
        if name == "slack":
            slack = self.settings.slack
            if slack.token is None or slack.channel is None:
                return None
            from alerts.secret import Secret

            options = {"channel": slack.channel, "base_url": slack.api_url}
            secrets = {"token": Secret(slack.token.get_secret_value())}
        return create_sink(name, options, secrets)

    def close(self) -> None:
        """Give the store's connections back."""
        if "store" in self.__dict__:
            self.store.close()


def open_source(kind: str, options: Mapping[str, Any]) -> ReleaseSource:
    """Return the release source of a kind, set up with a suite's options."""
    source: ReleaseSource = plugins.load("source", kind).create(options)
    return source


def render_picture(spec: Mapping[str, Any]) -> bytes:
    """Return a chart as PNG, drawn in a process of its own."""
    from alerts.charts import render

    return render(dict(spec), format="png", scale=2)


def open_app(**overrides: Any) -> App:
    """Return the app with the settings of file and variables, `overrides` winning."""
    return App(load_settings(**overrides))


def whoami() -> str:
    """Return who is asking, for the audit."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
