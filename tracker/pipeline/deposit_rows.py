"""What handed-in results become: the release, build, host and hardware they belong to, and the rows of each result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from jobs.environment import hardware_fingerprint
from jobs.fingerprint import canonical_labels, fingerprint
from jobs.labels import IDENTITY_LABELS
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult, Reading
from jobs.metrics import Kind, Metric, find_metric
from jobs.protocols import PublishedBuild
from jobs.releases import read_tag
from tracker.pipeline.aside import facts_of, values_aside
from tracker.store import catalog, hosts, runs
from tracker.store.deposits import DepositedRun, DepositedValue, NamedSeries, Where
from tracker.store.engine import Session
from tracker.store.series import SeriesIdentity

UNKNOWN = "unknown"
"""Host or hardware that nobody named."""
MIN_EFFECT = 0.02
"""Changes below this are not told of, where no suite says otherwise."""
GATED_KINDS = frozenset({Kind.THROUGHPUT, Kind.LATENCY, Kind.QUALITY})
"""Power and memory are judged beside throughput, never alone; counts are not judged."""
NOTHING_TO_RUN = "its results are handed in; there is nothing to run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What whoever hands results in says of all of them."""

    component: str
    release: str
    image: str | None = None
    """`sha256:<hex>` of the container image, where there was one."""
    host: str | None = None
    labels: Mapping[str, Label] = field(default_factory=dict)
    measured_at: datetime | None = None
    history: bool = False
    """Old results: changes among releases that were not known before are sent to nobody, the newest aside."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """Where handed-in results are entered, in one transaction: what is the same for all is looked up once."""

    component: str
    component_id: int
    release: str
    version: str | None
    variant: str
    build: str
    where: Where
    host: str
    given: Mapping[str, Label]
    now: datetime
    of_host: tuple[int, str] | None
    """Id and fingerprint of the hardware that the host is known to have."""
    _hardware: dict[str, tuple[int, str]] = field(default_factory=dict)
    _named: dict[tuple[int, int, str], NamedSeries] = field(default_factory=dict)
    _configs: dict[str, int] = field(default_factory=dict)
    _suites: dict[str, int] = field(default_factory=dict)

    def file_key(self, name: str, result: ParseResult) -> str:
        """Return what identifies a file: other content under it is another version of the same result."""
        date = self.where.measured_at.isoformat() if self.where.measured_at else _date_of(result)
        parts = (self.component, self.release, self.build, self.host, name, date)
        return runs.HANDED_IN + fingerprint("deposit", "\0".join(parts))

    def problem(self, result: ParseResult) -> str | None:
        """Return why a result cannot belong here: it states a label otherwise than whoever hands it in."""
        for run in result.runs:
            stated = {**run.facts, **run.labels}
            for name, value in self.given.items():
                if name in stated and stated[name] != value:
                    return f"label {name}: the file says {stated[name]!r}, --label says {value!r}"
        return None

    def runs_of(self, session: Session, key: str, result: ParseResult, output: Mapping[str, Any]) -> list[DepositedRun]:
        """Return one run for each result in a file; one without values where there is none."""
        runs = result.runs or (ParsedRun(labels={}, metrics={}),)
        return [self._run(session, f"{key}-{place}", place, result, run, output) for place, run in enumerate(runs)]

    def _run(
        self,
        session: Session,
        key: str,
        place: int,
        result: ParseResult,
        run: ParsedRun,
        output: Mapping[str, Any],
    ) -> DepositedRun:
        given = {name: value for name, value in self.given.items() if name in IDENTITY_LABELS}
        labels: dict[str, Label] = {"tool": result.tool, **given, **run.labels}
        hardware_id, hardware = self._hardware_of(session, {**self.given, **run.facts, **run.labels})
        tool = str(labels["tool"])
        config_id = self._config(session, labels)
        failed = result.outcome in (ParseOutcome.FAILED, ParseOutcome.INVALID)
        barred = result.reason if failed else run.barred
        values = [
            DepositedValue(
                series=self._series(metric, labels, config_id, hardware_id, hardware, tool),
                value=reading.value,
                samples=_samples_behind(metric, reading, run),
                spread=reading.spread,
            )
            for metric, reading in _judged(run)
            if barred is None
        ]
        reason = f"{result.outcome.value}: {result.reason}" if result.outcome is not ParseOutcome.OK else ""
        if not values and not reason:
            reason = f"no valid value: {barred or 'none that may enter a series'}"
        flags = [*run.flags, *(["version_differs"] if self._version_differs(result) else [])]
        return DepositedRun(
            key=key,
            config_id=config_id,
            suite_revision_id=self._suite(session, tool),
            hardware_class_id=hardware_id,
            repeat=place + 1,
            state="done" if values else "failed",
            reason=reason,
            flags=",".join(sorted(flags)),
            facts=facts_of(replace(result, runs=(run,))),
            output=dict(output),
            values=tuple(values),
            set_aside=tuple(values_aside(run, labels, barred)),
            unnamed=not {"model", "name", "scenario"} & labels.keys(),
        )

    def _version_differs(self, result: ParseResult) -> bool:
        stated, known = result.version, self.version
        if not stated or not known or any("version_unreliable" in run.flags for run in result.runs):
            return False
        return read_tag(stated, self.component).version not in (None, known)

    def _series(
        self, metric: Metric, labels: Mapping[str, Label], config_id: int, hardware_id: int, hardware: str, tool: str
    ) -> NamedSeries:
        """Return the series of a metric and config with its name, worked out once."""
        place = (config_id, hardware_id, metric.name)
        if place not in self._named:
            identity = self._identity(metric, labels, config_id, hardware_id, hardware, tool)
            self._named[place] = NamedSeries(identity=identity, name=identity.fingerprint)
        return self._named[place]

    def _identity(
        self, metric: Metric, labels: Mapping[str, Label], config_id: int, hardware_id: int, hardware: str, tool: str
    ) -> SeriesIdentity:
        gated = metric.kind in GATED_KINDS
        return SeriesIdentity(
            component_id=self.component_id,
            component=self.component,
            config_id=config_id,
            config_labels=labels,
            hardware_class_id=hardware_id,
            hardware_fingerprint=hardware,
            variant=self.variant,
            suite=suite_name(tool),
            metric=metric.name,
            unit=metric.unit,
            direction=metric.direction.value,
            gated=gated,
            min_effect=MIN_EFFECT if gated else 0.0,
        )

    def _hardware_of(self, session: Session, stated: Mapping[str, Label]) -> tuple[int, str]:
        """Return the id and fingerprint of the hardware that a result states, of the host's, or of none known."""
        gpu, count = stated.get("gpu"), stated.get("gpu_count")
        if gpu is None and self.of_host is not None:
            return self.of_host
        labels: dict[str, Label] = {"hardware": UNKNOWN} if gpu is None else {"gpu": str(gpu)}
        if gpu is not None and count is not None:
            labels["gpu_count"] = count
        name = hardware_fingerprint(labels)
        if name not in self._hardware:
            slug = "unknown hardware" if gpu is None else f"{count}x {gpu}" if count is not None else str(gpu)
            row_id = hosts.save_hardware_class(session, fingerprint=name, slug=slug, labels=canonical_labels(labels))
            self._hardware[name] = (row_id, name)
        return self._hardware[name]

    def _config(self, session: Session, labels: dict[str, Label]) -> int:
        text = canonical_labels(labels)
        if text not in self._configs:
            self._configs[text] = catalog.save_configs(session, [labels])[0]
        return self._configs[text]

    def _suite(self, session: Session, tool: str) -> int:
        if tool not in self._suites:
            self._suites[tool] = catalog.save_suite_revision(
                session,
                name=suite_name(tool),
                title=f"{tool} results that were handed in",
                component=self.component_id,
                content_hash=fingerprint("deposit", f"{self.component}\0{tool}"),
                file="",
                text="",
                now=self.now,
            )
        return self._suites[tool]


def suite_name(tool: str) -> str:
    """Return the name under which results of a tool stand that no suite of the service measured."""
    return f"ingested-{tool}"


def open_desk(session: Session, origin: Origin, *, now: datetime) -> Desk:
    """Return where an origin's results are entered; its component, release, build and host are made on first sight."""
    component_id = catalog.component_id(session, origin.component)
    tag = read_tag(origin.release, origin.component)
    release, _ = catalog.save_release(session, component_id, tag, now=now, historic=origin.history)
    digest = origin.image or f"unknown:{tag.identity}"
    build, _ = catalog.save_build(
        session,
        release,
        PublishedBuild(
            tag=origin.release,
            kind="image" if origin.image else "results",
            digest=digest,
            platform="",
            location=origin.image or "",
            misfit=NOTHING_TO_RUN,
        ),
        "-".join(tag.variant),
        now=now,
    )
    host = origin.host or UNKNOWN
    unknown = {"hardware": UNKNOWN}
    hardware_id = hosts.save_hardware_class(
        session, fingerprint=hardware_fingerprint(unknown), slug="unknown hardware", labels=canonical_labels(unknown)
    )
    host_id = hosts.first_seen_host(session, slug=host, hardware_class_id=hardware_id, now=now)
    where = Where(build_id=build.id or 0, release_id=release.id or 0, host_id=host_id, measured_at=origin.measured_at)
    return Desk(
        component=origin.component,
        component_id=component_id,
        release=release.identity,
        version=release.version,
        variant=build.variant,
        build=digest,
        where=where,
        host=host,
        given=origin.labels,
        now=now,
        of_host=hosts.hardware_of_host(session, host),
    )


def _date_of(result: ParseResult) -> str:
    return str(next((run.facts["date"] for run in result.runs if "date" in run.facts), ""))


def _judged(run: ParsedRun) -> Iterator[tuple[Metric, Reading]]:
    return ((find_metric(name), reading) for name, reading in run.metrics.items())


def _samples_behind(metric: Metric, reading: Reading, run: ParsedRun) -> int | None:
    """Return how many requests stand behind a value: what the tool says of it, else the requests that finished."""
    finished = run.metrics.get("requests_ok")
    if reading.samples is not None or finished is None or metric.kind is Kind.COUNT:
        return reading.samples
    return int(finished.value)
