"""A whole service whose outside is scripted at its ports: source, executor, sinks, clock. All of ours is real."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from sqlmodel import select

from alerts.errors import AlertsError
from alerts.protocol import Outgoing, Receipt, Sink
from jobs.content import Content
from jobs.environment import Machine
from jobs.executors.docker_engine import forsake
from jobs.intake import Arrival
from jobs.protocols import JobOutcome, JobOutput, JobSpec, JobState, JobStatus, PublishedBuild, SourceAnswer
from jobs.release_notes.note import NotesAnswer, ReleaseNote
from tracker.pipeline.analyze import analyze
from tracker.pipeline.context import Context, Place, place_of
from tracker.pipeline.deliver import deliver
from tracker.pipeline.deposit import Deposited, deposit
from tracker.pipeline.deposit_rows import Origin
from tracker.pipeline.execute import advance
from tracker.pipeline.ingest import ingest
from tracker.pipeline.notify import notify
from tracker.pipeline.plan import plan
from tracker.pipeline.statistics import OwnStatistics
from tracker.pipeline.summarize import summarize
from tracker.pipeline.watch import watch
from tracker.settings import Settings
from tracker.store import hosts
from tracker.store.engine import Store
from tracker.store.tables import (
    AlertRow,
    ChangePointRow,
    DeliveryRow,
    MeasurementRow,
    QuarantineRow,
    ReleaseRow,
    RunRow,
    SeriesRow,
    SummaryRow,
    VerdictRow,
)

FAST, SLOW = 10.0, 12.5
"""Milliseconds: a quarter more is slower beyond doubt."""
OLD = ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0")
START = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
REPEATS = 5
SUITE = """
name = "thing"
title = "A thing"
component = "thing"
[source]
kind = "folder"
path = "/nowhere"
[releases]
first = ["newest"]
[matrix]
model = ["m"]
[run]
executor = "local"
program = "bench.py"
arguments = ["{version}"]
repeats = 5
timeout_s = 30
[output]
tool = "bench"
parser = "generic"
[[expect]]
labels = { scenario = "prefill" }
metrics = ["latency_p50_ms", "accuracy"]
[[expect]]
labels = { scenario = "decode" }
metrics = ["latency_p50_ms"]
[[gate]]
metrics = ["latency_p50_ms"]
min_effect_ratio = 0.05
[quality]
metric = "accuracy"
minimum = 0.9
"""


@dataclass
class Clock:
    """The time, moved by hand."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Source:
    """Lists what tests publish; raises `trouble` instead when there is one."""

    builds: list[PublishedBuild] = field(default_factory=list)
    unreadable: tuple[tuple[str, str], ...] = ()
    trouble: BaseException | None = None
    asked: int = 0

    def list_builds(self) -> SourceAnswer:
        self.asked += 1
        if self.trouble:
            raise self.trouble
        return SourceAnswer(builds=tuple(self.builds), cursor=repr(self.builds), unreadable=self.unreadable)


@dataclass(frozen=True)
class Play:
    """What becomes of one attempt. A result that is a text is written as it stands."""

    outcome: JobOutcome = JobOutcome.OK
    detail: str = ""
    result: Any = None
    environment: dict[str, Any] | None = None


@dataclass
class Executor:
    """Ends every attempt at its first poll as the script says; `held` keys go on running."""

    folder: Path
    script: Callable[[JobSpec, int], Play]
    started: dict[str, JobSpec] = field(default_factory=dict)
    plays: dict[str, Play] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    hold_all: bool = False
    refuse: Exception | None = None
    swept_but: frozenset[str] | None = None

    def start(self, job: JobSpec) -> None:
        if self.refuse:
            raise self.refuse
        if job.key not in self.started:
            self.started[job.key] = job
            self.plays[job.key] = self.script(job, int(job.environment["BENCHMARK_REPEAT"]))
            if self.hold_all:
                self.held.add(job.key)

    def poll(self, key: str) -> JobStatus:
        if key not in self.plays:
            return JobStatus(state=JobState.UNKNOWN)
        if key in self.held:
            return JobStatus(state=JobState.RUNNING, started_at=START)
        play = self.plays[key]
        return JobStatus(state=JobState.ENDED, outcome=play.outcome, detail=play.detail, started_at=START)

    def fetch(self, key: str) -> Sequence[JobOutput]:
        play, outputs = self.plays[key], []
        if play.result is not None:
            text = play.result if isinstance(play.result, str) else json.dumps(play.result)
            outputs.append(self._write(key, "result", "result.json", text))
        if play.environment is not None:
            outputs.append(self._write(key, "environment", "environment.json", json.dumps(play.environment)))
        return outputs

    def cancel(self, key: str) -> None:
        if key in self.held or key not in self.plays:
            self.held.discard(key)
            self.plays[key] = Play(outcome=JobOutcome.CANCELLED, detail="cancelled")

    def abandon(self, key: str) -> None:
        self.plays.setdefault(key, Play(outcome=JobOutcome.LOST, detail="abandoned"))

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        self.swept_but = alive
        return ()

    def _write(self, key: str, kind: str, name: str, text: str) -> JobOutput:
        path = self.folder / key / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return JobOutput(kind=kind, name=name, path=path, size_bytes=len(text), sha256=digest)


@dataclass
class Recorder:
    """A sink that keeps what it is given; raises `trouble` instead while there is one."""

    name: str
    sent: list[Outgoing] = field(default_factory=list)
    trouble: AlertsError | None = None

    def deliver(self, outgoing: Outgoing) -> Receipt:
        if self.trouble:
            raise self.trouble
        self.sent.append(outgoing)
        return Receipt(sink=self.name, target="here", reference=f"{self.name}-{len(self.sent)}")


def result(prefill_ms: float, decode_ms: float | None = None, *, accuracy: float = 1.0) -> dict[str, Any]:
    """Return a result file of the suite's tool."""
    metrics = {"latency_p50_ms": prefill_ms, "accuracy": accuracy}
    runs = [{"labels": {"scenario": "prefill"}, "metrics": metrics}]
    if decode_ms is not None:
        runs.append({"labels": {"scenario": "decode"}, "metrics": {"latency_p50_ms": decode_ms}})
    return {"tool": "bench", "runs": runs}


def spread(level: float, version: str, repeat: int) -> float:
    """Return a value within half a percent of the level, the same for ever."""
    digits = hashlib.sha256(f"{version} {repeat}".encode()).digest()
    return level * (1 + (digits[0] - 127.5) / 127.5 * 0.005)


class Publisher:
    """What is written about releases; `trouble` is raised instead where it is set."""

    def __init__(self) -> None:
        self.notes: list[ReleaseNote] = []
        self.is_whole = True
        self.trouble: Exception | None = None
        self.asked = 0

    def list_notes(self) -> NotesAnswer:
        self.asked += 1
        if self.trouble:
            raise self.trouble
        return NotesAnswer(notes=tuple(self.notes), is_whole=self.is_whole)


class Service:
    """One service folder with its steps. `levels` says what each version measures, `plays` what else may happen."""

    def __init__(self, home: Path, store: Store, settings: dict[str, Any] | None = None) -> None:
        self.home, self.store = home, store
        self.clock = Clock()
        self.source = Source()
        self.levels: dict[str, float] = {}
        self.plays: dict[str, list[Play]] = {}
        """Version -> what its attempts come to, in order; after that its level."""
        self.executor = Executor(folder=home / "attempts", script=self._play)
        self.executors: dict[str, Executor] = {}
        """Those of other hosts, by the host's name."""
        self.sights: dict[str, Machine | Exception | None] = {}
        """What a look at another host gives; None: its engine answers and nothing else."""
        self.publisher = Publisher()
        self.sinks: dict[str, Sink] = {"console": Recorder("console")}
        self.suites = home / "suites"
        (self.suites / "programs").mkdir(parents=True, exist_ok=True)
        (self.suites / "programs" / "bench.py").write_text("print('a benchmark')\n")
        self.write_suite(SUITE)
        self.settings = Settings(home=home, suites=["thing"], suite_folders=[self.suites], **(settings or {}))

    def write_suite(self, text: str) -> None:
        (self.suites / "thing.toml").write_text(text)

    @cached_property
    def context(self) -> Context:
        return Context(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            owner="here",
            statistics=OwnStatistics(),
            place=lambda: self.place,
            places=lambda: (self.place, *self._others()),
            find_suite=lambda name: self.suites / f"{name}.toml",
            open_source=lambda kind, options, component: self.source,
            open_release_notes=lambda entry: self.publisher,
            open_executor=self._open_executor,
            look_at=self._look_at,
            open_sink=self.sinks.get,
            sink_is_set_up=lambda name: name in self.sinks,
            render=lambda spec: b"\x89PNG chart",
        )

    @cached_property
    def place(self) -> Place:
        with self.store.write() as session:
            hardware = hosts.save_hardware_class(session, fingerprint="hw", slug="cpu-2", labels="{}")
            host = hosts.save_host(session, slug="here", hardware_class_id=hardware, now=self.clock.now())
        return Place(host_id=host, hardware_class_id=hardware, hardware_fingerprint="hw")

    def add_host(self, name: str, sight: Machine | Exception | None = None) -> None:
        """Have the service use the engine of another host, as it is seen."""
        self.executors[name] = Executor(folder=self.home / "attempts", script=self._play)
        self.sights[name] = sight
        with self.store.write() as session:
            unknown = partial(hosts.unknown_class, session, name)
            hosts.serve_host(
                session, slug=name, engine="x://", served_by="here", unknown_class=unknown, now=self.clock.now()
            )

    def _others(self) -> tuple[Place, ...]:
        with self.store.read() as session:
            served = hosts.served_hosts(session, served_by="here")
        tell = {name for name, sight in self.sights.items() if sight is not None}
        return tuple(place_of(one, tells=one.name in tell) for one in served if one.name in self.executors)

    def _open_executor(self, name: str, place: Place | None) -> Any:
        if place is None:
            return forsake(self.home / "attempts")
        return self.executor if place.is_here else self.executors[place.name]

    def _look_at(self, place: Place, whole: bool) -> Machine | None:
        sight = self.sights[place.name]
        if isinstance(sight, Exception):
            raise sight
        return sight if whole else None

    def _play(self, job: JobSpec, repeat: int) -> Play:
        waiting = self.plays.get(job.version)
        if waiting:
            return waiting.pop(0)
        level = spread(self.levels.get(job.version, 10.0), job.version, repeat)
        return Play(result=result(level, level / 2))

    # --- what happens outside ---

    def publish(self, *versions: str, level: float | None = None, **more: Any) -> None:
        """List these versions at the source from now on."""
        for version in versions:
            values = {"tag": version, "kind": "folder", "digest": f"sha256:{version}", "platform": "any"}
            self.source.builds.append(PublishedBuild(**{**values, "location": f"/builds/{version}", **more}))
            if level is not None:
                self.levels[version] = level

    def withdraw(self, version: str, why: str) -> None:
        """Have the publisher withdraw a version."""
        self.source.builds = [replace(b, yanked=why) if b.tag == version else b for b in self.source.builds]

    # --- what the service does ---

    def look(self) -> int:
        """Ask the source and plan; return how many runs were planned."""
        watch(self.context, "thing", force=True)
        return plan(self.context, "thing")

    def measure(self, limit: int = 10_000) -> None:
        """Run what is queued, also what waits for its next try, until nothing is left."""
        for _ in range(limit):
            if not advance(self.context):
                if "queued" not in self.run_states():
                    return
                self.clock.advance(60)

    def judge(self) -> None:
        """Read, analyze, notify, summarize and deliver until nothing is left to do."""
        while sum(step(self.context) for step in (ingest, analyze, notify, summarize, deliver)):
            if "queued" in self.run_states():
                self.measure()

    def judge_meanwhile(self) -> None:
        """Do the same with what has ended so far, and measure nothing."""
        while sum(step(self.context) for step in (ingest, analyze, notify, summarize, deliver)):
            pass

    def go(self) -> None:
        """Do all of it once."""
        self.look()
        self.measure()
        self.judge()

    # --- what came of it ---

    def rows(self, table: type[Any]) -> list[Any]:
        with self.store.read() as session:
            return list(session.exec(select(table)).all())

    def run_states(self) -> list[str]:
        return [run.state for run in self.rows(RunRow)]

    def releases(self) -> dict[int, str]:
        return {row.id: row.identity for row in self.rows(ReleaseRow)}

    def gated(self) -> dict[int, SeriesRow]:
        return {row.id: row for row in self.rows(SeriesRow) if row.gated}

    def changes(self) -> list[tuple[str, str]]:
        """Return (release, verdict) of every standing change point, in the order of releases."""
        names = self.releases()
        standing = [row for row in self.rows(ChangePointRow) if row.withdrawn_at is None]
        return sorted({(names[row.release_id], row.verdict) for row in standing})

    def points(self, scenario: str = "prefill") -> dict[str, list[float]]:
        """Return version -> its values in one gated series."""
        names, found = self.releases(), {}
        (series_id,) = (id for id, row in self.gated().items() if self._scenario(row) == scenario)
        for row in self.rows(MeasurementRow):
            if row.series_id == series_id:
                found.setdefault(names[row.release_id], []).append(row.value)
        return found

    def _scenario(self, series: SeriesRow) -> str:
        from tracker.store.tables import ConfigRow

        (labels,) = (json.loads(row.labels) for row in self.rows(ConfigRow) if row.id == series.config_id)
        return str(labels["scenario"])

    def alerts(self) -> list[AlertRow]:
        return self.rows(AlertRow)

    def deliveries(self) -> list[DeliveryRow]:
        return self.rows(DeliveryRow)

    def summaries(self) -> list[SummaryRow]:
        return self.rows(SummaryRow)

    def verdicts(self) -> list[VerdictRow]:
        return self.rows(VerdictRow)

    def quarantined(self) -> list[QuarantineRow]:
        return self.rows(QuarantineRow)

    def reasons(self, state: str = "failed") -> list[str]:
        return [run.reason for run in self.rows(RunRow) if run.state == state]

    @property
    def console(self) -> list[Outgoing]:
        sink = self.sinks["console"]
        assert isinstance(sink, Recorder)
        return sink.sent


def hand_in(
    service: Service, version: str, level_ms: float, *, host: str = "elsewhere", **more: object
) -> list[Deposited]:
    """Hand in the repeats of a release as hyperfine writes them."""

    def arriving() -> Iterator[Arrival]:
        for repeat in range(1, REPEATS + 1):
            mean = spread(level_ms, version, repeat) / 1000
            text = json.dumps({"results": [{"command": "engine", "mean": mean, "median": mean, "times": [mean]}]})
            name = f"{repeat}.json"
            yield Arrival(name=name, shown=name, content=Content.of_text(text + "\n", name))

    origin = Origin(component="thing", release=version, host=host, **more)  # type: ignore[arg-type]
    return list(deposit(service.context, origin, arriving(), who="ci"))
