"""Alerts and messages: who is told what, once, in place, and what people decided stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from alerts.errors import TryLater
from alerts.secret import Secret
from alerts.sinks.slack import SlackSink
from alerts.sinks.slack import create as create_slack
from jobs.protocols import JobOutcome
from tests.fakes.slack_server import TOKEN, Failure, SlackServer, serve_slack
from tests.tracker.pipeline.kit import FAST, OLD, SLOW, Play, Recorder, Service
from tracker.pipeline.alert_content import to_message
from tracker.pipeline.analyze import analyze
from tracker.pipeline.deliver import MOST_ATTEMPTS, deliver
from tracker.pipeline.ingest import ingest
from tracker.pipeline.notify import notify
from tracker.pipeline.requests import rerun
from tracker.pipeline.triage import triage
from tracker.store.tables import BuildRow, ChangePointRow, RunRow, TriageRow


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackServer]:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serve_slack() as server:
        yield server


def open_slack(server: SlackServer) -> SlackSink:
    return create_slack({"channel": "C0123456789", "base_url": server.base_url}, {"token": Secret(TOKEN)})


def regress(service: Service) -> None:
    """Have 1.6.0 arrive slower than the six releases before it."""
    service.publish("1.6.0", level=SLOW)
    service.go()


def rerun_of(service: Service, version: str) -> None:
    """Queue one more repeat of a version."""
    builds = {row.id: row.tag for row in service.rows(BuildRow)}
    run = next(row for row in service.rows(RunRow) if builds[row.build_id] == version)
    rerun(service.context, run.public_id, repeats=1, who="ann")


def told_of_alerts(service: Service, sink: str = "console") -> list[str]:
    recorder = service.sinks[sink]
    assert isinstance(recorder, Recorder)
    return [one.message.title for one in recorder.sent if one.kind == "alert"]


def alerts_on(slack: SlackServer) -> list[dict]:
    return [m for m in slack.messages if m["metadata"]["event_payload"]["kind"] == "alert"]


# --- who is told ---


def test_a_sink_that_is_not_set_up_gets_no_place_in_the_outbox(seasoned: Service):
    regress(seasoned)

    assert {row.sink for row in seasoned.deliveries()} == {"console"}
    assert {row.state for row in seasoned.deliveries()} == {"sent"}


def test_every_sink_of_the_rule_that_is_set_up_is_told_once(seasoned: Service):
    seasoned.sinks["slack"] = Recorder("slack")
    regress(seasoned)

    assert len(told_of_alerts(seasoned, "console")) == len(told_of_alerts(seasoned, "slack")) == 1


def test_changes_among_releases_that_were_there_before_us_page_nobody(service: Service):
    service.sinks["slack"] = Recorder("slack")
    service.publish(*OLD[:4], level=FAST)
    service.publish("1.4.0", "1.5.0", "1.6.0", level=SLOW)
    service.go()

    assert service.changes() == [("1.4.0", "regressed")]
    assert len(told_of_alerts(service, "console")) == 1
    assert told_of_alerts(service, "slack") == []


def test_a_summary_without_a_release_to_compare_with_is_kept_but_told_to_nobody(service: Service):
    service.publish("1.0.0")
    service.go()

    assert len(service.summaries()) == 1
    assert service.deliveries() == []


def test_a_new_release_is_summarized_against_the_one_before(seasoned: Service):
    regress(seasoned)

    names = seasoned.releases()
    newest = [row for row in seasoned.summaries() if names[row.release_id] == "1.6.0"]
    assert {names[row.against_id] for row in newest} == {"1.5.0"}
    assert [one.message.title for one in seasoned.console if one.kind == "summary"][-1].count("1.6.0") == 1


def test_a_release_as_slow_as_the_one_before_says_that_both_are_slower_than_they_were(seasoned: Service):
    regress(seasoned)
    seasoned.publish("1.7.0", level=SLOW)
    seasoned.go()

    (told,) = (one.message for one in seasoned.console if one.message.title == "thing 1.7.0 against 1.6.0")
    assert any("regressed in 1.6.0 did not recover since: `tracker compare 1.5.0 1.7.0`" in one for one in told.notes)

    seasoned.publish("1.8.0", "1.9.0", level=FAST)
    seasoned.go()
    later = [one.message for one in seasoned.console if "1.8.0" in one.message.title and one.kind == "summary"]
    assert {one.title for one in later} == {"thing 1.8.0 against 1.7.0", "thing 1.9.0 against 1.8.0"}
    assert all(one.notes == () for one in later)


def test_a_new_release_whose_runs_all_failed_is_told_of_and_not_passed_over_in_silence(seasoned: Service):
    seasoned.plays["1.6.0"] = [Play(outcome=JobOutcome.TOOL_FAILED, detail="no such wheel")] * 20
    seasoned.publish("1.6.0")
    seasoned.go()

    told = [one.message for one in seasoned.console if "1.6.0" in one.message.title]
    assert [one.summary for one in told] == [
        "No answer: thing 1.6.0 has not been measured: 5 runs failed (3 series are expected)."
    ]


def test_a_summary_is_told_again_only_when_what_it_says_changes(seasoned: Service, slack: SlackServer):
    seasoned.sinks["slack"] = open_slack(slack)
    seasoned.publish("1.6.0", level=FAST)
    seasoned.go()
    told = [m for m in slack.messages if m["metadata"]["event_payload"]["kind"] == "summary"]
    stored = len(seasoned.summaries())

    rerun_of(seasoned, "1.6.0")
    seasoned.measure()
    seasoned.judge()

    assert len(seasoned.summaries()) > stored
    assert slack.calls.count("chat.postMessage") == len(told) == 1
    assert "chat.update" not in slack.calls


def test_a_summary_against_a_release_measured_later_changes_the_message_in_place(seasoned: Service, slack: SlackServer):
    seasoned.sinks["slack"] = open_slack(slack)
    seasoned.publish("1.7.0", level=FAST)
    seasoned.go()
    seasoned.publish("1.6.0", level=FAST)
    seasoned.go()

    (message,) = (m for m in slack.messages if "1.7.0" in m["text"])
    assert "against 1.6.0" in json.dumps(message)
    assert slack.calls.count("chat.update") == 1


def test_a_change_smaller_than_the_rule_asks_for_is_a_fact_but_no_alert(make_service):
    service = make_service(rules=[{"name": "big", "min_effect": 0.5}])
    service.publish(*OLD, level=FAST)
    service.go()
    regress(service)

    assert service.changes() == [("1.6.0", "regressed")]
    assert service.alerts() == []


# --- how an alert lives ---


def test_more_releases_keep_the_change_point_and_its_alert(seasoned: Service):
    regress(seasoned)
    before = {row.public_id for row in seasoned.rows(ChangePointRow)}
    (alert,) = seasoned.alerts()

    seasoned.publish("1.7.0", "1.8.0", level=SLOW)
    seasoned.go()

    assert {row.public_id for row in seasoned.rows(ChangePointRow)} == before
    assert [row.public_id for row in seasoned.alerts()] == [alert.public_id]


def test_an_alert_whose_change_is_no_longer_found_is_closed_and_says_so(seasoned: Service):
    regress(seasoned)
    seasoned.publish("1.6.0", digest="sha256:again")
    seasoned.levels["1.6.0"] = FAST
    seasoned.go()

    (alert,) = seasoned.alerts()
    assert seasoned.changes() == []
    assert alert.state == "recovered"
    assert len(told_of_alerts(seasoned)) == 2
    assert any("no longer found" in note for one in seasoned.console for note in one.message.notes)


def test_a_release_that_undoes_the_change_recovers_the_alert(seasoned: Service):
    regress(seasoned)
    seasoned.publish("1.6.1", "1.6.2", level=SLOW)
    seasoned.go()
    seasoned.publish("1.7.0", "1.8.0", level=FAST)
    seasoned.go()

    states = {row.direction: row.state for row in seasoned.alerts()}
    assert states["regressed"] == "recovered"
    worse = next(row for row in seasoned.alerts() if row.direction == "regressed")
    assert json.loads(worse.content)["recovered_in"] == "1.7.0"


def test_what_people_decided_survives_more_releases_and_recovery(seasoned: Service):
    regress(seasoned)
    (alert,) = seasoned.alerts()
    triage(seasoned.context, alert.public_id, state="expected", who="ann", note="safer kernels")
    seasoned.publish("1.7.0", "1.8.0", level=SLOW)
    seasoned.go()
    seasoned.publish("1.9.0", "1.10.0", level=FAST)
    seasoned.go()

    worse = next(row for row in seasoned.alerts() if row.direction == "regressed")
    assert (worse.public_id, worse.state) == (alert.public_id, "expected")
    (decision,) = seasoned.rows(TriageRow)
    assert (decision.who, decision.note) == ("ann", "safer kernels")


def test_what_people_decided_survives_a_withdrawn_change(seasoned: Service):
    regress(seasoned)
    (alert,) = seasoned.alerts()
    triage(seasoned.context, alert.public_id, state="false_positive", who="ann")
    seasoned.publish("1.6.0", digest="sha256:again")
    seasoned.levels["1.6.0"] = FAST
    seasoned.go()

    assert seasoned.alerts()[0].state == "false_positive"


def test_a_change_that_a_repaired_image_takes_back_is_not_said_to_recover_in_a_later_release(seasoned: Service):
    regress(seasoned)
    seasoned.publish("1.6.0", digest="sha256:again")
    seasoned.levels["1.6.0"] = FAST
    seasoned.go()

    assert seasoned.alerts()[0].state == "recovered"
    (note,) = to_message(seasoned.alerts()[0], base_url=None).notes
    assert "the change is no longer found" in note


def test_a_decision_is_told_to_those_who_were_told_of_the_alert(seasoned: Service):
    regress(seasoned)
    seasoned.sinks["late"] = Recorder("late")

    triage(seasoned.context, seasoned.alerts()[0].public_id, state="acknowledged", who="ann")
    deliver(seasoned.context)

    assert len(told_of_alerts(seasoned)) == 2
    assert seasoned.sinks["late"].sent == []


@pytest.mark.parametrize("state", ["recovered", "gone", ""])
def test_people_cannot_set_a_state_that_is_none_of_theirs(seasoned: Service, state: str):
    regress(seasoned)

    with pytest.raises(Exception, match="is no state of an alert"):
        triage(seasoned.context, seasoned.alerts()[0].public_id, state=state, who="ann")


# --- the outbox ---


def test_slack_gets_one_message_that_is_changed_in_place(seasoned: Service, slack: SlackServer):
    seasoned.sinks["slack"] = open_slack(slack)
    regress(seasoned)
    (posted,) = alerts_on(slack)
    before = posted["text"]

    triage(seasoned.context, seasoned.alerts()[0].public_id, state="acknowledged", who="ann")
    deliver(seasoned.context)

    (changed,) = alerts_on(slack)
    assert changed["ts"] == posted["ts"]
    assert "cknowledged" in json.dumps(changed["blocks"])
    assert "1.6.0" in before
    assert [file["thread_ts"] for file in slack.files.values()] == [posted["ts"]]


def test_slack_that_asks_to_wait_is_asked_again_after_that_time(service: Service, slack: SlackServer):
    service.sinks["slack"] = open_slack(slack)
    slack.failures += [Failure("chat.postMessage", status=429, headers={"Retry-After": "120"})] * 1
    service.publish(*OLD[:2], level=FAST)
    service.go()
    (waiting,) = (row for row in service.deliveries() if row.state == "due")
    assert waiting.not_before == service.clock.now() + timedelta(seconds=120)

    service.clock.advance(119)
    assert deliver(service.context) == 0
    service.clock.advance(1)
    assert deliver(service.context) == 1
    assert len(slack.messages) == 1


def test_killed_between_sending_and_noting_it_slack_is_not_told_twice(
    seasoned: Service, slack: SlackServer, monkeypatch: pytest.MonkeyPatch
):
    sink = open_slack(slack)
    seasoned.sinks["slack"] = sink
    sending = sink.deliver

    def send_and_die(outgoing):
        sending(outgoing)
        raise KeyboardInterrupt

    sink.deliver = send_and_die
    with pytest.raises(KeyboardInterrupt):
        regress(seasoned)
    sink.deliver = sending
    seasoned.judge()
    seasoned.publish("1.6.0", level=SLOW)
    seasoned.go()

    deliveries = [m["metadata"]["event_payload"]["delivery_id"] for m in slack.messages]
    assert len(deliveries) == len(set(deliveries))
    assert {row.state for row in seasoned.deliveries()} == {"sent"}


def test_a_receiver_that_is_away_for_two_days_is_told_when_it_is_back(service: Service):
    slack = Recorder("slack", trouble=TryLater("nobody answers"))
    service.sinks["slack"] = slack
    service.publish(*OLD[:2], level=FAST)
    service.go()
    for _ in range(48):
        service.clock.advance(3600)
        deliver(service.context)
    assert slack.sent == []

    slack.trouble = None
    service.clock.advance(3600)
    deliver(service.context)
    assert len(slack.sent) == 1


def test_a_receiver_that_stays_away_is_given_up_with_the_reason(service: Service):
    service.sinks["slack"] = Recorder("slack", trouble=TryLater("nobody answers"))
    service.publish(*OLD[:2], level=FAST)
    service.go()
    for _ in range(MOST_ATTEMPTS):
        service.clock.advance(100_000)
        deliver(service.context)

    (gone,) = (row for row in service.deliveries() if row.sink == "slack")
    assert (gone.state, gone.attempts) == ("failed", MOST_ATTEMPTS)
    assert "nobody answers" in gone.problem


def test_of_two_messages_about_one_subject_only_the_newer_is_sent(seasoned: Service):
    slack = Recorder("slack", trouble=TryLater("nobody answers"))
    seasoned.sinks["slack"] = slack
    regress(seasoned)
    seasoned.publish("1.7.0", "1.8.0", level=FAST)
    seasoned.go()
    slack.trouble = None
    seasoned.clock.advance(100_000)
    deliver(seasoned.context)

    assert sum("1.6.0" in title for title in told_of_alerts(seasoned, "slack")) == 1


def test_killed_between_judging_and_telling_the_alert_comes_all_the_same(seasoned: Service):
    service = seasoned
    service.publish("1.6.0", level=SLOW)
    service.look()
    service.measure()
    ingest(service.context)
    analyze(service.context)
    assert service.alerts() == []

    assert notify(service.context) == 1
    assert notify(service.context) == 0
    deliver(service.context)
    assert len(told_of_alerts(service)) == 1
