"""execute: claimed runs are started, watched and ended; what they left is kept.

`advance` looks once and returns; whoever calls it again, in this process or after a restart, carries on from the
tables. An attempt's key is stored before anything starts, and an executor runs a key once.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from jobs.errors import JobsError, TryLater, UserError
from jobs.protocols import CALLED_OFF, Executor, JobOutcome, JobOutput, JobState, JobStatus
from tracker.logs import EventLog
from tracker.pipeline.context import Context, Place
from tracker.pipeline.environments import keep_environment
from tracker.pipeline.gate import admits, see_others
from tracker.pipeline.plan import service_problem
from tracker.pipeline.settle import settle
from tracker.pipeline.sightings import note_seen, note_unseen
from tracker.pipeline.suites import job_of, read_suite_text, suite_of
from tracker.store import audit, catalog, claims, runs
from tracker.store.claims import Claim, Waiting
from tracker.store.sightings import save_wait

log = EventLog(__name__)

#: What becomes of a run when its attempt has ended so; infra_failed and lost are tried again first.
RUN_STATE = {
    JobOutcome.OK: "measured",
    JobOutcome.TOOL_FAILED: "failed",
    JobOutcome.TIMEOUT: "failed",
    JobOutcome.CANCELLED: "cancelled",
    JobOutcome.INFRA_FAILED: "failed",
    JobOutcome.LOST: "failed",
}
RETRIED = frozenset({JobOutcome.INFRA_FAILED, JobOutcome.LOST})
PUT_BACK_WITHIN_S = 6.0
"""So long all runs in hand together may take to end when the service stops."""
STOPPED = "the service stopped"


def recover(context: Context) -> int:
    """Take over what this daemon's earlier life left running, and end attempts that no run knows; return how many."""
    places, now = context.places(), context.clock.now()
    with context.store.write() as session:
        host_ids = [place.host_id for place in places]
        taken = claims.take_over(session, owner=context.owner, host_ids=host_ids, lease=_lease(context), now=now)
    alive = frozenset(claim.attempt_key for claim in _claims(context))
    with context.store.read() as session:
        used = {read_suite_text(text, file).run.executor for text, file in catalog.suite_texts(session)}
    names = ("local", *sorted(used - {"local"}))  # all share a folder: first the one that knows about processes
    for name, place in [(name, place) for name in names for place in places if place.takes(name)]:
        try:
            swept = context.open_executor(name, place).sweep(alive)
        except JobsError as error:
            log.warning("executor.not_swept", executor=name, host=place.name or None, why=str(error))
            continue
        for key in swept:
            log.warning("attempt.swept", attempt=key)
    if taken:
        log.info("runs.taken_over", runs=taken)
    return taken


def advance(context: Context) -> int:
    """Look at every run in hand once, start others where slots are free; return how many are in hand now."""
    held = [claim for claim in _claims(context) if not _look_at(context, claim)]
    _renew(context, held)
    while claimed := _claim_each(context, held):
        held += [claim for claim in claimed if not _start(context, claim)]
    return len(held)


def put_back(context: Context, *, within_s: float = PUT_BACK_WITHIN_S) -> int:
    """End what is running and queue it again, for a stop of the service; return how many runs that were.

    All are ended at once. What cannot be ended now or does not end in time, as its engine is away or silent, stays in
    hand: the next life takes it over.
    """
    held = _claims(context)
    if not held:
        return 0
    log.info("runs.ending", runs=",".join(claim.public_id for claim in held), within_s=within_s)
    troubles: dict[str, str] = {}
    threads = [threading.Thread(target=_put_out, args=(context, claim, troubles), daemon=True) for claim in held]
    for thread in threads:
        thread.start()
    until, back = time.monotonic() + within_s, 0
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    for claim in held:
        if why := troubles.get(claim.attempt_key, f"it has not ended within {within_s:g} s"):
            log.warning("run.not_put_back", run=claim.public_id, why=why)
            continue
        _record(context, claim, JobOutcome.CANCELLED, STOPPED, state="queued", reason="")
        back += 1
    return back


def count_in_hand(context: Context) -> int:
    """Return how many runs this daemon has started, or took over, that have not ended."""
    return len(_claims(context))


def _put_out(context: Context, claim: Claim, troubles: dict[str, str]) -> None:
    """End one attempt, however long that takes; note in `troubles` why it could not be, nothing where it has ended."""
    try:
        executor = _executor(context, claim)
        executor.cancel(claim.attempt_key)
        executor.abandon(claim.attempt_key)
    except (JobsError, OSError) as error:
        troubles[claim.attempt_key] = str(error) or type(error).__name__
    else:
        troubles[claim.attempt_key] = ""


def _claims(context: Context) -> list[Claim]:
    with context.store.read() as session:
        return claims.owned_claims(session, owner=context.owner)


def _claim_each(context: Context, held: Sequence[Claim]) -> list[Claim]:
    """Return the next run of each host that is fit for one; one that is refused stays in the queue with the reason."""
    places, now = context.places(), context.clock.now()
    with context.store.read() as session:
        waiting = {
            place: claims.next_waiting(
                session,
                host_id=place.host_id,
                hardware_class_id=place.hardware_class_id,
                now=now,
                suits=partial(_suits, context, place) if len(places) > 1 else None,
            )
            for place in places
        }
    wanted = [(place, run) for place, run in waiting.items() if run is not None]
    seen = see_others(context, [place for place, _ in wanted if not place.is_here])
    on = Counter(claim.host_id for claim in held)
    return [
        claim
        for place, run in wanted
        if admits(context, place, run, own_runs=on[place.host_id], seen=seen.get(place.host_id))
        and (claim := _claim(context, place, run)) is not None
    ]


def _suits(context: Context, place: Place, text: str, file: str) -> bool:
    """Return whether a host may measure a suite: its executor reaches it, and it is in the pool that is asked for."""
    suite = read_suite_text(text, file)
    return place.takes(suite.run.executor) and service_problem(context, suite, place) is None


def _claim(context: Context, place: Place, run: Waiting) -> Claim | None:
    with context.store.write() as session:
        return claims.claim_next(
            session,
            owner=context.owner,
            host_id=place.host_id,
            hardware_class_id=place.hardware_class_id,
            lease=_lease(context),
            now=context.clock.now(),
            run_id=run.run_id,
        )


def _start(context: Context, claim: Claim) -> bool:
    """Start a claimed run; return whether it has ended already because it cannot be started."""
    try:
        _executor(context, claim).start(job_of(claim))
    except (JobsError, OSError) as error:
        _forget(context, claim)
        _end(context, claim, JobStatus(state=JobState.ENDED, outcome=JobOutcome.INFRA_FAILED, detail=str(error)), ())
        return True
    log.info("run.started", run=claim.public_id, release=claim.release, attempt=claim.attempt_key)
    return False


def _forget(context: Context, claim: Claim) -> None:
    """Make sure that an attempt whose start failed halfway does not go on by itself."""
    with suppress(JobsError, OSError):
        _executor(context, claim).cancel(claim.attempt_key)


def _look_at(context: Context, claim: Claim) -> bool:
    """Look at one run; return whether it has ended. One that cannot be looked at now stays in hand."""
    try:
        return _follow(context, claim)
    except TryLater as error:
        note_unseen(context, claim, str(error))
        return False
    except OSError as error:  # a full disk, a share that is away: nothing is lost by looking again
        place = error.filename or context.settings.home
        note_unseen(context, claim, f"{place} cannot be used now: {error.strerror or error}")
        return False
    except UserError as error:
        _end(context, claim, JobStatus(state=JobState.ENDED, outcome=JobOutcome.LOST, detail=str(error)), ())
        return True


def _follow(context: Context, claim: Claim) -> bool:
    """Poll one run and do what its state asks for; return whether it has ended."""
    executor = _executor(context, claim)
    if claim.cancel_requested_by:
        executor.cancel(claim.attempt_key)
        executor.abandon(claim.attempt_key)
    status = executor.poll(claim.attempt_key)
    note_seen(context, claim)
    if status.state is JobState.UNKNOWN:
        return _start(context, claim)
    if status.state is JobState.ENDED:
        _end(context, claim, status, executor.fetch(claim.attempt_key))
        return True
    if status.detail[:1000] != claim.waits_for:
        with context.store.write() as session:
            save_wait(session, claim, status.detail)
    return False


def _end(context: Context, claim: Claim, status: JobStatus, outputs: Sequence[JobOutput]) -> None:
    """Record an attempt's end and send its run on its way: to be read, tried again, or given up."""
    outcome = status.outcome or JobOutcome.LOST
    again, not_before = outcome in RETRIED and not claim.cancel_requested_by, None
    if again and (next_try := claim.failures + 2) <= context.settings.max_attempts:
        not_before = context.clock.now() + retry_wait(claim.failures)
        which = f"attempt {next_try} of {context.settings.max_attempts}"
        state, reason = "queued", f"tried again at {not_before:%H:%M:%S} UTC ({which}) after: {status.detail}"
    elif outcome is JobOutcome.CANCELLED and not claim.cancel_requested_by and status.detail == CALLED_OFF:
        _record(context, claim, outcome, STOPPED, status=status, outputs=outputs, state="queued", reason="")
        return  # an earlier life asked for that as it stopped, and did not see it done
    elif claim.cancel_requested_by and outcome is JobOutcome.CANCELLED:
        state, reason = "cancelled", f"cancelled by {claim.cancel_requested_by}"
    else:
        state, reason = RUN_STATE[outcome], "" if outcome is JobOutcome.OK else status.detail
    ended: dict[str, Any] = {"state": state, "reason": reason, "not_before": not_before}
    _record(context, claim, outcome, status.detail, status=status, outputs=outputs, **ended)


def retry_wait(failures: int) -> timedelta:
    """Return how long a run waits for its next try that the infrastructure has failed so often before.

    10 s, 1 min, 6 min, then half an hour: a short disturbance costs little, a refusal leaves time to be put right.
    """
    return min(timedelta(seconds=10 * 6 ** min(failures, 4)), claims.LONGEST_WAIT)


def _record(
    context: Context,
    claim: Claim,
    outcome: JobOutcome,
    detail: str,
    *,
    state: str,
    reason: str,
    not_before: datetime | None = None,
    status: JobStatus | None = None,
    outputs: Sequence[JobOutput] = (),
) -> None:
    now = context.clock.now()
    with context.store.write() as session:
        environment_id, flags = keep_environment(session, outputs)
        attempt: dict[str, Any] = {"outcome": outcome.value, "detail": detail, "environment_id": environment_id}
        attempt |= {"exit_code": status.exit_code if status else None, "flags": flags}
        attempt |= times_of(status, now)
        kept = claims.end_attempt(
            session,
            claim,
            attempt=attempt,
            outputs=[_output_row(context, output) for output in outputs],
            state=state,
            reason=reason,
            now=now,
            failures=int(outcome in RETRIED),
            not_before=not_before,
        )
        if not kept:
            log.warning("attempt.fenced_out", run=claim.public_id, attempt=claim.attempt_key)
            return
        if state in runs.FINAL_STATES:
            audit.record(
                session, at=now, who=context.owner, event="run:ended", subject=claim.public_id, state=state, why=reason
            )
            settle(session, claim.run_id)
    log.info("attempt.ended", run=claim.public_id, attempt=claim.attempt_key, outcome=outcome.value, detail=detail)


def times_of(status: JobStatus | None, now: datetime) -> dict[str, datetime | None]:
    """Return begin and end as told where it ran, so that its time is right whatever the clock there says.

    A clock that is ahead of ours puts neither into the future.
    """
    if status is None or status.ended_at is None:
        return {"started_at": status.started_at if status else None, "ended_at": now}
    ahead = max(timedelta(0), status.ended_at - now)
    started_at = status.started_at - ahead if status.started_at else None
    return {"started_at": started_at, "ended_at": status.ended_at - ahead}


def _output_row(context: Context, output: JobOutput) -> dict[str, Any]:
    home = context.settings.home
    path = output.path.relative_to(home) if output.path.is_relative_to(home) else output.path
    return {
        "kind": output.kind,
        "name": output.name,
        "path": str(path),
        "size_bytes": output.size_bytes,
        "sha256": output.sha256,
    }


def _renew(context: Context, held: Sequence[Claim]) -> None:
    """Extend leases that have used up half their time."""
    now, lease = context.clock.now(), _lease(context)
    due = [claim for claim in held if claim.lease_until is None or claim.lease_until - now < lease / 2]
    if due:
        with context.store.write() as session:
            claims.renew(session, due, lease=lease, now=now)


def _lease(context: Context) -> timedelta:
    return timedelta(seconds=context.settings.lease_s)


def _executor(context: Context, claim: Claim) -> Executor:
    """Return what carries a claimed run out, on the host that it was claimed for."""
    name = suite_of(claim).run.executor
    place = next((one for one in context.places() if one.host_id == claim.host_id and one.takes(name)), None)
    return context.open_executor(name, place)
