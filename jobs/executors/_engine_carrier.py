"""Carries one attempt in a container: `python -m jobs.executors._engine_carrier FOLDER < settings.json`.

It lives on when the process that started it dies; when it dies itself, the container lives on, and the next carrier
takes over from the files in the attempt's folder. One works at a time (`carrier.lock`). The end is decided once
(`end.json`), then the container is removed, then the end is told (`status.json`): killed anywhere in between, the next
carrier goes on from there.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.executors._attempts import Attempt, job_from_json, read, write_once
from jobs.executors._attempts import replace as replace_file
from jobs.executors._commands import Ended
from jobs.executors._engine_client import EngineAway, EngineRefused, connect
from jobs.executors._engine_container import attempt_of, container_name
from jobs.executors._engine_follow import follow
from jobs.executors._engine_options import options_from_json
from jobs.executors._engine_patience import Patience
from jobs.executors._engine_setup import (
    CREATING,
    STARTING,
    Site,
    asset_setup,
    is_unstarted,
    note_start,
    set_up,
    setup_too_late,
    start,
)
from jobs.executors._guard import become_subreaper, end_descendants
from jobs.executors._preparation import installer_variables
from jobs.executors._processes import MARKER, identify
from jobs.protocols import CALLED_OFF, JobOutcome, JobSpec
from jobs.ssh import close_tunnels

EXECUTOR = "docker_engine"
GRACE_S = 3
"""Between a polite end and the other."""
_LOCK_WITHIN_S = 1.0


@dataclass(slots=True, kw_only=True)
class Stop:
    """Whether somebody wants the attempt to end, and whether its set-up has taken too long."""

    attempt: Attempt
    limit_s: float
    deadline: float
    """Of the set-up, monotonic; infinite once the program runs."""

    def check(self) -> None:
        """Raise Ended where it is to end now."""
        if self.attempt.file("cancel").exists():
            raise Ended(JobOutcome.CANCELLED, CALLED_OFF)
        if time.monotonic() > self.deadline:
            raise setup_too_late(self.attempt.file("setup.log"), self.limit_s)


def main(folder: Path) -> None:
    """Carry the attempt in `folder`, unless somebody else does or it is not to run."""
    given = json.load(sys.stdin)
    if os.getsid(0) != os.getpid():
        os.setsid()
    become_subreaper()
    attempt = Attempt(folder)
    lock = os.open(attempt.file("carrier.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    if not _locked(lock):
        return
    replace_file(attempt.file("carrier.json"), identify(os.getpid()))
    attempt.claim({"executor": EXECUTOR})
    claim = read(attempt.file("claimed.json")) or {}
    if claim.get("executor") == EXECUTOR and attempt.status() is None:
        _carry(attempt, given)


def _locked(lock: int) -> bool:
    until = time.monotonic() + _LOCK_WITHIN_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)


def _carry(attempt: Attempt, given: Mapping[str, Any]) -> None:
    """Bring the attempt to its end: decided, cleared away, told."""
    site, stop = _site(attempt, given)
    end = read(attempt.file("end.json"))
    if not end:
        ended = _decide(site, stop)
        end = {"outcome": ended.outcome.value, "detail": ended.detail, "exit_code": ended.exit_code}
        end["at"] = datetime.now(UTC).isoformat()
        write_once(attempt.file("end.json"), end)
        end = read(attempt.file("end.json")) or end
    if attempt.file(CREATING).exists():
        _clear(site)  # all of the set-up has ended before; what is below this process is the way to the engine
    close_tunnels()
    end_descendants()
    attempt.finish(
        JobOutcome(end["outcome"]), end["detail"], at=datetime.fromisoformat(end["at"]), exit_code=end["exit_code"]
    )


def _site(attempt: Attempt, given: Mapping[str, Any]) -> tuple[Site, Stop]:
    order = read(attempt.file("job.json")) or {}
    job = job_from_json(order["job"])
    options = options_from_json(given["options"])
    stop = Stop(attempt=attempt, limit_s=job.setup_timeout_s, deadline=time.monotonic() + job.setup_timeout_s)
    variables = {**installer_variables(os.environ), MARKER: str(attempt.folder)}
    setup = asset_setup(attempt, job, cache=Path(order["cache"]), uv=options.uv, variables=variables, check=stop.check)
    site = Site(
        attempt=attempt,
        job=job,
        engine=connect(options.address),
        options=options,
        name=container_name(order["home"], job.key),
        home=order["home"],
        login=given["login"],
        hardware=given.get("hardware"),
        setup=setup,
        patience=Patience(attempt=attempt, check=stop.check),
    )
    return site, stop


def _decide(site: Site, stop: Stop) -> Ended:
    """Return how the attempt ended, whatever happened."""
    try:
        return _carry_out(site, stop)
    except Ended as ended:
        return ended
    except UserError as error:
        return Ended(JobOutcome.TOOL_FAILED, str(error))
    except EngineRefused as error:
        return Ended(JobOutcome.INFRA_FAILED, f"the engine refuses: {error}")
    except OSError as error:
        traceback.print_exc()
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        what = f"the disk is full ({error.filename or site.attempt.folder})" if full else str(error)
        return Ended(JobOutcome.INFRA_FAILED, f"this machine failed the attempt: {what}")
    except Exception as error:
        traceback.print_exc()
        return Ended(JobOutcome.INFRA_FAILED, f"the carrier failed: {type(error).__name__}: {error}")


def _carry_out(site: Site, stop: Stop) -> Ended:
    """Return how the container ended, after making it unless one is there already."""
    stop.check()
    found = site.patience.ask(lambda: site.engine.inspect(site.name))
    if found is not None:
        _check_ours(found, site.job)
        if is_unstarted(found):
            if site.attempt.file(STARTING).exists():  # all is in it, and it may be starting this moment
                start(site)
            else:
                site.patience.ask(lambda: site.engine.remove(site.name))
                found = None
    if found is None and site.attempt.file(STARTING).exists():
        return Ended(
            JobOutcome.LOST, f"its container {site.name} is gone: removed by somebody else, or with its engine"
        )
    if found is None:
        set_up(site)
    note_start(site.attempt)
    stop.deadline = float("inf")
    return follow(site, grace_s=GRACE_S)


def _check_ours(found: Mapping[str, Any], job: JobSpec) -> None:
    labels = (found.get("Config") or {}).get("Labels")
    if attempt_of(labels) != job.key:
        name = str(found.get("Name"))
        raise Ended(JobOutcome.INFRA_FAILED, f"a container named {name} exists and is not ours; rename or remove it")


def _clear(site: Site) -> None:
    """End and remove the container, however long the engine is away."""
    patience = replace(site.patience, check=lambda: None)

    def clear() -> None:
        found = site.engine.inspect(site.name)
        if found is None or attempt_of((found.get("Config") or {}).get("Labels")) != site.job.key:
            return
        try:
            if (found.get("State") or {}).get("Running"):
                site.engine.stop(site.name, GRACE_S)
            site.engine.remove(site.name)
        except EngineRefused as error:
            raise EngineAway(f"container {site.name} cannot be removed: {error}") from error

    patience.ask(clear)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stderr.flush()
    os._exit(0)  # threads that still wait for an answer are left behind
