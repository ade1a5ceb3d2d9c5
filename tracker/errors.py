"""The errors of the service; the command line turns each kind into an exit code.

TrackerError
├── UserError     the input is wrong: fix it (exit 2)
└── TryLater      busy, locked or away: try again (exit 3)
"""

from __future__ import annotations


class TrackerError(Exception):
    """Base of every error that the service raises on purpose."""


class UserError(TrackerError):
    """The input cannot be used as it is."""


class TryLater(TrackerError):
    """Something is busy or away; nothing was changed."""
