"""How a command ends: each kind of error has its exit code and one plain line on standard error.

0 done · 1 bad news, where asked with --fail-on · 2 the input is wrong · 3 busy or away, try later · 130 interrupted.
Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

import typer

BAD_NEWS = 1
WRONG_INPUT = 2
TRY_LATER = 3
INTERRUPTED = 130
NOBODY_READS = 141

#: What typer raises for a wrong command line; its own module path differs between versions.
USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]


def exit_code_of(call: Callable[[], object]) -> int:
    """Return the exit code of a command; a code that it returned itself is kept."""
    try:
        code = call()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return NOBODY_READS
    except USAGE_ERROR as error:
        return _tell_usage(error)
    except Exception as error:
        if (code := _known_code(error)) is None:
            raise
        _tell(f"{'error' if code == WRONG_INPUT else 'try later'}: {_text_of(error)}")
        return code


def _tell(text: str) -> None:
    """Print what went wrong; it may quote what came from outside."""
    from tracker.cli.output import note

    note(text)


def drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter ends without complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _tell_usage(error: Exception) -> int:
    """Print what is wrong with the command line; a group that was named alone shows its help instead."""
    said = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(said)
        return 0
    path = context.command_path if context else "tracker"
    _tell(f"error: {' '.join(said.split())} (see {path} --help)")
    return WRONG_INPUT


def _known_code(error: Exception) -> int | None:
    """Return the exit code of an error that the product raises on purpose, None for a bug."""
    import alerts.errors
    import jobs.errors
    import tracker.errors

    parts = (tracker.errors, jobs.errors, alerts.errors)
    if isinstance(error, (*(part.UserError for part in parts), PermissionError)):
        return WRONG_INPUT
    if isinstance(error, tuple(part.TryLater for part in parts)) or _is_full(error):
        return TRY_LATER
    return None


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError):
        cure = "free some disk space" if _is_full(error) else "check its permissions, or set another TRACKER_HOME"
        return f"{error.filename or 'a file'}: {(error.strerror or '').lower()}; {cure}"
    return str(error)
