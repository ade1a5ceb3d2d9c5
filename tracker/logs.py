"""Log lines: a constant event name and its fields, one line each, to standard error or a file."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

REPEAT_AFTER_S = 60.0
MOST_REMEMBERED = 1000


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


class RepeatFilter(logging.Filter):
    """Lets a warning that says the same again pass once a minute only: what is away is asked several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        text = f"{record.getMessage()} {getattr(record, 'fields', {})}"
        told_at = self._told.get(text)
        if told_at is not None and 0 <= record.created - told_at < REPEAT_AFTER_S:
            return False
        if len(self._told) >= MOST_REMEMBERED:
            self._told.clear()
        self._told[text] = record.created
        return True


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
    handler.addFilter(RepeatFilter())
    root = logging.getLogger("tracker")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
