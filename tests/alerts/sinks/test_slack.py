from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from alerts.errors import TryLater, UserError
from alerts.message import AlertState
from alerts.protocol import Outgoing, OutgoingKind
from alerts.secret import Secret
from alerts.sinks.slack import SlackSink, create
from tests.alerts.samples import make_message
from tests.fakes.slack_server import TOKEN, Failure, SlackServer, serve_slack

CHANNEL = "C0123456789"


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with serve_slack() as running:
        yield running


def open_sink(server: SlackServer, *, token: str = TOKEN, **options: object) -> SlackSink:
    return create({"channel": CHANNEL, "base_url": server.base_url, **options}, {"token": Secret(token)})


def outgoing(**changed: object) -> Outgoing:
    values = {"delivery_id": "d-1", "kind": OutgoingKind.ALERT, "message": make_message()}
    return Outgoing(**(values | changed))  # type: ignore[arg-type]


def test_a_message_is_posted_with_blocks_a_fallback_text_and_the_delivery_in_its_metadata(server: SlackServer) -> None:
    receipt = open_sink(server).deliver(outgoing())
    (message,) = server.messages
    assert (receipt.target, receipt.reference) == (CHANNEL, message["ts"])
    assert message["text"].startswith("onnxruntime 1.28.0 is slower")
    assert message["blocks"][0]["type"] == "header"
    assert message["metadata"]["event_payload"] == {"delivery_id": "d-1", "kind": "alert"}


def test_a_channels_name_becomes_its_id_on_the_receipt(server: SlackServer) -> None:
    assert open_sink(server, channel="#perf").deliver(outgoing()).target == CHANNEL


def test_an_alert_that_changed_changes_its_message(server: SlackServer) -> None:
    sink = open_sink(server)
    first = sink.deliver(outgoing())
    recovered = make_message(state=AlertState.RECOVERED, recovered_in="1.30.0")
    assert sink.deliver(outgoing(delivery_id="d-2", message=recovered, update_of=first)) == first
    (message,) = server.messages
    assert "recovered" in message["text"]


def test_a_message_that_somebody_removed_is_posted_again(server: SlackServer) -> None:
    sink = open_sink(server)
    first = sink.deliver(outgoing())
    server.messages.clear()
    sink.deliver(outgoing(delivery_id="d-2", update_of=first))
    assert len(server.messages) == 1


def test_the_chart_goes_into_the_messages_thread(server: SlackServer) -> None:
    receipt = open_sink(server).deliver(outgoing(picture=b"\x89PNG chart"))
    file = server.files[receipt.picture]
    assert file["bytes"] == b"\x89PNG chart"
    assert (file["channel"], file["thread_ts"]) == (CHANNEL, receipt.reference)


def test_an_update_keeps_the_chart_it_has_and_does_not_send_another(server: SlackServer) -> None:
    sink = open_sink(server)
    first = sink.deliver(outgoing(picture=b"1"))
    assert sink.deliver(outgoing(delivery_id="d-2", picture=b"2", update_of=first)) == first
    assert len(server.files) == 1


@pytest.mark.parametrize("step", ["files.getUploadURLExternal", "upload/", "files.completeUploadExternal"])
def test_a_chart_that_cannot_be_added_is_a_warning_because_the_message_is_there(server: SlackServer, step: str) -> None:
    server.failures.append(Failure(step, status=500, error="internal_error"))
    receipt = open_sink(server).deliver(outgoing(picture=b"1"))
    assert receipt.reference == server.messages[0]["ts"]
    assert "the chart was not added" in receipt.warning


def test_a_rate_limit_is_tried_later_after_the_time_that_slack_asked_for(server: SlackServer) -> None:
    server.failures.append(Failure("chat.postMessage", status=429, error="ratelimited", headers={"Retry-After": "30"}))
    with pytest.raises(TryLater, match="HTTP status 429") as caught:
        open_sink(server).deliver(outgoing())
    assert caught.value.retry_after_s == 30.0
    assert server.calls == ["chat.postMessage"]


@pytest.mark.parametrize("said", ["\u00b2", "9" * 400, "soon", "-1", ""])
def test_a_wait_that_is_no_number_of_seconds_is_left_to_us(server: SlackServer, said: str) -> None:
    server.failures.append(Failure("chat.postMessage", status=429, error="ratelimited", headers={"Retry-After": said}))
    with pytest.raises(TryLater) as caught:
        open_sink(server).deliver(outgoing())
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize(
    "failure",
    [
        Failure("chat.postMessage", status=500, error="internal_error"),
        Failure("chat.postMessage", status=503, body=b"<html>down</html>", headers={"Content-Type": "text/html"}),
        Failure("chat.postMessage", status=200, error="fatal_error"),
        Failure("chat.postMessage", status=200, body=b"<html>log in</html>", headers={"Content-Type": "text/html"}),
    ],
)
def test_trouble_at_slack_or_on_the_way_is_tried_later(server: SlackServer, failure: Failure) -> None:
    server.failures.append(failure)
    with pytest.raises(TryLater) as caught:
        open_sink(server).deliver(outgoing())
    assert caught.value.retry_after_s is None


def test_nobody_listening_is_tried_later(server: SlackServer) -> None:
    nowhere = create({"channel": CHANNEL, "base_url": "http://127.0.0.1:1/api"}, {"token": Secret(TOKEN)})
    with pytest.raises(TryLater, match="cannot be reached"):
        nowhere.deliver(outgoing())


def test_a_wrong_token_is_the_users_to_fix_and_never_shown(
    server: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(UserError, match=r"invalid_auth.*copy the bot token") as caught:
        open_sink(server, token="xoxb-very-secret").deliver(outgoing())
    assert "very-secret" not in caplog.text + str(caught.value) + repr(caught.value.__cause__)


def test_a_channel_that_does_not_exist_is_the_users_to_fix(server: SlackServer) -> None:
    with pytest.raises(UserError, match=r"channel_not_found.*invite the app"):
        open_sink(server, channel="C0000000000").deliver(outgoing())


def test_a_refused_update_is_the_users_to_fix_too(server: SlackServer) -> None:
    sink = open_sink(server)
    first = sink.deliver(outgoing())
    server.failures.append(Failure("chat.update", error="is_archived"))
    with pytest.raises(UserError, match="archived"):
        sink.deliver(outgoing(delivery_id="d-2", update_of=first))


def test_a_try_whose_answer_was_lost_is_found_and_not_posted_twice(server: SlackServer) -> None:
    sink = open_sink(server)
    server.failures.append(Failure("chat.postMessage", status=502, after=True))
    with pytest.raises(TryLater):
        sink.deliver(outgoing())
    receipt = sink.deliver(outgoing(maybe_sent=True))
    assert [message["ts"] for message in server.messages] == [receipt.reference]


def test_another_deliverys_message_is_not_taken_for_ours(server: SlackServer) -> None:
    sink = open_sink(server)
    sink.deliver(outgoing(delivery_id="d-0"))
    server.messages.append({"channel": CHANNEL, "ts": "1.0", "text": "by a person"})
    sink.deliver(outgoing(maybe_sent=True))
    assert len(server.messages) == 3


def test_without_the_right_to_read_the_channel_a_second_message_is_better_than_none(server: SlackServer) -> None:
    server.scopes.discard("channels:history")
    sink = open_sink(server)
    sink.deliver(outgoing())
    sink.deliver(outgoing(maybe_sent=True))
    assert len(server.messages) == 2


def test_the_channel_is_read_only_where_an_answer_was_lost(server: SlackServer) -> None:
    open_sink(server).deliver(outgoing())
    assert server.calls == ["chat.postMessage"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'channel' must be a text"),
        ({"channel": 5}, "found 5"),
        ({"channel": "C1", "timeout_s": "long"}, "number of seconds"),
        ({"channel": "C1", "timeout_s": 0}, "number of seconds"),
        ({"channel": "C1", "base_url": "http://example.org/api/"}, "must start with https://"),
        ({"channel": "C1", "chanel": "C1"}, "Did you mean 'channel'"),
    ],
)
def test_wrong_options_say_what_was_expected(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        create(options, {"token": Secret(TOKEN)})


@pytest.mark.parametrize("secrets", [{}, {"token": Secret(" ")}])
def test_a_missing_token_is_named(secrets: dict[str, Secret]) -> None:
    with pytest.raises(UserError, match="secret 'token' is not set"):
        create({"channel": CHANNEL}, secrets)
