"""Writes messages to the terminal or the service's log; it has no options and cannot change what it wrote."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from alerts.errors import TryLater
from alerts.options import refuse_unknown
from alerts.protocol import Outgoing, Receipt
from alerts.secret import Secret
from alerts.texts import to_text


class ConsoleSink:
    """Writes to one stream: the one it was given, or whatever standard output is at that moment."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def deliver(self, outgoing: Outgoing) -> Receipt:
        stream = self._stream or sys.stdout
        text = ("UPDATE " if outgoing.update_of else "") + to_text(outgoing.message)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        try:
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()
        except (OSError, ValueError) as error:
            raise TryLater(f"console sink: the stream does not take text any more: {error}") from error
        return Receipt(sink="console", target=getattr(stream, "name", "stream"))


def create(
    options: Mapping[str, object], secrets: Mapping[str, Secret], *, stream: TextIO | None = None
) -> ConsoleSink:
    """Return a sink that writes to `stream`."""
    refuse_unknown("console", options, ())
    return ConsoleSink(stream)
