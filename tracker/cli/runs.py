"""runs: benchmarks asked for, looked at, ended and repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import note_queued, opened
from tracker.cli.options import Component, Json, Limit, Releases, SuiteName, Words, examples
from tracker.cli.output import Column, format_duration, format_time, note, write, write_data, write_json, write_table

if TYPE_CHECKING:
    from datetime import datetime

    from tracker.app import App
    from tracker.store.views.runs import RunDetail, RunItem

STATES = ("queued", "running", "measured", "done", "failed", "cancelled")
COLUMNS = (
    Column(title="run"),
    Column(title="state"),
    Column(title="release"),
    Column(title="suite", drop=True),
    Column(title="repeat", right=True),
    Column(title="took", right=True),
    Column(title="finished", drop=True),
    Column(title="reason", give=True),
)

RunName = Annotated[str, typer.Argument(help="Run: its id, or the beginning or end of one.")]
Repeats = Annotated[int | None, typer.Option(help="Fresh processes for each config.", show_default="the suite's")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Benchmarks: ask, look, end, repeat.", no_args_is_help=True, rich_markup_mode=None)
    group.command(
        epilog=examples(
            "tracker runs trigger onnxruntime 1.28.0",
            "tracker runs trigger trtllm-throughput-fp8 1.1.0 1.0.0",
            "tracker runs trigger llamacpp 0.2.1 --repeats 3 --json",
        )
    )(trigger)
    group.command("list", epilog=examples("tracker runs list", "tracker runs list --state failed"))(list_)
    group.command(epilog=examples("tracker runs show 019ad2f4"))(show)
    group.command(epilog=examples("tracker runs diff 019ad2f4 019ad301"))(diff)
    group.command(epilog=examples("tracker runs logs 019ad2f4", "tracker runs logs -f 019ad2f4"))(logs)
    group.command(epilog=examples("tracker runs record onnxruntime > onnxruntime.jsonl"))(record)
    group.command(epilog=examples("tracker runs cancel 019ad2f4"))(cancel)
    group.command(epilog=examples("tracker runs rerun 019ad2f4", "tracker runs rerun 019ad2f4 --repeats 5"))(rerun)
    app.add_typer(group, name="runs")


def trigger(suite: SuiteName, releases: Releases, repeats: Repeats = None, as_json: Json = False) -> None:
    """Measure releases with a suite, before anything else that waits."""
    with opened() as app:
        from jobs.suite import load_suite
        from tracker.app import whoami
        from tracker.pipeline.context import CONTAINERS
        from tracker.store.catalog import find_release

        read = load_suite(app.find_suite(suite))
        with app.store.read() as session:
            named = {find_release(session, one, read.component)[1].id: one for one in releases}
        queued = [run for one in named.values() for run in app.trigger(suite, one, whoami(), repeats)]
        _tell_queued(queued, as_json)
        if read.run.executor == CONTAINERS and len(named) > (kept := app.settings.docker.keep_images):
            note(
                f"{len(named)} releases take turns and {kept} images are kept (docker.keep_images): each image may be"
                " pulled again for each repeat; keep more, or ask for fewer at once"
            )
        note_queued(app)


def rerun(run: RunName, repeats: Annotated[int, typer.Option(help="How often.")] = 1, as_json: Json = False) -> None:
    """Measure the same config on the same build again."""
    with opened() as app:
        from tracker.app import whoami
        from tracker.cli.names import find_run_id

        with app.store.read() as session:
            name = find_run_id(session, run)
        _tell_queued(app.rerun(name, whoami(), repeats), as_json)
        note_queued(app)


def _tell_queued(ids: list[str], as_json: bool) -> None:
    write_json({"runs": ids}) if as_json else write("\n".join(ids))


def cancel(run: RunName, as_json: Json = False) -> None:
    """End a queued or running benchmark."""
    with opened() as app:
        from tracker.app import whoami
        from tracker.cli.names import find_run_id
        from tracker.store.runs import find_run

        with app.store.read() as session:
            name = find_run_id(session, run)
        app.cancel(name, whoami())
        with app.store.read() as session:
            found = find_run(session, name)
    if as_json:
        write_json({"run": found.public_id, "state": found.state})
    else:
        write(f"{found.public_id}: {'being ended' if found.state == 'running' else found.state}")


def list_(
    state: Annotated[
        str | None,
        typer.Option(help=f"Only in this state: {', '.join(STATES)}.", autocompletion=lambda: list(STATES)),
    ] = None,
    component: Component = None,
    release: Annotated[str | None, typer.Option(help="Only of this release.")] = None,
    text: Words = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Show the runs, newest first."""
    with opened() as app:
        from tracker.store.views.runs import list_runs

        with app.store.read() as session:
            now = app.clock.now()
            page = list_runs(
                session, state=state, component=component, release=release, text=text, limit=limit, now=now
            )
    if as_json:
        write_json(page)
        return
    write_table(COLUMNS, [_row(run, now) for run in page.items], empty="no run; `tracker serve` plans them")
    if page.next:
        note(f"the newest {limit}; --limit shows more")


def _row(run: RunItem, now: datetime) -> tuple[object, ...]:
    from tracker.cli.names import shorten
    from tracker.store.views.sightings import describe_unseen

    took = format_duration(run.duration_s)
    name = f"{run.component}/{run.release.display}"
    state, reason = run.state, run.reason
    if run.unseen:
        state, reason = "running, not seen", describe_unseen(run.unseen, now)
    return shorten(run.id), state, name, run.suite, run.repeat, took, run.finished_at, reason


def show(run: RunName, as_json: Json = False) -> None:
    """Show one run: attempts, files, values, and what was put aside."""
    from tracker.store.views.plain import to_plain
    from tracker.store.views.sightings import describe_unseen

    with opened() as app:
        now = app.clock.now()
        detail = _with_environments(app, find_detail(app, run))
        waits = _why_waiting(app, detail)
    if as_json:
        write_json(to_plain(detail) | {"waits_for": waits})
        return
    one = detail.run
    write(f"{one.component} {one.release.display}: {one.suite}, {one.config}, repeat {one.repeat}")
    if one.unseen:
        write(f"run {one.id} is {one.state}, {describe_unseen(one.unseen, now)}")
        write("what it does now is not known; it is followed again when there is an answer")
    else:
        write(f"run {one.id} is {one.state}" + (f": {one.reason}" if one.reason else ""))
    if waits and waits not in one.reason:
        write(f"it waits: {waits}")
    write(f"build {detail.build_tag} ({detail.build_kind}, {detail.build_digest}) on {one.hardware}")
    if one.requested_by:
        write(f"{'handed in' if detail.handed_in else 'asked for'} by {one.requested_by}")
    _write_attempts(detail)
    _write_values(detail)


def diff(before: RunName, after: RunName, as_json: Json = False) -> None:
    """Show what differs between where two runs were measured.

    Software, GPUs, host, container: all but load and the GPUs' state.
    """
    from jobs.environment import compare_environments

    with opened() as app:
        one, two = (_environment_of(app, named) for named in (before, after))
    found = compare_environments(one, two)
    if as_json:
        write_json({"items": [asdict(difference) for difference in found]})
        return
    columns = (Column(title="part"), Column(title="what", give=True), Column(title="before"), Column(title="after"))
    rows = [(each.part, each.name, each.before or "-", each.after or "-") for each in found]
    write_table(columns, rows, empty="nothing differs: same host, GPUs and software")


def _environment_of(app: App, named: str) -> Mapping[str, Any]:
    """Return what the last attempt of a run captured; UserError where none captured anything."""
    from tracker.errors import UserError

    detail = _with_environments(app, find_detail(app, named))
    captured = [attempt.environment for attempt in detail.attempts if attempt.environment]
    if not captured:
        raise UserError(f"run {detail.run.id} has no captured environment: it has not started, or ran elsewhere")
    return captured[-1]


def _with_environments(app: App, detail: RunDetail) -> RunDetail:
    from tracker.pipeline.environments import show_environments

    return show_environments(detail, app.settings.home)


def find_detail(app: App, named: str) -> RunDetail:
    """Return the run with this id or a part of it that is enough; UserError when none or several fit."""
    from tracker.cli.names import find_run_id
    from tracker.errors import UserError
    from tracker.store.views.runs import show_run

    with app.store.read() as session:
        found = show_run(session, find_run_id(session, named), now=app.clock.now())
    if found is None:
        raise UserError(f"no run {named!r}; `tracker runs list` shows them")
    return found


def _why_waiting(app: App, detail: RunDetail) -> str | None:
    """Return why no host starts a queued run now; None where one may."""
    from tracker.store.views.hosts import why_waiting

    with app.store.read() as session:
        return why_waiting(session, detail.run, now=app.clock.now())


def _write_attempts(detail: RunDetail) -> None:
    from jobs.environment import describe_environment

    for attempt in detail.attempts:
        state = attempt.outcome or "not ended"
        times = f"{format_time(attempt.started_at)} to {format_time(attempt.ended_at)}"
        flags = f" [{attempt.flags}]" if attempt.flags else ""
        write(f"\nattempt {attempt.number} on {attempt.host}, {times}: {state}{flags} {attempt.detail}".rstrip())
        if attempt.facts:
            write("  says: " + " ".join(f"{name}={value}" for name, value in attempt.facts.items()))
        for what, words in describe_environment(attempt.environment):
            write(f"  {what}: {words}")
        for output in attempt.outputs:
            write(f"  {output.kind}: {output.path} ({output.size_bytes:,} bytes)")
        for aside in attempt.put_aside:
            write(f"  put aside: {aside.key} = {aside.raw}: {aside.reason}")


def _write_values(detail: RunDetail) -> None:
    from alerts.wording import format_value

    if detail.values:
        write("")
        rows = [(one.name, one.metric, format_value(one.value, one.unit), one.samples) for one in detail.values]
        columns = (Column(title="series", give=True), Column(title="metric"), Column(title="value", right=True))
        write_table((*columns, Column(title="samples", right=True)), rows, empty="")


def logs(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Print what the benchmark printed, so far or until its end."""
    with opened() as app:
        from tracker.cli.following import follow_log, read_log

        if as_json:
            write_json(read_log(app, run))
        else:
            follow_log(app, run, to_the_end=follow)


def record(suite: SuiteName) -> None:
    """Write a suite's measured runs as recordings.

    One a line, for `tracker demo`, or for somebody else's.
    """
    with opened() as app:
        from tracker.pipeline.recordings import list_recordings

        for line in list_recordings(app.context, suite):
            write_data(line)
