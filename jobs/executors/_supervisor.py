"""Carries one attempt from its claim to its end: `python -m jobs.executors._supervisor FOLDER`.

It lives on when the process that started it dies. It claims the attempt first, so however many of these are started
for one attempt, one works and the others leave at once.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from jobs.errors import UserError
from jobs.executors._attempts import Attempt, job_from_json, read, replace
from jobs.executors._commands import Ended
from jobs.executors._environments import Setup
from jobs.executors._guard import become_subreaper, end_descendants
from jobs.executors._preparation import Prepared, installer_variables, prepare
from jobs.executors._processes import MARKER, identify
from jobs.executors._program import run_program
from jobs.protocols import CALLED_OFF, JobOutcome, JobSpec


@dataclass(slots=True)
class _Stop:
    """Set by SIGTERM; looked at several times a second."""

    asked: bool = False

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def main(folder: Path) -> None:
    """Run the attempt in `folder`, unless another process has claimed it."""
    stop = _Stop()
    signal.signal(signal.SIGTERM, stop.ask)
    if os.getsid(0) != os.getpid():
        os.setsid()
    become_subreaper()
    attempt = Attempt(folder)
    if not attempt.claim(identify(os.getpid())):
        return
    end = outcome_of(lambda: _carry_out(attempt, stop), folder)
    end_descendants()
    shutil.rmtree(attempt.work, ignore_errors=True)
    attempt.finish(end.outcome, end.detail, at=datetime.now(UTC), exit_code=end.exit_code)


def outcome_of(carry_out: Callable[[], Ended], folder: Path) -> Ended:
    """Return how an attempt ended, whatever `carry_out` returns or raises."""
    try:
        return carry_out()
    except Ended as ended:
        return ended
    except UserError as error:
        return Ended(JobOutcome.TOOL_FAILED, str(error))
    except OSError as error:
        traceback.print_exc()
        return Ended(JobOutcome.INFRA_FAILED, _trouble(error, folder))
    except Exception as error:
        traceback.print_exc()
        return Ended(JobOutcome.INFRA_FAILED, f"the supervisor failed: {type(error).__name__}: {error}")


def _trouble(error: OSError, folder: Path) -> str:
    """Return a machine's failure in plain words."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"the disk is full ({error.filename or folder}); free some room and run it again"
    return f"the machine failed this attempt: {error}"


def _carry_out(attempt: Attempt, stop: _Stop) -> Ended:
    """Return how the attempt ended."""
    order = read(attempt.file("job.json"))
    if not order:
        raise Ended(JobOutcome.INFRA_FAILED, f"{attempt.file('job.json')} is missing or damaged")
    job = job_from_json(order["job"])

    def check() -> None:
        if stop.asked:
            raise _stopped(attempt)

    def started(session: int) -> None:
        replace(attempt.file("session.json"), {"session": session})

    setup = Setup(
        cache=Path(order["cache"]),
        uv=order["uv"],
        variables={**installer_variables(os.environ), MARKER: str(attempt.folder)},
        log=attempt.file("setup.log"),
        deadline=time.monotonic() + job.setup_timeout_s,
        limit_s=job.setup_timeout_s,
        started=started,
        check=check,
    )
    prepared = prepare(attempt, job, setup)
    check()
    return _measure(attempt, job, prepared, order, setup)


def _measure(attempt: Attempt, job: JobSpec, prepared: Prepared, order: Mapping[str, Any], setup: Setup) -> Ended:
    """Run the program and return how it ended."""

    def started(session: int) -> None:
        setup.started(session)
        replace(attempt.file("running.json"), {"started_at": datetime.now(UTC).isoformat()})

    return run_program(
        attempt, job, prepared, work_limit_bytes=order["work_limit_bytes"], started=started, check=setup.check
    )


def _stopped(attempt: Attempt) -> Ended:
    """Return the end of an attempt whose supervisor was told to stop: by `cancel`, or by the machine."""
    if attempt.file("cancel").exists():
        return Ended(JobOutcome.CANCELLED, CALLED_OFF)
    return Ended(JobOutcome.LOST, "its supervisor was told to stop (SIGTERM), as when a machine shuts down")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
