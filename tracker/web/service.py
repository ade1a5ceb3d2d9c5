"""What the pages need of the service; `tracker.app` provides it, tests provide their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from tracker.clock import Clock
from tracker.settings import Settings
from tracker.store.engine import Store

ChartFormat = Literal["png", "svg"]


class WebService(Protocol):
    """The doors of the service that pages and API use. Raises UserError, TryLater; names are public ids.

    `who` is the name of an API token, or `page` for somebody at this machine.
    """

    @property
    def store(self) -> Store: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def clock(self) -> Clock: ...

    def daemon_state(self) -> Mapping[str, Any]:
        """Return `running` (a daemon works on this store), `demo` (the results are recorded ones) and `disk_full`."""
        ...

    def verify_token(self, token: str) -> str | None:
        """Return the name of a token that is valid; None for any other text."""
        ...

    def render_chart(self, spec: Mapping[str, Any], format: ChartFormat) -> bytes: ...

    def summarize(self, component: str, release: str, against: str | None) -> Sequence[Mapping[str, Any]]:
        """Return summaries made now, one a hardware class, as `alerts.summary_formats.to_dict` gives them."""
        ...

    def rerun(self, run_id: str, who: str) -> list[str]:
        """Return the ids of the runs that were queued to repeat a run."""
        ...

    def rerun_series(self, series: str, release: str, who: str) -> list[str]:
        """Return the ids of the runs that were queued to repeat what a series has of a release."""
        ...

    def trigger(self, suite: str, release: str, who: str) -> list[str]:
        """Return the ids of the runs that were queued to measure a release with a suite."""
        ...

    def ingest(self, upload: Path, said: Mapping[str, Any], who: str) -> Sequence[Mapping[str, Any]]:
        """Keep the results in an uploaded file; return what became of each, as `tracker ingest --json` shows it."""
        ...

    def cancel(self, run_id: str, who: str) -> None: ...

    def exclude(self, series: str, release: str, who: str, why: str) -> None:
        """Have a release of a series judged no more, for the reason given."""
        ...

    def include(self, series: str, release: str, who: str) -> None: ...
    def set_host_state(self, name: str, state: str, who: str, why: str) -> None: ...
    def triage(self, alert_id: str, state: str, who: str, note: str) -> None: ...
