"""The errors of this package, split by what the caller can do about them.

    JobsError
    ├── UserError          the input is wrong: fix it (exit 2)
    │   └── UnknownPlugin  no plugin of that name; the message lists the known ones
    ├── TryLater           the outside is away or busy: the same call may work later (exit 3)
    └── NoResult           a result file holds no usable result; what kind of end that is:
        ├── Refused        not a result of the expected kind
        ├── Failed         the benchmark failed, by its own words or by what it left
        └── Cut            a result whose end is missing, nothing of which can be taken

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
    """Something outside did not answer, or not sensibly; nothing was changed.

    `after_s`: it asked not to be asked again for so many seconds.
    """

    def __init__(self, message: str = "", *, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class NoResult(JobsError):
    """A result file gives no values; the message is the reason, the class the outcome."""


class Refused(NoResult):
    """The content is not a result of the expected kind."""


class Failed(NoResult):
    """The content says, or shows, that the benchmark failed."""


class Cut(NoResult):
    """The content is a result whose end is missing, and nothing of it can be taken."""
