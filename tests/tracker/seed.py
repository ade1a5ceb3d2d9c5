"""A store as it looks after some days of work: releases of onnxruntime with a slow stretch from 1.27 to 1.29.

1.31.0 failed to install, 1.25.1 was withdrawn, 1.24.0 does not run here, 1.32.0 is being measured; values are
drawn from a fixed seed.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import Session, SQLModel

from jobs.fingerprint import canonical_labels, config_fingerprint, fingerprint
from tracker.store.engine import Store, open_store
from tracker.store.tables import (
    AlertChangeRow,
    AlertRow,
    AttemptRow,
    BuildRow,
    ChangePointRow,
    ComponentRow,
    ConfigRow,
    CursorRow,
    DeliveryRow,
    EnvironmentRow,
    HardwareClassRow,
    HostRow,
    MeasurementRow,
    OutputRow,
    QuarantineRow,
    ReleaseRow,
    RunRow,
    SeriesRow,
    SuiteRevisionRow,
    SummaryRow,
    TriageRow,
    VerdictRow,
)

NOW = datetime(2026, 12, 1, 17, 0, tzinfo=UTC)
VERSIONS = (
    "1.24.0", "1.24.4", "1.25.0", "1.25.1", "1.26.0", "1.27.0", "1.28.0", "1.29.0", "1.30.0", "1.31.0", "1.32.0",
)  # fmt: skip
WITHDRAWN, MISFIT, FAILED, UNDERWAY = "1.25.1", "1.24.0", "1.31.0", "1.32.0"
SLOW = ("1.27.0", "1.28.0", "1.29.0")
ENVIRONMENT = {
    "cpu": "Intel(R) Xeon(R) Platinum 8488C",
    "cores": 2,
    "kernel": "6.18.5",
    "python": "3.11.7",
    "numpy": "1.26.4",
    "pinned_cores": "1",
}


@dataclass(kw_only=True)
class Seeded:
    """What was put into the store, by what tests ask for."""

    component: str
    series: list[str] = field(default_factory=list)
    """Fingerprints, the gated ones first."""
    runs: dict[str, list[str]] = field(default_factory=dict)
    """Release -> public ids of its runs."""
    alerts: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Shape:
    """How much to put in."""

    versions: tuple[str, ...] = VERSIONS
    repeats: int = 5
    scenarios: int = 3
    component: str = "onnxruntime"
    model: str = "tiny-transformer"
    headline: str = "onnxruntime 1.27.0 is slower on xeon-8488c-2c: 2 of 3 series, worst +15.2 % latency_p50_ms"


def public_id(kind: str, number: int) -> str:
    """Return an id that looks like the real ones and is always the same."""
    digits = hashlib.sha256(f"{kind}{number}".encode()).hexdigest()
    return f"019ad{digits[:3]}-{digits[3:7]}-7{digits[7:10]}-8{digits[10:13]}-{digits[13:25]}"


def seed(store: Store, home: Path, shape: Shape | None = None) -> Seeded:
    """Fill the store and return what is in it."""
    with store.write() as session:
        return _Seeder(session, home, shape or Shape()).fill()


def copy_store(template: Path, folder: Path) -> Store:
    """Return the store that is a copy of the one in `template`, with all the files that lie beside it."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return open_store(f"sqlite:///{folder / 'tracker.db'}")


def make_template(folder: Path, *, empty: bool = False) -> Seeded | None:
    """Make a store that tests copy, which is quicker than making it again."""
    store = open_store(f"sqlite:///{folder / 'tracker.db'}")
    seeded = None if empty else seed(store, folder)
    store.close()
    return seeded


class _Seeder:
    def __init__(self, session: Session, home: Path, shape: Shape) -> None:
        self.session, self.home, self.shape = session, home, shape
        self.random = random.Random(7)
        self.seeded = Seeded(component=shape.component)
        self.releases: dict[str, int] = {}
        self.builds: dict[str, int] = {}

    def fill(self) -> Seeded:
        self._add_places()
        self._add_releases()
        self._add_series()
        for version in self.shape.versions:
            self._add_runs(version)
        self._add_findings()
        self._add_sources()
        return self.seeded

    def add(self, row: SQLModel) -> Any:
        """Return the id of the row, which is in the store then."""
        self.session.add(row)
        self.session.flush()
        return getattr(row, "id", None)

    def _add_places(self) -> None:
        """Add where things are measured; a second component is measured in the same places."""
        if self.session.get(HardwareClassRow, 1) is not None:
            self.hardware, self.host, self.environment = 1, 1, 1
            return
        self.hardware = self.add(
            HardwareClassRow(
                fingerprint="hw01", slug="xeon-8488c-2c", labels='{"cpu":"Intel Xeon Platinum 8488C","cores":2}'
            )
        )
        self.host = self.add(HostRow(slug="bench-1", hardware_class_id=self.hardware, seen_at=NOW))
        self.environment = self.add(EnvironmentRow(fingerprint="env01", facts=json.dumps(ENVIRONMENT)))

    def _add_releases(self) -> None:
        self.component = self.add(ComponentRow(slug=self.shape.component))
        self.suite = self.add(
            SuiteRevisionRow(
                content_hash=f"suite-{self.shape.component}",
                name=self.shape.component,
                component_id=self.component,
                title="A small transformer on the CPU",
                file=f"{self.shape.component}.toml",
                text="",
                created_at=NOW,
            )
        )
        for place, version in enumerate(self.shape.versions):
            published = NOW - timedelta(days=30 * (len(self.shape.versions) - place))
            self.releases[version] = self.add(
                ReleaseRow(
                    component_id=self.component,
                    identity=version,
                    display=version,
                    version=version,
                    track="stable",
                    sort_key=f"{place:06d}",
                    sort_rule=1,
                    published_at=published,
                    first_seen_at=NOW,
                    historic=place < len(self.shape.versions) - 1,
                )
            )
            self.builds[version] = self.add(self._make_build(version, published))

    def _make_build(self, version: str, published: datetime) -> BuildRow:
        return BuildRow(
            release_id=self.releases[version],
            kind="wheel",
            digest="sha256:" + hashlib.sha256(version.encode()).hexdigest(),
            platform="cp311-cp311-manylinux_2_28_x86_64",
            tag=version,
            location=f"{self.shape.component}-{version}-cp311-cp311-manylinux_2_28_x86_64.whl",
            published_at=published,
            size_bytes=18_400_000,
            yanked="wrong symbols in the wheel" if version == WITHDRAWN else None,
            misfit="no wheel for Python 3.11 on this platform" if version == MISFIT else None,
            first_seen_at=NOW,
        )

    def _add_series(self) -> None:
        base = {"tool": "onnxruntime_bench", "model": self.shape.model, "precision": "fp32", "threads": 1}
        self.config = self.add(_make_config(base))
        self.series: list[tuple[int, str, float, float]] = []
        for number in range(self.shape.scenarios):
            scenario = ("prefill", "prefill", "decode")[number % 3]
            labels = {**base, "scenario": scenario, "isl": (128, 512, 1)[number % 3], "batch": 1 + number // 3}
            config = self.add(_make_config(labels))
            level = (5.5, 28.4, 1.92)[number % 3] * (1 + number // 3)
            slow = (1.152, 1.118, 1.004)[number % 3]
            self._add_metric(config, labels, "latency_p50_ms", "ms", "lower", True, level, slow)
            self._add_metric(config, labels, "prompt_tok_s", "tok/s", "higher", False, 128_000 / level, 1 / slow)

    def _add_metric(
        self,
        config: int,
        labels: dict[str, Any],
        metric: str,
        unit: str,
        direction: str,
        gated: bool,
        level: float,
        slow: float,
    ) -> None:
        name = fingerprint("series", f"{self.shape.component}{canonical_labels(labels)}{metric}")
        series_id = self.add(
            SeriesRow(
                fingerprint=name,
                component_id=self.component,
                config_id=config,
                hardware_class_id=self.hardware,
                suite=self.shape.component,
                metric=metric,
                unit=unit,
                direction=direction,
                gated=gated,
                min_effect=0.05,
                revision=9,
                analyzed_revision=9,
            )
        )
        self.series.append((series_id, name, level, slow))
        self.seeded.series.append(name)

    def _add_runs(self, version: str) -> None:
        if version in (WITHDRAWN, MISFIT):
            return
        self.seeded.runs[version] = []
        for repeat in range(1, self.shape.repeats + 1):
            state = "failed" if version == FAILED else "done"
            if version == UNDERWAY and repeat > 2:
                state = "running" if repeat == 3 else "queued"
            self._add_run(version, repeat, state)

    def _add_run(self, version: str, repeat: int, state: str) -> None:
        name = public_id(f"run-{version}", repeat)
        at = NOW - timedelta(hours=len(self.releases) - list(self.releases).index(version), minutes=-repeat)
        reason = "could not be installed: no matching distribution for numpy==1.26.4" if state == "failed" else ""
        run = RunRow(
            public_id=name,
            key=f"{version}/{repeat}",
            build_id=self.builds[version],
            config_id=self.config,
            suite_revision_id=self.suite,
            hardware_class_id=self.hardware,
            repeat=repeat,
            priority=10,
            state=state,
            reason=reason,
            host_id=None if state == "queued" else self.host,
            slot=0 if state == "running" else None,
            created_at=at,
            finished_at=at + timedelta(seconds=40) if state in ("done", "failed") else None,
        )
        run_id = self.add(run)
        self.seeded.runs[version].append(name)
        if state != "queued":
            self._add_attempt(run_id, version, state, at)
        if state == "done":
            self._add_values(run_id, version)

    def _add_attempt(self, run_id: int, version: str, state: str, at: datetime) -> None:
        attempt = AttemptRow(
            run_id=run_id,
            number=1,
            key=f"run-{run_id}-1",
            fence=1,
            host_id=self.host,
            environment_id=self.environment if state == "done" else None,
            outcome={"done": "ok", "failed": "tool_failed"}.get(state),
            detail="exit code 1: no matching distribution for numpy==1.26.4" if state == "failed" else "",
            exit_code={"done": 0, "failed": 1}.get(state),
            created_at=at,
            started_at=at,
            ended_at=None if state == "running" else at + timedelta(seconds=8.4),
        )
        attempt_id = self.add(attempt)
        folder = self.home / "attempts" / attempt.key
        folder.mkdir(parents=True, exist_ok=True)
        log = f"installing onnxruntime {version}\nwarm-up done\nprefill 128: <5.6 ms>\n".encode()
        (folder / "run.log").write_bytes(log)
        if state == "running":
            return
        self.add(
            OutputRow(
                attempt_id=attempt_id,
                kind="log",
                name="run.log",
                path=f"attempts/{attempt.key}/run.log",
                size_bytes=len(log),
                sha256=hashlib.sha256(log).hexdigest(),
            )
        )
        if state == "done" and run_id % 17 == 0:
            self.add(
                QuarantineRow(attempt_id=attempt_id, key="decode.p99", raw="nan", reason="expected a finite number")
            )

    def _add_values(self, run_id: int, version: str) -> None:
        for series_id, _, level, slow in self.series:
            value = level * (slow if version in SLOW else 1.0) * self.random.gauss(1, 0.012)
            self.session.add(
                MeasurementRow(
                    series_id=series_id,
                    run_id=run_id,
                    release_id=self.releases[version],
                    host_id=self.host,
                    environment_id=self.environment,
                    value=value,
                    samples=200,
                    spread=value * 0.02,
                    measured_at=NOW,
                )
            )

    def _add_findings(self) -> None:
        if not set(SLOW) <= set(self.releases):
            return
        slower = [self._add_change(number, "1.27.0") for number in range(min(4, len(self.series)))]
        faster = [self._add_change(number, "1.30.0") for number in range(min(4, len(self.series)))]
        self._add_alert("1.27.0", "regressed", slower, self.shape.headline, "acknowledged")
        headline = "onnxruntime 1.30.0 is faster on xeon-8488c-2c: 2 of 3 series, best -13.1 % latency_p50_ms"
        self._add_alert("1.30.0", "improved", faster, headline, "new")
        for before, after in zip(("1.26.0", "1.29.0"), ("1.27.0", "1.30.0"), strict=True):
            self._add_summary(after, before)

    def _add_sources(self) -> None:
        self.session.add(
            CursorRow(
                source=f"package_index:{self.shape.component}",
                cursor="serial-1",
                asked_at=NOW - timedelta(minutes=12),
                answered_at=NOW - timedelta(minutes=12),
            )
        )

    def _add_change(self, number: int, version: str) -> int:
        series_id, name, level, slow = self.series[number]
        rises = (slow > 1) == (version == "1.27.0")
        before, after = (level, level * slow) if version == "1.27.0" else (level * slow, level)
        worse = version == "1.27.0"
        effect = after / before - 1
        facts = {
            "series_id": series_id,
            "release_id": self.releases[version],
            "verdict": "regressed" if worse else "improved",
            "effect_ratio": effect,
            "effect_low": effect - 0.012,
            "effect_high": effect + 0.012,
            "p": 0.0004,
            "q": 0.0011,
            "reason": f"5 repeats at {version} against the 5 before; the intervals do not overlap",
        }
        self.session.add(
            VerdictRow(
                **facts,
                reference_kind="previous",
                reference_release_id=self.releases["1.26.0" if worse else "1.29.0"],
                policy="v1",
                computed_at=NOW,
            )
        )
        change = ChangePointRow(
            **facts,
            public_id=public_id(f"change-{version}-{name}", number),
            possible_from_id=self.releases[version],
            possible_to_id=self.releases[version],
            direction="up" if rises else "down",
            kind="step",
            confirmed=True,
            before=before,
            after=after,
            noise_ratio=0.012,
            confidence=0.9989,
            detector="1",
            first_seen_at=NOW,
            changed_at=NOW,
        )
        change_id: int = self.add(change)
        return change_id

    def _add_alert(self, version: str, direction: str, changes: list[int], headline: str, state: str) -> None:
        name = public_id(f"alert-{version}", 1)
        alert = self.add(
            AlertRow(
                public_id=name,
                rule="default",
                component_id=self.component,
                release_id=self.releases[version],
                hardware_class_id=self.hardware,
                direction=direction,
                state=state,
                headline=headline,
                content='{"sinks": ["console"]}',
                created_at=NOW - timedelta(hours=5),
                changed_at=NOW,
            )
        )
        self.seeded.alerts.append(name)
        for change in changes:
            self.session.add(AlertChangeRow(alert_id=alert, change_point_id=change))
        if state != "new":
            self.session.add(
                TriageRow(alert_id=alert, state=state, who="mira", note="bisecting", at=NOW - timedelta(hours=2))
            )
        self.session.add(
            DeliveryRow(
                public_id=public_id(f"delivery-{version}", 1),
                subject=f"alert:{alert}",
                sink="console",
                target="stdout",
                kind="alert",
                revision=1,
                state="sent",
                attempts=1,
                not_before=NOW,
                created_at=NOW,
                sent_at=NOW,
            )
        )

    def _add_summary(self, version: str, before: str) -> None:
        content = make_summary(self, version, before)
        self.session.add(
            SummaryRow(
                release_id=self.releases[version],
                against_id=self.releases[before],
                hardware_class_id=self.hardware,
                revision=1,
                content=json.dumps(content),
                created_at=NOW,
            )
        )


def _make_config(labels: dict[str, Any]) -> ConfigRow:
    return ConfigRow(fingerprint=config_fingerprint(labels), labels=canonical_labels(labels))


def make_summary(seeder: _Seeder, version: str, before: str) -> dict[str, Any]:
    """Return what the service stores for a release against another, built by the real summary."""
    from alerts.grouping import ReleaseName
    from alerts.summary import RowVerdict, SummaryRow, build_summary
    from alerts.summary_formats import to_dict
    from alerts.wording import Direction

    rows = []
    for number, (_, name, level, slow) in enumerate(seeder.series):
        lower = number % 2 == 0
        start, end = (level * slow if one in SLOW else level for one in (before, version))
        effect = end / start - 1
        changed = abs(effect) > 0.01
        worse = (effect > 0) == lower
        rows.append(
            SummaryRow(
                series_id=name,
                series_name=("prefill, isl 128", "prefill, isl 512", "decode, isl 1")[number // 2 % 3],
                suite=seeder.shape.component,
                hardware_class="xeon-8488c-2c",
                metric="latency_p50_ms" if lower else "prompt_tok_s",
                unit="ms" if lower else "tok/s",
                direction=Direction.LOWER if lower else Direction.HIGHER,
                verdict=(RowVerdict.REGRESSED if worse else RowVerdict.IMPROVED) if changed else RowVerdict.SAME,
                gated=lower,
                before=start,
                after=end,
                effect_ratio=effect,
                effect_low=effect - 0.012,
                effect_high=effect + 0.012,
                reason="the intervals do not overlap" if changed else "smaller than 5 %",
            )
        )
    names = (ReleaseName(identity=version, display=version), ReleaseName(identity=before, display=before))
    return to_dict(build_summary(seeder.shape.component, *names, rows, measured_from=NOW, measured_to=NOW))
