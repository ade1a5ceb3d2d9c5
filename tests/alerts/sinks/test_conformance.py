"""What holds for every sink. A new one adds a line to `SINKS`: its options, its secrets and what it needs to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import pytest

from alerts.errors import UnknownSink, UserError
from alerts.message import Line, Message
from alerts.plugins import create_sink, known_sinks
from alerts.protocol import Outgoing, OutgoingKind, Receipt, Sink
from alerts.secret import Secret
from tests.alerts.samples import make_message
from tests.fakes.slack_server import TOKEN, serve_slack

SINKS = ("console", "slack")


@dataclass(frozen=True)
class Setup:
    name: str
    options: Mapping[str, object]
    secrets: Mapping[str, Secret]

    def create(self) -> Sink:
        return create_sink(self.name, self.options, self.secrets)


@pytest.fixture(params=SINKS)
def setup(request: pytest.FixtureRequest) -> Iterator[Setup]:
    if request.param == "console":
        yield Setup("console", {}, {})
        return
    with serve_slack() as server:
        options = {"channel": "C0123456789", "base_url": server.base_url}
        yield Setup("slack", options, {"token": Secret(TOKEN)})


@pytest.fixture
def sink(setup: Setup) -> Sink:
    return setup.create()


def outgoing(**changed: object) -> Outgoing:
    values = {"delivery_id": "d-1", "kind": OutgoingKind.ALERT, "message": make_message()}
    return Outgoing(**(values | changed))  # type: ignore[arg-type]


def test_every_shipped_sink_is_in_this_suite() -> None:
    assert set(known_sinks()) == set(SINKS)


@pytest.mark.parametrize("kind", OutgoingKind)
def test_a_receipt_names_the_sink_and_where_the_message_went(setup: Setup, kind: OutgoingKind) -> None:
    receipt = setup.create().deliver(outgoing(kind=kind))
    assert receipt.sink == setup.name
    assert receipt.target


def test_a_receipt_is_plain_text_that_a_table_can_keep(sink: Sink) -> None:
    receipt = sink.deliver(outgoing())
    assert all(isinstance(value, str) for value in asdict(receipt).values())
    assert Receipt(**asdict(receipt)) == receipt


def test_an_update_is_taken_with_the_earlier_receipt_and_stays_in_its_place(sink: Sink) -> None:
    first = sink.deliver(outgoing())
    again = sink.deliver(outgoing(delivery_id="d-2", update_of=first))
    assert (again.target, again.reference) == (first.target, first.reference)


def test_an_update_without_a_reference_is_taken_too(sink: Sink) -> None:
    lost = replace(sink.deliver(outgoing()), reference="")
    assert sink.deliver(outgoing(delivery_id="d-2", update_of=lost)).target


def test_a_picture_may_come_along(sink: Sink) -> None:
    assert sink.deliver(outgoing(picture=b"\x89PNG...")).warning == ""


def test_a_huge_and_hostile_message_is_taken(sink: Sink) -> None:
    line = Line(mark="▲", effect="+1 %", metric="m`" * 99, label="<!channel> & " * 99, detail="*" * 999)
    message = Message(title="t" * 999, summary="<@U1>" * 999, lines=(line,) * 999, notes=("n" * 5000,) * 99)
    assert sink.deliver(outgoing(message=message)).target


def test_an_unknown_option_is_refused_by_name(setup: Setup) -> None:
    with pytest.raises(UserError, match=f"{setup.name} sink: unknown option 'colour'"):
        create_sink(setup.name, {**setup.options, "colour": "red"}, setup.secrets)


def test_an_unknown_sink_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownSink, match=r"no sink named 'slak'; known: console, slack\. Did you mean 'slack'"):
        create_sink("slak", {}, {})


def test_a_delivery_needs_an_id() -> None:
    with pytest.raises(ValueError, match="id"):
        outgoing(delivery_id="")
