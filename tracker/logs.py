"""Log lines: a constant event name and its fields, one line each, to standard error or a file."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime


class EventFormatter(logging.Formatter):
    """Formats `2026-12-01T17:00:00Z INFO run.started run=17 release=1.30.0`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = getattr(record, "fields", {})
        told = "".join(f" {key}={_plain(value)}" for key, value in fields.items() if value is not None)
        text = f"{at} {record.levelname} {record.getMessage()}{told}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


def _plain(value: object) -> str:
    """Return the value as one word, quoted when it has spaces or quotes; what cannot be seen is written as a code."""
    text = str(value)
    if not text.isprintable():
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text else text


class EventLog:
    """Writes events of one module."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def info(self, event: str, **fields: object) -> None:
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, **fields: object) -> None:
        self._logger.warning(event, extra={"fields": fields})

    def error(self, event: str, *, exc_info: bool = False, **fields: object) -> None:
        self._logger.error(event, extra={"fields": fields}, exc_info=exc_info)


def start_logging(level: str = "INFO") -> None:
    """Send the service's events to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EventFormatter())
    root = logging.getLogger("tracker")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
