"""The service behind the pages in these tests: the real store, and requests written as the service writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import col, select

from alerts.charts import render
from tracker.clock import new_public_id
from tracker.errors import UserError
from tracker.settings import Settings
from tracker.store.engine import Store
from tracker.store.runs import find_run, request_cancel
from tracker.store.tables import AlertRow, RunRow, TriageRow
from tracker.web.service import ChartFormat

TOKEN = "trk_0123456789abcdef"


@dataclass(frozen=True)
class FixedClock:
    """Always the same moment."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


@dataclass
class Desk:
    """A `WebService` over a store."""

    store: Store
    settings: Settings
    clock: FixedClock
    demo: bool = False
    running: bool = True
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def daemon_state(self) -> Mapping[str, Any]:
        return {"running": self.running, "demo": self.demo}

    def verify_token(self, token: str) -> str | None:
        return "ci" if token == TOKEN else None

    def render_chart(self, spec: Mapping[str, Any], format: ChartFormat) -> bytes:
        return render(dict(spec), format)

    def summarize(self, component: str, release: str, against: str | None) -> Sequence[Mapping[str, Any]]:
        from alerts.grouping import ReleaseName
        from alerts.summary import build_summary
        from alerts.summary_formats import to_dict

        other = ReleaseName(identity=against, display=against) if against else None
        return [to_dict(build_summary(component, ReleaseName(identity=release, display=release), other, ()))]

    def rerun(self, run_id: str, who: str) -> list[str]:
        self.asked.append(("rerun", run_id, who))
        with self.store.write() as session:
            old = session.exec(select(RunRow).where(RunRow.public_id == run_id)).one()
            name = new_public_id()
            session.add(
                RunRow(
                    public_id=name,
                    key=f"request:{name}",
                    build_id=old.build_id,
                    config_id=old.config_id,
                    suite_revision_id=old.suite_revision_id,
                    hardware_class_id=old.hardware_class_id,
                    repeat=old.repeat,
                    priority=100,
                    requested_by=who,
                    created_at=self.clock.now(),
                )
            )
        return [name]

    def rerun_series(self, series: str, release: str, who: str) -> list[str]:
        self.asked.append(("rerun_series", series, release, who))
        with self.store.read() as session:
            run = session.exec(select(RunRow).order_by(col(RunRow.id).desc())).first()
        assert run is not None
        return self.rerun(run.public_id, who)

    def trigger(self, suite: str, release: str, who: str) -> list[str]:
        self.asked.append(("trigger", suite, release, who))
        if suite != "onnxruntime":
            raise UserError(f"there is no suite {suite!r}; known: onnxruntime")
        return [new_public_id()]

    def cancel(self, run_id: str, who: str) -> None:
        self.asked.append(("cancel", run_id, who))
        with self.store.write() as session:
            request_cancel(session, find_run(session, run_id), who=who, now=self.clock.now())

    def triage(self, alert_id: str, state: str, who: str, note: str) -> None:
        self.asked.append(("triage", alert_id, state, who, note))
        with self.store.write() as session:
            alert = session.exec(select(AlertRow).where(AlertRow.public_id == alert_id)).one()
            alert.state = state
            session.add(alert)
            session.add(TriageRow(alert_id=alert.id or 0, state=state, who=who, note=note, at=self.clock.now()))
