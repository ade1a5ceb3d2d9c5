"""The seam of this package: what a sink is, what it is given and what it gives back.

A sink is one module in `alerts/sinks/` (or an entry point in the group `tracker.sink`); the module's name is the
sink's name, and it has a function

    create(options: Mapping[str, object], secrets: Mapping[str, Secret]) -> Sink
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from alerts.message import Message


class OutgoingKind(StrEnum):
    """What is being told."""

    ALERT = "alert"
    SUMMARY = "summary"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Where a delivery can be seen, for updating it in place; every field is text, so that a table can keep it."""

    sink: str
    target: str
    """The channel, address or stream it went to."""
    reference: str = ""
    """The receiver's own name for the message; empty where it has none, and then nothing can be updated in place."""
    picture: str = ""
    """The receiver's own name for the picture; empty where none was shown."""
    warning: str = ""
    """What did not work although the message itself was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One delivery to one sink."""

    delivery_id: str
    """The same for every try of one delivery, different for any two deliveries."""
    kind: OutgoingKind
    message: Message
    picture: bytes | None = None
    """A PNG that belongs to the message."""
    update_of: Receipt | None = None
    """What an earlier delivery of the same alert left: change that message instead of sending another."""
    maybe_sent: bool = False
    """True where an earlier try ended without an answer, so that the message may be there already."""

    def __post_init__(self) -> None:
        if not self.delivery_id:
            raise ValueError("a delivery needs an id: a second try is recognised by it")


class Sink(Protocol):
    """Tells people. Calls may take as long as the sink's own time limit and never retry by themselves.

    Raises `UserError` where sending again would fail in the same way, `TryLater` where it may work later.
    """

    def deliver(self, outgoing: Outgoing) -> Receipt: ...
