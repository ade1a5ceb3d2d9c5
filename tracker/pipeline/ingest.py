"""ingest: what a benchmark left is read; valid values enter series, all others are kept aside with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from jobs.content import Content
from jobs.fingerprint import canonical_labels
from jobs.labels import series_labels
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import find_metric
from jobs.reading import read_result
from jobs.suite import Suite, min_effect_ratio
from tracker.logs import EventLog
from tracker.pipeline.aside import facts_of, reading_aside, values_aside
from tracker.pipeline.context import CONTAINERS, Context
from tracker.pipeline.environments import captured_hardware
from tracker.pipeline.plan import ELSEWHERE
from tracker.pipeline.settle import settle
from tracker.pipeline.suites import absent_results, quality_problem, read_suite_text
from tracker.store import audit, catalog, quarantine, runs, series
from tracker.store.engine import Session
from tracker.store.quarantine import SetAside
from tracker.store.runs import RunFacts
from tracker.store.tables import AttemptRow, MeasurementRow, OutputRow, RunRow

log = EventLog(__name__)

CONTENDED = "contended"
"""The flag of a result that other work on the host held up."""
CONTENDED_ATTEMPTS = 2
"""A contended attempt is made again this often in all; then its values are kept, with the flag."""
CONTENDED_WAIT = timedelta(seconds=20)
"""What held it up may be over by then; other runs go first."""
AGAIN = "measured again: other work held the benchmark up"
SECOND = "a second value of the same series in one run"
TAKEN = frozenset({ParseOutcome.OK, ParseOutcome.PARTIAL})


@dataclass(slots=True)
class Reading:
    """What one attempt's output comes to: the values to keep, those set aside, and the run's end."""

    state: str
    reason: str
    flags: frozenset[str] = frozenset()
    values: list[tuple[dict[str, Label], str, ParsedRun]] = field(default_factory=list)
    rejected: list[SetAside] = field(default_factory=list)


def ingest(context: Context) -> int:
    """Read every attempt that waits; return how many were read."""
    with context.store.read() as session:
        waiting = runs.unread_attempts(session)
    for run, attempt in waiting:
        _ingest_one(context, run, attempt)
    return len(waiting)


def _ingest_one(context: Context, run: RunRow, attempt: AttemptRow) -> None:
    run_id, attempt_id = run.id or 0, attempt.id or 0
    with context.store.read() as session:
        facts = runs.facts_of(session, run_id)
        outputs = runs.outputs_of(session, attempt_id)
    suite = read_suite_text(facts.suite_text, facts.suite_file)
    parsed = parse_output(context, suite, facts.labels, outputs)
    reading = judge_result(suite, facts.labels, parsed)
    known_flags = frozenset(filter(None, attempt.flags.split(",")))
    if CONTENDED in reading.flags and "replayed" not in known_flags and attempt.number < CONTENDED_ATTEMPTS:
        reading = Reading(state="queued", reason=AGAIN, flags=reading.flags)
    now, here = context.clock.now(), context.place().host_id
    with context.store.write() as session:
        kept = runs.finish_reading(
            session,
            run_id,
            attempt_id,
            state=reading.state,
            reason=reading.reason,
            flags=",".join(sorted(reading.flags | known_flags)),
            facts=facts_of(parsed),
            outcome={"failed": "parse_failed", "queued": "infra_failed"}.get(reading.state, "ok"),
            now=now,
            not_before=now + CONTENDED_WAIT if reading.state == "queued" else None,
        )
        if not kept:
            return
        _keep_values(session, suite, facts, attempt, reading, here)
        quarantine.keep(session, {attempt_id: reading.rejected})
        audit.record(
            session,
            at=now,
            who=context.owner,
            event="run:read",
            subject=run.public_id,
            state=reading.state,
            values=len(reading.values),
            why=reading.reason,
        )
        if reading.state in runs.FINAL_STATES:
            settle(session, run_id)
    log.info("run.read", run=run.public_id, state=reading.state, values=len(reading.values), why=reading.reason or None)


def parse_output(context: Context, suite: Suite, labels: Mapping[str, Label], outputs: list[OutputRow]) -> ParseResult:
    """Return what the suite's parser makes of the result file; a file that cannot be read is refused."""
    result = next((output for output in outputs if output.kind == "result"), None)
    if result is None:
        return _refused(suite, f"the benchmark left no {suite.output.file}")
    content = Content(result.name, context.settings.home / result.path)
    try:
        return read_result(content, suite.output.parser, labels)
    except OSError as error:
        return _refused(suite, f"{result.name} cannot be read: {error.strerror}")


def _refused(suite: Suite, reason: str) -> ParseResult:
    return ParseResult(tool=suite.output.parser, outcome=ParseOutcome.REFUSED, reason=reason)


def judge_result(suite: Suite, asked: Mapping[str, Label], result: ParseResult) -> Reading:
    """Return what to keep of a parse: nothing unless the outcome is good and the suite's quality check holds."""
    labelled = [(run, series_labels(asked, run.labels)) for run in result.runs]
    rejected = [one for run, labels in labelled for one in values_aside(run, labels, run.barred)]
    if result.outcome not in TAKEN or not result.runs:
        return Reading(state="failed", reason=f"{result.outcome.value}: {result.reason}", rejected=rejected)
    if problem := quality_problem(suite, result):
        rejected += [
            one for run, labels in labelled for one in values_aside(replace(run, rejected=()), labels, problem)
        ]
        return Reading(state="failed", reason=f"invalid: {problem}", rejected=rejected)
    flags = frozenset(flag for run in result.runs for flag in run.flags)
    reading = Reading(state="done", reason="", rejected=rejected, flags=flags)
    seen: set[tuple[str, str]] = set()
    for run, labels in labelled:
        text = canonical_labels(labels)
        for metric in run.metrics if run.barred is None else ():
            place = (text, metric)
            if place in seen:
                reading.rejected.append(reading_aside(run.metrics[metric], text, SECOND))
            else:
                seen.add(place)
                reading.values.append((labels, metric, run))
    absent = absent_results(suite, dict(asked), result)
    if not reading.values:
        reading.state, reading.reason = "failed", "no valid value: " + ("; ".join(absent) or result.reason or "empty")
    elif absent or result.outcome is ParseOutcome.PARTIAL:
        reading.reason = "partial: " + "; ".join([*absent, *([result.reason] if result.reason else [])])
    return reading


def _hardware(session: Session, suite: Suite, facts: RunFacts, attempt: AttemptRow, here: int) -> tuple[int, str]:
    """Return the hardware class that the values belong to: the planned one, or what was captured on another machine."""
    planned = (facts.hardware_class_id, facts.hardware_fingerprint)
    elsewhere = suite.run.executor == CONTAINERS and attempt.host_id != here
    if suite.run.executor not in ELSEWHERE and not elsewhere:
        return planned
    return captured_hardware(session, attempt.environment_id) or planned


def _keep_values(
    session: Session, suite: Suite, facts: RunFacts, attempt: AttemptRow, reading: Reading, here: int
) -> None:
    labels = [labels for labels, _, _ in reading.values]
    config_ids = catalog.save_configs(session, labels)
    hardware_id, hardware = _hardware(session, suite, facts, attempt, here)
    rows = []
    for (config, metric, parsed), config_id in zip(reading.values, config_ids, strict=True):
        known = find_metric(metric)
        min_effect = min_effect_ratio(suite, config, metric)
        identity = series.SeriesIdentity(
            component_id=facts.component_id,
            component=facts.component,
            config_id=config_id,
            config_labels=config,
            hardware_class_id=hardware_id,
            hardware_fingerprint=hardware,
            variant=facts.variant,
            suite=suite.name,
            metric=known.name,
            unit=known.unit,
            direction=known.direction.value,
            gated=min_effect is not None,
            min_effect=min_effect or 0.0,
        )
        value = parsed.metrics[metric]
        rows.append(
            MeasurementRow(
                series_id=series.save_series(session, identity),
                run_id=facts.run_id,
                release_id=facts.release_id,
                host_id=attempt.host_id,
                environment_id=attempt.environment_id,
                value=value.value,
                samples=value.samples,
                spread=value.spread,
                contended=CONTENDED in reading.flags,
                measured_at=attempt.started_at or attempt.ended_at,
            )
        )
    series.add_measurements(session, rows)
