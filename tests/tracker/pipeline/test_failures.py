"""What goes wrong while measuring is an outcome with a reason, never a value."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta

import pytest

from jobs.errors import TryLater, UserError
from jobs.protocols import JobOutcome
from tests.tracker.pipeline.kit import REPEATS, Play, Service, result
from tracker.pipeline.execute import advance, put_back, recover, retry_wait
from tracker.pipeline.requests import cancel, rerun, trigger
from tracker.store.tables import AttemptRow, RunRow

BAD = {
    "crash": (Play(JobOutcome.TOOL_FAILED, "exit code 3: no such operator"), "exit code 3: no such operator"),
    "hang": (Play(JobOutcome.TIMEOUT, "over the time limit of 30 s"), "over the time limit"),
    "garbage": (Play(result="Segmentation fault"), "refused"),
    "nothing": (Play(), "left no result.json"),
    "cut": (Play(result=json.dumps(result(10.0))[:40]), "cut off"),
    "another tool's": (Play(result={"results": []}), "refused"),
    "wrong answers": (
        Play(result=result(10.0, 5.0, accuracy=0.2)),
        "accuracy is 0.2, below the suite's minimum of 0.9",
    ),
    "unchecked answers": (
        Play(result={"tool": "bench", "runs": [{"labels": {}, "metrics": {"latency_p50_ms": 1.0}}]}),
        "the quality check's accuracy is missing",
    ),
}


@pytest.mark.parametrize(("play", "reason"), BAD.values(), ids=BAD)
def test_a_run_that_did_not_measure_enters_no_series_and_says_why(service: Service, play: Play, reason: str):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [play]
    service.go()

    assert sorted(service.run_states()) == ["done"] * (REPEATS - 1) + ["failed"]
    assert reason in service.reasons()[0]
    assert len(service.points()["1.0.0"]) == REPEATS - 1


def test_a_partial_result_keeps_its_good_values_and_says_what_is_missing(service: Service):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(result=result(10.0))]
    service.go()

    (reason,) = (reason for reason in service.reasons("done") if reason)
    assert reason == "partial: no latency_p50_ms for scenario=decode"
    assert len(service.points("prefill")["1.0.0"]) == REPEATS
    assert len(service.points("decode")["1.0.0"]) == REPEATS - 1


@pytest.mark.parametrize("value", [-5.0, 0.0, 1e30])
def test_a_value_that_cannot_be_believed_is_put_aside_with_its_reason(service: Service, value: float):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(result=result(10.0, value))]
    service.go()

    (aside,) = service.quarantined()
    assert (aside.key, float(aside.raw)) == ("latency_p50_ms", value)
    assert len(service.points("decode")["1.0.0"]) == REPEATS - 1


def test_values_of_a_run_with_wrong_answers_are_put_aside(service: Service):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(result=result(10.0, 5.0, accuracy=0.2))]
    service.go()

    assert {row.key for row in service.quarantined()} == {"latency_p50_ms", "latency_p50_ms #2", "accuracy"}


def test_a_release_that_only_fails_has_no_points_and_alerts_nobody(service: Service):
    service.publish("1.0.0", "1.1.0")
    service.go()
    service.publish("1.2.0")
    service.plays["1.2.0"] = [Play(JobOutcome.TOOL_FAILED, "exit code 1")] * REPEATS
    service.go()

    assert "1.2.0" not in service.points()
    assert service.alerts() == []


@pytest.mark.parametrize("outcome", [JobOutcome.INFRA_FAILED, JobOutcome.LOST])
def test_a_failure_of_the_machine_is_tried_again_later_each_time(service: Service, outcome: JobOutcome):
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(outcome, "the disk is full")] * 2
    service.look()
    advance(service.context)
    advance(service.context)

    first = service.rows(RunRow)[0]
    assert (first.state, first.failures) == ("queued", 1)
    assert first.reason == "tried again at 12:00:10 UTC (attempt 2 of 3) after: the disk is full"
    assert first.not_before == service.clock.now() + timedelta(seconds=10)

    service.measure()
    service.judge()
    assert service.run_states() == ["done"] * REPEATS


def test_a_machine_that_fails_every_time_is_given_up(make_service):
    service = make_service(max_attempts=3)
    service.publish("1.0.0")
    service.plays["1.0.0"] = [Play(JobOutcome.INFRA_FAILED, "the disk is full")] * REPEATS * 3
    service.go()

    assert service.run_states() == ["failed"] * REPEATS
    assert set(service.reasons()) == {"the disk is full"}
    assert len(service.rows(AttemptRow)) == REPEATS * 3


def test_an_executor_that_cannot_start_counts_as_a_failure_of_the_machine(make_service):
    service = make_service(max_attempts=2)
    service.executor.refuse = TryLater("no processes left; free some and try again")
    service.publish("1.0.0")
    service.go()

    assert service.run_states() == ["failed"] * REPEATS
    assert "no processes left" in service.reasons()[0]


def test_an_attempt_whose_start_failed_halfway_is_ended(service: Service):
    service.publish("1.0.0")
    service.look()
    service.executor.refuse = OSError("no space left on device")
    advance(service.context)

    assert service.executor.plays["run-1-1"].outcome is JobOutcome.CANCELLED


def test_an_executor_that_is_away_keeps_its_run_in_hand(service: Service):
    service.publish("1.0.0")
    service.look()
    advance(service.context)
    answering = service.executor.poll

    def away(key: str):
        raise TryLater("the scheduler does not answer")

    service.executor.poll = away
    assert advance(service.context) == 1
    service.executor.poll = answering
    service.measure()
    service.judge()

    assert service.run_states() == ["done"] * REPEATS
    assert len(service.rows(AttemptRow)) == REPEATS


def test_runs_of_an_executor_that_is_gone_fail_with_its_reason(service: Service):
    def gone(key: str):
        raise UserError("no executor named 'local'")

    service.publish("1.0.0")
    service.look()
    advance(service.context)
    service.executor.poll = gone
    service.measure()

    assert service.run_states() == ["failed"] * REPEATS
    assert service.reasons() == ["no executor named 'local'"] * REPEATS


def test_a_run_that_does_not_end_when_the_service_stops_stays_in_hand_and_is_queued_by_the_next_life(
    service: Service, caplog: pytest.LogCaptureFixture
):
    service.publish("1.0.0")
    service.look()
    service.executor.hold_all = True
    advance(service.context)
    released, end = threading.Event(), service.executor.cancel

    def end_late(key: str) -> None:
        released.wait(60)
        end(key)

    service.executor.cancel = end_late
    with caplog.at_level("INFO"):
        assert put_back(service.context, within_s=0.1) == 0
    assert [record.message for record in caplog.records][:2] == ["runs.ending", "run.not_put_back"]
    assert "running" in service.run_states()

    released.set()
    service.executor.cancel, service.executor.hold_all = end, False
    while service.executor.held:
        time.sleep(0.01)
    recover(service.context)
    service.measure()
    assert service.run_states() == ["measured"] * REPEATS


def test_the_first_try_is_made_again_soon_and_later_ones_leave_time_to_put_things_right():
    assert [retry_wait(failures).total_seconds() for failures in (0, 1, 2, 3, 1000)] == [10, 60, 360, 1800, 1800]


def test_a_service_that_stops_queues_its_runs_again_without_counting_it_as_a_failure(service: Service):
    service.publish("1.0.0")
    service.look()
    service.executor.hold_all = True
    advance(service.context)

    assert put_back(service.context) == 1
    assert service.executor.held == set()
    run = service.rows(RunRow)[0]
    assert (run.state, run.failures, run.not_before) == ("queued", 0, None)

    service.executor.hold_all = False
    service.measure()
    service.judge()
    assert service.run_states() == ["done"] * REPEATS


def test_a_service_that_was_killed_takes_its_runs_up_again(service: Service):
    service.publish("1.0.0")
    service.look()
    service.executor.hold_all = True
    advance(service.context)

    assert recover(service.context) == 1
    assert service.executor.swept_but == {"run-1-1"}
    service.executor.held.clear()
    service.executor.hold_all = False
    service.measure()
    service.judge()
    assert service.run_states() == ["done"] * REPEATS
    assert len(service.executor.started) == REPEATS


def test_a_run_claimed_but_never_started_is_started_under_the_same_key(service: Service):
    service.publish("1.0.0")
    service.look()
    service.executor.refuse = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        advance(service.context)

    service.executor.refuse = None
    recover(service.context)
    service.measure()

    assert next(iter(service.executor.started)) == "run-1-1"
    assert len(service.rows(AttemptRow)) == REPEATS


def test_a_cancelled_run_ends_and_says_by_whom(service: Service):
    service.publish("1.0.0")
    service.look()
    service.executor.hold_all = True
    advance(service.context)
    running, queued = service.rows(RunRow)[:2]

    cancel(service.context, running.public_id, who="ann")
    cancel(service.context, queued.public_id, who="bob")
    service.executor.hold_all = False
    service.measure()
    service.judge()

    assert sorted(service.reasons("cancelled")) == ["cancelled by ann", "cancelled by bob"]
    assert len(service.points()["1.0.0"]) == REPEATS - 2


def test_a_rerun_adds_a_point_and_needs_no_waiting_for_others(service: Service):
    service.publish("1.0.0")
    service.go()

    (again,) = rerun(service.context, service.rows(RunRow)[0].public_id, who="ann")
    service.measure()
    service.judge()

    assert len(service.points()["1.0.0"]) == REPEATS + 1
    (row,) = (run for run in service.rows(RunRow) if run.public_id == again)
    assert (row.state, row.requested_by, row.repeat) == ("done", "ann", REPEATS + 1)


def test_a_triggered_release_is_measured_before_anything_else(service: Service):
    service.publish("1.0.0", "1.1.0")
    service.look()

    assert len(trigger(service.context, "thing", "1.0.0", repeats=2, who="ann")) == 2
    advance(service.context)
    (started,) = service.executor.started.values()
    assert started.version == "1.0.0"


@pytest.mark.parametrize("repeats", [0, -1, 101])
def test_an_impossible_number_of_repeats_is_refused(service: Service, repeats: int):
    service.publish("1.0.0")
    service.look()

    with pytest.raises(Exception, match="repeats must be from 1 to 100"):
        trigger(service.context, "thing", "1.0.0", repeats=repeats, who="ann")


def test_a_release_that_cannot_be_measured_here_says_why_when_asked_for(service: Service):
    service.publish("1.0.0", misfit="no wheel for this machine")
    service.look()

    with pytest.raises(Exception, match="cannot be measured here: no wheel for this machine"):
        trigger(service.context, "thing", "1.0.0", repeats=None, who="ann")
