"""Recordings: what may stand in them, and that they play as they were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import UserError
from jobs.executors import replay
from jobs.protocols import Executor, JobOutcome, JobSpec, JobStatus

GOOD = {"component": "thing", "version": "1.0", "config": "c", "repeat": 1, "outcome": "ok", "result": {"v": 1}}


def _executor(folder: Path, *lines: dict[str, Any]) -> Executor:
    source = folder / "recordings"
    source.mkdir(parents=True, exist_ok=True)
    (source / "all.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return replay.create({"recordings": str(source)}, folder=folder / "attempts", cache=folder / "cache")


def _asks(job: Callable[..., JobSpec], key: str, config: str = "c", repeat: str = "1") -> JobSpec:
    return job(key, environment={"BENCHMARK_CONFIG": config, "BENCHMARK_REPEAT": repeat})


def test_a_recording_plays_its_result_log_environment_and_end(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    line = {**GOOD, "outcome": "tool_failed", "detail": "exit code 3", "exit_code": 3, "log": "hello\n"}
    executor = _executor(tmp_path, {**line, "environment": {"host": {"kernel": "6"}}})
    executor.start(_asks(job, "played"))
    status = executor.poll("played")
    assert (status.outcome, status.detail, status.exit_code) == (JobOutcome.TOOL_FAILED, "exit code 3", 3)
    texts = {output.kind: output.path.read_text() for output in executor.fetch("played")}
    assert json.loads(texts["result"]) == {"v": 1}
    assert texts["log"] == "hello\n"
    assert json.loads(texts["environment"]) == {"host": {"kernel": "6"}, "replayed": True}


def test_a_recording_that_says_when_it_was_measured_is_played_with_that_time(
    tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    executor = _executor(tmp_path, {**GOOD, "measured_at": "2026-01-02T05:00:00+02:00"})
    executor.start(_asks(job, "then"))
    status = executor.poll("then")
    assert (status.started_at, status.ended_at) == (datetime(2026, 1, 2, 3, tzinfo=UTC),) * 2


def test_repeats_and_configs_are_kept_apart(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    others = [{**GOOD, "repeat": 2, "result": {"v": 2}}, {**GOOD, "config": "d", "result": {"v": 3}}]
    executor = _executor(tmp_path, GOOD, *others)
    found = {}
    for key, config, repeat in (("a", "c", "1"), ("b", "c", "2"), ("e", "d", "1")):
        executor.start(_asks(job, key, config, repeat))
        executor.poll(key)
        result = next(output for output in executor.fetch(key) if output.kind == "result")
        found[key] = json.loads(result.path.read_text())["v"]
    assert found == {"a": 1, "b": 2, "e": 3}


def test_arguments_name_the_config_where_no_variable_does(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    executor = _executor(tmp_path, {**GOOD, "config": "--isl 128"})
    executor.start(job("arguments", arguments=("--isl", "128")))
    assert executor.poll("arguments").outcome is JobOutcome.OK


def test_a_missing_recording_is_a_failure_that_names_it(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    executor = _executor(tmp_path, GOOD)
    executor.start(_asks(job, "missing", repeat="9"))
    status = executor.poll("missing")
    assert status.outcome is JobOutcome.TOOL_FAILED
    assert status.detail == "no recording for thing 1.0, config 'c', repeat 9"
    assert list(executor.fetch("missing")) == []


def test_a_repeat_that_is_no_number_is_refused(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    with pytest.raises(UserError, match="BENCHMARK_REPEAT must be a number from 1, found 'x'"):
        _executor(tmp_path, GOOD).start(_asks(job, "bad", repeat="x"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"all\.jsonl:1: expected one JSON object"),
        ("[]", "found list"),
        (json.dumps({**GOOD, "resutl": 1}), "unknown \\['resutl'\\]"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "config"}), "config missing"),
        (json.dumps({**GOOD, "repeat": 0}), "repeat has an impossible value: 0"),
        (json.dumps({**GOOD, "repeat": True}), "repeat has an impossible value: True"),
        (json.dumps({**GOOD, "repeat": None}), "repeat has an impossible value: None"),
        (json.dumps({**GOOD, "outcome": "fine"}), "outcome has an impossible value: 'fine'"),
        (json.dumps({**GOOD, "outcome": ["ok"]}), "outcome has an impossible value"),
        (json.dumps({**GOOD, "environment": "x"}), "environment has an impossible value: 'x'"),
        (json.dumps({**GOOD, "exit_code": "3"}), "exit_code has an impossible value: '3'"),
        (json.dumps({**GOOD, "measured_at": "2026-01-02T03:00:00"}), "measured_at has an impossible value"),
        (json.dumps({**GOOD, "published_at": 5}), "published_at has an impossible value: 5"),
    ],
)
def test_a_damaged_recording_is_an_error_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "all.jsonl").write_text(line)
    with pytest.raises(UserError, match=message):
        replay.create({"recordings": str(tmp_path)}, folder=tmp_path / "a", cache=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option recordings must name a folder"),
        ({"recordings": "/nowhere"}, "found none"),
        ({"recordings": "/nowhere", "pace_s": -1}, "pace_s must be a number from 0 on, found -1"),
        ({"recordings": "/nowhere", "pace_s": float("nan")}, "pace_s must be a number"),
    ],
)
def test_impossible_options_are_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replay.create(options, folder=tmp_path, cache=tmp_path)


def test_a_real_attempt_can_be_recorded_and_played_again(
    executor: Executor,
    job: Callable[..., JobSpec],
    ended: Callable[[Executor, str], JobStatus],
    tmp_path: Path,
) -> None:
    spec = _asks(job, "real")
    executor.start(spec)
    status = ended(executor, "real")
    line = json.loads(replay.record(spec, status, executor.fetch("real")))
    player = _executor(tmp_path, line)
    player.start(spec)
    again = player.poll("real")
    assert (again.outcome, again.detail, again.exit_code) == (status.outcome, status.detail, status.exit_code)
    texts = [
        {o.kind: o.path.read_text() for o in side.fetch("real") if o.kind in {"result", "log"}}
        for side in (executor, player)
    ]
    assert texts[0] == texts[1]


def test_an_attempt_that_runs_cannot_be_recorded(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    with pytest.raises(UserError, match="has not ended"):
        replay.record(_asks(job, "early"), _executor(tmp_path, GOOD).poll("early"), ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"detail": "\ud800"}, r"unusable character U\+D800"),
        ({"result": {"labels": {"model": "a\0"}}}, r"unusable character U\+0000"),
        ({"repeat": 10**40}, "repeat has an impossible value"),
        ({"exit_code": -(10**40)}, "exit_code has an impossible value"),
        ({"environment": {"hardware_class": "big"}}, "environment has an impossible value"),
        ({"environment": {"hardware_class": {"slug": 5, "labels": {}}}}, "environment has an impossible value"),
        ({"environment": {"hardware_class": {"slug": "a"}}}, "environment has an impossible value"),
        ({"environment": {"hardware_class": {"slug": "a", "labels": {"cpu": []}}}}, "environment has an impossible"),
    ],
)
def test_what_no_store_could_hold_is_refused_when_recordings_are_read(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        _executor(tmp_path, {**GOOD, **change})


def test_a_recording_nested_too_deeply_or_unreadable_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"all\.jsonl:1: expected one JSON object"):
        replay.load_recordings(tmp_path)
    (tmp_path / "also.jsonl").mkdir()
    (tmp_path / "all.jsonl").write_text("")
    with pytest.raises(UserError, match=r"also\.jsonl cannot be read"):
        replay.load_recordings(tmp_path)
