from __future__ import annotations

import io

import pytest

from alerts.errors import TryLater
from alerts.protocol import Outgoing, OutgoingKind, Receipt
from alerts.sinks.console import create
from tests.alerts.samples import make_message


def outgoing(update_of: Receipt | None = None) -> Outgoing:
    return Outgoing(delivery_id="d-1", kind=OutgoingKind.ALERT, message=make_message(), update_of=update_of)


def test_the_message_is_written_whole_and_at_once() -> None:
    stream = io.StringIO()
    create({}, {}, stream=stream).deliver(outgoing())
    assert stream.getvalue().startswith("REGRESSION [new] onnxruntime 1.28.0 is slower on")
    assert stream.getvalue().endswith("\n")


def test_an_update_is_marked_because_what_was_written_stays() -> None:
    stream = io.StringIO()
    sink = create({}, {}, stream=stream)
    sink.deliver(outgoing(sink.deliver(outgoing())))
    assert "\nUPDATE REGRESSION" in stream.getvalue()


def test_without_a_stream_it_writes_to_standard_output_of_that_moment(capsys: pytest.CaptureFixture[str]) -> None:
    create({}, {}).deliver(outgoing())
    assert "onnxruntime 1.28.0" in capsys.readouterr().out


def test_a_stream_that_cannot_show_a_sign_gets_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    create({}, {}, stream=stream).deliver(outgoing())
    assert b"? +15.2 %" in raw.getvalue()


def test_a_closed_stream_is_tried_again_later() -> None:
    stream = io.StringIO()
    stream.close()
    with pytest.raises(TryLater, match="console sink"):
        create({}, {}, stream=stream).deliver(outgoing())
