"""Sinks by name: one module each in `alerts/sinks/`, imported only when named; outside ones by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from alerts.errors import UnknownSink
from alerts.protocol import Sink
from alerts.secret import Secret
from jobs.errors import UnknownPlugin
from jobs.plugins import known_plugins, load_plugin

_PACKAGE = "alerts.sinks"
_GROUP = "tracker.sink"


def known_sinks() -> list[str]:
    """Return the names of all sinks there are, in order."""
    return sorted(known_plugins(_PACKAGE, _GROUP))


def create_sink(name: str, options: Mapping[str, object], secrets: Mapping[str, Secret]) -> Sink:
    """Return the sink of that name with its options; raise UnknownSink or UserError where that cannot be."""
    try:
        plugin = load_plugin(_PACKAGE, _GROUP, name)
    except UnknownPlugin as error:
        raise UnknownSink(str(error)) from error
    return cast(Sink, plugin.create(options, secrets))
