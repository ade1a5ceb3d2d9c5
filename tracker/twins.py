"""Engines that are in the settings twice: two slots on one machine would disturb one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from jobs.errors import JobsError, TryLater

THIS_MACHINE = ""


@dataclass(slots=True, kw_only=True)
class Twins:
    """What the engines of the hosts call themselves, kept in memory, in the order of the settings."""

    ask: Callable[[str], str]
    """Takes a host; returns what its engine calls itself, empty where it does not say."""
    names: Sequence[str]
    """The hosts in the order of the settings, this machine (`THIS_MACHINE`) first where its engine is used."""
    _known: dict[str, str] = field(default_factory=dict)
    _asked: bool = False
    _lock: Lock = field(default_factory=Lock)

    def check(self, name: str) -> None:
        """Return where no host before it in the settings has the same engine, else raise TryLater."""
        with self._lock:
            if not self._asked:
                self._known.update(self._ask_all())
                self._asked = True
        if own := self.ask(name):
            self._known[name] = own
        before = self.names[: self.names.index(name)]
        twin = next((one for one in before if own and self._known.get(one) == own), None)
        if twin is not None:
            other = "docker.engine, which is this machine" if twin == THIS_MACHINE else twin
            raise TryLater(f"{name} is the same engine as {other}: remove one of them from [[docker.hosts]]")

    def _ask_all(self) -> Mapping[str, str]:
        """Ask all at once, so that none that is silent holds up the others."""
        with ThreadPoolExecutor(max_workers=len(self.names), thread_name_prefix="name") as pool:
            return dict(zip(self.names, pool.map(self._try, self.names), strict=True))

    def _try(self, name: str) -> str:
        try:
            return self.ask(name)
        except (JobsError, OSError):
            return ""
