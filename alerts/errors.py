"""The errors of this package, split by what the caller can do about them.

    AlertsError
    ├── UserError          a setting or an address is wrong: fix it, sending again changes nothing
    │   └── UnknownSink    no sink of that name; the message lists the known ones
    ├── TryLater           the receiver is away or busy: the same delivery may work later
    └── ChartFailed        the picture could not be drawn: send without it

Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations


class AlertsError(Exception):
    """Base of every error that this package raises on purpose."""


class UserError(AlertsError):
    """A setting cannot be used as it is."""


class UnknownSink(UserError):
    """A sink was named that does not exist or cannot be imported."""


class TryLater(AlertsError):
    """The receiver did not take the delivery now; nothing is known to have been shown."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """How long the receiver asked to wait; None where it did not say."""


class ChartFailed(AlertsError):
    """A chart could not be turned into a picture."""
