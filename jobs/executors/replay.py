"""Plays recorded attempts as if they ran, for demos and for suites whose hardware is not here. See README.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.characters import find_unstorable
from jobs.errors import UserError
from jobs.executors._attempts import (
    Attempt,
    check_job,
    check_key,
    job_from_json,
    job_to_json,
    open_attempts,
    read,
    replace,
    write_once,
)
from jobs.executors._options import check_names, number
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobSpec, JobState, JobStatus
from jobs.recordings import read_moment, read_recordings

CONFIG_VARIABLE = "BENCHMARK_CONFIG"
"""In `JobSpec.environment`: the fingerprint of the config (or anything else that names it) to be replayed."""
REPEAT_VARIABLE = "BENCHMARK_REPEAT"
"""In `JobSpec.environment`: which repeat, counted from 1; 1 where it is missing."""

_OPTIONS = ("recordings", "pace_s")
_FIELDS = {
    "component", "version", "config", "repeat", "outcome", "detail", "exit_code", "result", "log", "environment",
    "published_at", "measured_at",
}  # fmt: skip
_LARGEST = 2**31 - 1
_REQUIRED = ("component", "version", "config", "repeat", "outcome")

Identity = tuple[str, str, str, int]


def create(options: Mapping[str, object], *, folder: Path, cache: Path) -> Executor:
    """Return the executor that plays `*.jsonl` from the folder in option `recordings`.

    Option `pace_s`: how long each attempt seems to run; 0 ends it at once. Nothing is kept in `cache`.
    """
    check_names("replay", options, _OPTIONS)
    source = options.get("recordings")
    if not isinstance(source, str | Path):
        raise UserError(f"executor replay: option recordings must name a folder of *.jsonl files, found {source!r}")
    pace_s = number("replay", options, "pace_s", 0.0, low=0)
    return ReplayExecutor(folder=folder.resolve(), recordings=load_recordings(Path(source)), pace_s=pace_s)


def identity_of(job: JobSpec) -> Identity:
    """Return which recording a job asks for."""
    config = job.environment.get(CONFIG_VARIABLE) or " ".join(job.arguments)
    repeat = job.environment.get(REPEAT_VARIABLE, "1")
    if not repeat.isdecimal() or int(repeat) < 1:
        raise UserError(f"job {job.key}: {REPEAT_VARIABLE} must be a number from 1, found {repeat!r}")
    return job.component, job.version, config, int(repeat)


def load_recordings(folder: Path) -> Mapping[Identity, Mapping[str, Any]]:
    """Return all recordings of a folder; a later line for the same attempt replaces an earlier one."""
    found: dict[Identity, Mapping[str, Any]] = {}
    for where, line in read_recordings(folder, "executor replay"):
        recording = _check(line, where)
        identity = (recording["component"], recording["version"], recording["config"], recording["repeat"])
        found[identity] = recording
    return found


def _check(line: str, where: str) -> dict[str, Any]:
    """Return one recording, or raise UserError with the place and what is wrong."""
    try:
        recording = json.loads(line)
        character = find_unstorable(recording)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: expected one JSON object on the line: {error}") from error
    if character:
        raise UserError(f"{where}: a text in the recording holds the unusable character {character}")
    if not isinstance(recording, dict) or (unknown := recording.keys() - _FIELDS):
        what = f"unknown {sorted(unknown)}" if isinstance(recording, dict) else f"{type(recording).__name__}"
        raise UserError(f"{where}: expected an object with {sorted(_FIELDS)}, found {what}")
    if missing := [name for name in _REQUIRED if name not in recording]:
        raise UserError(f"{where}: {', '.join(missing)} missing from the recording")
    texts = ("component", "version", "config", "outcome", "detail", "log")
    wrong = [name for name in texts if not isinstance(recording.get(name, ""), str)]
    wrong += [name for name in ("repeat", "exit_code") if not _is_number(recording.get(name), name)]
    wrong += [name for name in ("published_at", "measured_at") if not _is_moment(recording.get(name))]
    wrong += ["environment"] if not _is_environment(recording.get("environment", {})) else []
    wrong += ["outcome"] if recording["outcome"] not in [outcome.value for outcome in JobOutcome] else []
    if wrong:
        raise UserError(f"{where}: {wrong[0]} has an impossible value: {recording[wrong[0]]!r}")
    return recording


def _is_environment(value: object) -> bool:
    """Return whether a value may be a record of where an attempt ran; its hardware class, if any, needs a name."""
    if not isinstance(value, dict):
        return False
    hardware = value.get("hardware_class")
    if hardware is None:
        return True
    labels = hardware.get("labels") if isinstance(hardware, dict) else None
    plain = isinstance(labels, dict) and all(isinstance(label, str | int | float) for label in labels.values())
    return plain and isinstance(hardware.get("slug"), str) and bool(hardware["slug"])


def _is_moment(value: object) -> bool:
    """Return whether a value is a moment with a zone, or is not stated."""
    return value is None or read_moment(value) is not None


def _is_number(value: object, name: str) -> bool:
    if value is None:
        return name == "exit_code"
    low = -_LARGEST if name == "exit_code" else 1
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= _LARGEST


def record(job: JobSpec, status: JobStatus, outputs: Sequence[JobOutput]) -> str:
    """Return the line of a recordings file that plays an ended attempt again, whichever executor ran it."""
    if status.outcome is None:
        raise UserError(f"attempt {job.key} has not ended, so it cannot be recorded")
    component, version, config, repeat = identity_of(job)
    texts = {o.kind: o.path.read_text(encoding="utf-8", errors="replace") for o in outputs if o.kind != "setup_log"}
    recording = {
        "component": component,
        "version": version,
        "config": config,
        "repeat": repeat,
        "outcome": status.outcome.value,
        "detail": status.detail,
        "exit_code": status.exit_code,
        "result": _parsed(texts["result"]) if "result" in texts else None,
        "log": texts.get("log", ""),
        "environment": json.loads(texts.get("environment", "{}")),
    }
    return json.dumps(recording, sort_keys=True)


def record_folder(folder: Path) -> str:
    """Return the line for the ended attempt whose files lie in `folder`; UserError where it has not ended."""
    attempt = Attempt(folder)
    order, status = read(attempt.file("job.json")), attempt.status()
    if not order or status is None:
        raise UserError(f"{folder} holds no attempt that has ended")
    return record(job_from_json(order["job"]), status, attempt.outputs())


def _parsed(text: str) -> object:
    """Return a result as JSON, for a readable recording; what is no object or list stays the text it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayExecutor:
    """See `jobs.protocols.Executor`. An attempt is a claim with the time when it ends; no process runs."""

    folder: Path
    recordings: Mapping[Identity, Mapping[str, Any]]
    pace_s: float

    def start(self, job: JobSpec) -> None:
        check_job(job)
        identity_of(job)
        attempt = self._attempt(job.key)
        attempt.folder.mkdir(parents=True, exist_ok=True)
        write_once(attempt.file("job.json"), {"job": job_to_json(job)})
        now = datetime.now(UTC)
        due = now + timedelta(seconds=self.pace_s)
        attempt.claim({"started_at": now.isoformat(), "due_at": due.isoformat()})

    def poll(self, key: str) -> JobStatus:
        attempt = self._attempt(key)
        if status := attempt.status():
            return status
        claim = read(attempt.file("claimed.json"))
        if claim is None:
            return JobStatus(state=JobState.UNKNOWN)
        if "due_at" not in claim:
            attempt.finish(JobOutcome.LOST, "abandoned before it was started", at=datetime.now(UTC))
        elif datetime.now(UTC) < datetime.fromisoformat(claim["due_at"]):
            return JobStatus(state=JobState.RUNNING, started_at=datetime.fromisoformat(claim["started_at"]))
        else:
            replace(attempt.file("running.json"), {"started_at": claim["started_at"]})
            self._play(attempt, datetime.fromisoformat(claim["due_at"]))
        return attempt.status() or JobStatus(state=JobState.UNKNOWN)

    def fetch(self, key: str) -> Sequence[JobOutput]:
        return self._attempt(key).outputs()

    def cancel(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.CANCELLED, CALLED_OFF)

    def abandon(self, key: str) -> None:
        self._end(self._attempt(key), JobOutcome.LOST, "abandoned before it was started")

    def sweep(self, alive: frozenset[str]) -> Sequence[str]:
        ended = []
        for attempt in open_attempts(self.folder, "replay"):
            if attempt.key not in alive and self.poll(attempt.key).state is not JobState.ENDED:
                self._end(attempt, JobOutcome.CANCELLED, "ended by a sweep: no run asks for it any more")
                ended.append(attempt.key)
        return tuple(ended)

    def _attempt(self, key: str) -> Attempt:
        check_key(key)
        return Attempt(self.folder / key)

    def _end(self, attempt: Attempt, outcome: JobOutcome, detail: str) -> None:
        if self.poll(attempt.key).state is not JobState.ENDED:
            attempt.claim({"nobody": detail})
            attempt.finish(outcome, detail, at=datetime.now(UTC))

    def _play(self, attempt: Attempt, ended_at: datetime) -> None:
        """Write what the recording left, then its end."""
        order = read(attempt.file("job.json"))
        if not order:
            attempt.finish(JobOutcome.INFRA_FAILED, f"{attempt.file('job.json')} is damaged", at=ended_at)
            return
        job = job_from_json(order["job"])
        component, version, config, repeat = identity = identity_of(job)
        recording = self.recordings.get(identity)
        if recording is not None and (measured_at := read_moment(recording.get("measured_at"))):
            replace(attempt.file("running.json"), {"started_at": measured_at.isoformat()})
            ended_at = measured_at
        if recording is None:
            what = f"no recording for {component} {version}, config {config!r}, repeat {repeat}"
            attempt.finish(JobOutcome.TOOL_FAILED, what, at=ended_at)
            return
        result = recording.get("result")
        if result is not None:
            (attempt.folder / "result").mkdir(exist_ok=True)
            text = result if isinstance(result, str) else json.dumps(result)
            (attempt.folder / "result" / job.result_file).write_text(text, encoding="utf-8")
        attempt.file("run.log").write_text(recording.get("log", ""), encoding="utf-8")
        replace(attempt.file("environment.json"), {**recording.get("environment", {}), "replayed": True})
        attempt.finish(
            JobOutcome(recording["outcome"]),
            recording.get("detail", ""),
            at=ended_at,
            exit_code=recording.get("exit_code"),
        )
