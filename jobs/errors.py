"""The errors of this package, split by what the caller can do about them.

    JobsError
    ├── UserError          the input is wrong: fix it (exit 2)
    │   └── UnknownPlugin  no plugin of that name; the message lists the known ones
    ├── TryLater           the outside is away or busy: the same call may work later (exit 3)
    └── ToolFailed         the benchmark or its set-up failed: record it as an outcome

Anything else that escapes is a bug and keeps its traceback.
A message says what was expected, what was found, where, and what to do.
"""

from __future__ import annotations


class JobsError(Exception):
    """Base of every error that this package raises on purpose."""


class UserError(JobsError):
    """The input cannot be used as it is."""


class UnknownPlugin(UserError):
    """A plugin was named that does not exist or cannot be imported."""


class TryLater(JobsError):
    """Something outside did not answer, or not sensibly; nothing was changed."""


class ToolFailed(JobsError):
    """The benchmark, or preparing it, failed; a fact to be recorded, not a bug."""
