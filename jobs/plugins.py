"""Finding plugins by name: one module per plugin, imported only when named; outside ones come by entry points."""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from jobs.errors import UnknownPlugin

FAMILIES = {"source": "jobs.sources", "executor": "jobs.executors", "parser": "jobs.parsers"}


@lru_cache(maxsize=16)
def known_plugins(package: str, group: str) -> dict[str, str]:
    """Return plugin name -> where it comes from, for a package of one-file plugins and an entry point group.

    Asked once per process: reading the installed packages' metadata takes about 60 ms.
    """
    parent = importlib.import_module(package)
    own = {m.name: f"{package}.{m.name}" for m in pkgutil.iter_modules(parent.__path__) if not m.name.startswith("_")}
    outside = {e.name: e.value for e in entry_points(group=group)}
    return {**outside, **own}


def load_plugin(package: str, group: str, name: str) -> Any:
    """Return the plugin's module (or the object of its entry point); raise UnknownPlugin with the known names."""
    known = known_plugins(package, group)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownPlugin(f"no {group.rsplit('.', 1)[-1]} named {name!r}; known: {', '.join(sorted(known))}.{hint}")
    try:
        module: ModuleType = importlib.import_module(known[name].partition(":")[0])
    except ImportError as error:
        raise UnknownPlugin(f"{group.rsplit('.', 1)[-1]} {name!r} cannot be imported: {error}") from error
    attribute = known[name].partition(":")[2]
    return getattr(module, attribute) if attribute else module


def load(family: str, name: str) -> Any:
    """Return the plugin `name` of a family of this package: `source`, `executor` or `parser`."""
    return load_plugin(FAMILIES[family], f"tracker.{family}", name)
