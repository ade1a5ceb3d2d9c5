"""quarantine: a value that was set aside enters its series, because somebody or a better catalogue says so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.content import Content
from jobs.errors import UserError as JobsUserError
from jobs.measurements import Label, ParseResult
from jobs.metrics import CATALOGUE, Key, Metric, find_metric
from jobs.reading import parser_of, read_result
from jobs.units import convert
from tracker.errors import UserError
from tracker.pipeline.context import Context
from tracker.pipeline.deposit_rows import GATED_KINDS, MIN_EFFECT
from tracker.pipeline.suites import read_suite_text
from tracker.store import audit, catalog, deposits, quarantine, runs, series
from tracker.store.engine import Session
from tracker.store.quarantine import Held
from tracker.store.series import SeriesIdentity
from tracker.store.tables import MeasurementRow, OutputRow

_COUNTED = re.compile(r" #\d+$")
NEVER = ("failed:", "invalid:")
"""How the reason of a run begins whose values may never enter a series, whoever says so."""
CATALOGUE_SAYS = "the catalogue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A value that entered its series."""

    id: int
    run: str
    series: str
    metric: str
    value: float
    unit: str


def release(
    context: Context, held_id: int, *, who: str, metric: str | None = None, unit: str | None = None
) -> Released:
    """Let one value into its series; UserError where its metric or unit is not known or the benchmark itself failed."""
    with context.store.write() as session:
        return _let_in(session, context, quarantine.find_held(session, held_id), who=who, metric=metric, unit=unit)


def recheck(context: Context) -> list[Released]:
    """Read again what values in quarantine came from, and let in those that the present catalogue takes."""
    with context.store.read() as session:
        held = quarantine.held_open(session)
        outputs = {one.attempt.id: runs.outputs_of(session, one.attempt.id or 0) for one in held}
    taken: list[Released] = []
    results: dict[int, ParseResult | None] = {}
    for one in held:
        attempt_id = one.attempt.id or 0
        if attempt_id not in results:
            results[attempt_id] = _read_again(context, one, outputs[one.attempt.id])
        meant = _taken_now(one, results[attempt_id])
        if meant is None:
            continue
        try:
            taken.append(release(context, one.row.id or 0, who=CATALOGUE_SAYS, metric=meant.metric, unit=meant.unit))
        except UserError:
            continue  # its series has a value of the run already, or somebody was faster
    return taken


def _read_again(context: Context, held: Held, outputs: list[OutputRow]) -> ParseResult | None:
    result = next((output for output in outputs if output.kind == "result"), None)
    path = context.settings.home / result.path if result else None
    if result is None or path is None or not path.is_file():
        return None
    if held.run.reason.startswith(NEVER):
        return None
    if not runs.is_handed_in(held.run.key):
        parser = read_suite_text(held.suite.text, held.suite.file).output.parser
        return read_result(Content(result.name, path), parser, json.loads(held.config_labels))
    return read_result(Content(result.name, path))


def _taken_now(held: Held, result: ParseResult | None) -> Key | None:
    """Return as what the present catalogue takes a value that was set aside; None if it still does not."""
    if result is None:
        return None
    key = _COUNTED.sub("", held.row.key)
    for run in result.runs:
        if run.barred is not None:
            continue
        for name, reading in run.metrics.items():
            if reading.key == key and reading.raw == held.row.raw and key != name:
                return Key(name, reading.raw_unit)
    return None


def _let_in(
    session: Session, context: Context, held: Held, *, who: str, metric: str | None, unit: str | None
) -> Released:
    row, run, now = held.row, held.run, context.clock.now()
    if row.released_at is not None:
        raise UserError(f"{row.id} was let in as {row.released_as} by {row.released_by} already")
    if run.reason.startswith(NEVER):
        raise UserError(f"{row.id} belongs to a run that {run.reason}; its values never enter a series")
    labels: dict[str, Label] = {**json.loads(held.config_labels), **json.loads(row.labels)}
    known, value = _understand(held, labels, metric, unit)
    config_id = catalog.save_configs(session, [labels])[0]
    identity = _identity(held, known, labels, config_id)
    series_id = deposits.series_ids(session, {identity.fingerprint: identity})[identity.fingerprint]
    if quarantine.is_measured(session, series_id, run.id or 0):
        raise UserError(f"the series of {known.name} has a value of run {run.public_id} already")
    series.add_measurements(
        session,
        [
            MeasurementRow(
                series_id=series_id,
                run_id=run.id or 0,
                release_id=held.build.release_id,
                host_id=held.attempt.host_id,
                environment_id=held.attempt.environment_id,
                value=value,
                measured_at=held.attempt.started_at or held.attempt.ended_at,
            )
        ],
    )
    quarantine.set_released(session, row, metric=known.name, who=who, now=now)
    if run.state == "failed":
        run.state, run.reason = "done", f"a value was let in by {who}; before: {run.reason}"
        session.add(run)
    audit.record(
        session,
        at=now,
        who=who,
        event="quarantine:released",
        subject=run.public_id,
        key=row.key,
        raw=row.raw,
        metric=known.name,
        why_kept=row.reason,
    )
    return Released(
        id=row.id or 0,
        run=run.public_id,
        series=identity.fingerprint,
        metric=known.name,
        value=value,
        unit=known.unit,
    )


def _understand(held: Held, labels: Mapping[str, Label], metric: str | None, unit: str | None) -> tuple[Metric, float]:
    """Return the metric and the value in its unit; UserError with the cure where either is not known."""
    key = _COUNTED.sub("", held.row.key)
    meant = next(_meanings(key, str(labels.get("tool", ""))), None)
    try:
        known = find_metric(metric or (meant.metric if meant else key))
    except JobsUserError as error:
        raise UserError(f"{error}. Name what {key!r} is with --metric") from error
    printed_in = unit or held.row.unit or (meant.unit if meant and not metric else "")
    if not printed_in:
        raise UserError(f"the unit of {key!r} is not known; name it with --unit, such as {known.unit}")
    try:
        return known, convert(held.row.raw, printed_in, known.unit)
    except JobsUserError as error:
        raise UserError(f"{key} = {held.row.raw!r} cannot enter a series: {error}") from error


def _meanings(key: str, tool: str) -> Iterator[Key]:
    """Yield what a key means: a canonical name, or one of the tool's own."""
    if key in CATALOGUE:
        yield Key(key, CATALOGUE[key].unit)
    try:
        yield parser_of(tool).keys[tool][key]
    except (KeyError, JobsUserError):
        return


def _identity(held: Held, metric: Metric, labels: Mapping[str, Label], config_id: int) -> SeriesIdentity:
    gated = runs.is_handed_in(held.run.key) and metric.kind in GATED_KINDS
    return SeriesIdentity(
        component_id=held.component.id or 0,
        component=held.component.slug,
        config_id=config_id,
        config_labels=labels,
        hardware_class_id=held.hardware.id or 0,
        hardware_fingerprint=held.hardware.fingerprint,
        variant=held.build.variant,
        suite=held.suite.name,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction.value,
        gated=gated,
        min_effect=MIN_EFFECT if gated else 0.0,
    )
