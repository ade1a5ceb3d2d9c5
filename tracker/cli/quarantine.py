"""quarantine: values that may not enter a series, why, and letting them in."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.names import shorten
from tracker.cli.options import Component, Json, Limit, Words, examples
from tracker.cli.output import Column, note, write, write_json, write_table


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Values that may not enter a series.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list", epilog=examples("tracker quarantine list", "tracker quarantine list --text power --json"))(
        list_
    )
    release_examples = ("tracker quarantine release 17", "tracker quarantine release 18 --metric power_w --unit W")
    group.command(epilog=examples(*release_examples))(release)
    group.command(epilog=examples("tracker quarantine recheck"))(recheck)
    app.add_typer(group, name="quarantine")


def list_(
    text: Words = None,
    component: Component = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were let in.")] = False,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """Show what was set aside, newest first, with the reason."""
    from tracker.store.views.quarantine import list_held

    with opened() as app, app.store.read() as session:
        page = list_held(session, released=None if everything else False, component=component, text=text, limit=limit)
    if as_json:
        write_json(page)
        return
    columns = (
        Column(title="id", right=True),
        Column(title="run", drop=True),
        Column(title="release"),
        Column(title="key", give=True),
        Column(title="as printed", give=True),
        Column(title="unit", drop=True),
        Column(title="why", give=True),
        Column(title="let in as", drop=True),
    )
    rows = [
        (i.id, shorten(i.run), f"{i.component}/{i.release}", i.key, i.raw, i.unit, i.reason, i.released_as)
        for i in page.items
    ]
    write_table(columns, rows, empty="nothing is set aside: every value that was read is in its series")


def release(
    held: Annotated[int, typer.Argument(help="The value's id, as the list shows it.", min=1, max=2**63 - 1)],
    metric: Annotated[str | None, typer.Option(help="What it is, where its key does not say: power_w.")] = None,
    unit: Annotated[str | None, typer.Option(help="The unit it was printed in, where the tool does not say.")] = None,
    as_json: Json = False,
) -> None:
    """Let a value into its series. Values of a benchmark that failed or called itself invalid never enter one."""
    from tracker.app import whoami
    from tracker.pipeline.quarantine import release as let_in

    with opened() as app:
        done = let_in(app.context, held, who=whoami(), metric=metric, unit=unit)
    if as_json:
        write_json(done)
    else:
        write(f"{done.id} is now {done.metric} = {done.value:g} {done.unit} in series {done.series}")


def recheck(as_json: Json = False) -> None:
    """Read the files of all values in quarantine again, and let in what the present catalogue takes."""
    from tracker.pipeline.quarantine import recheck as read_again

    with opened() as app:
        taken = read_again(app.context)
    if as_json:
        write_json({"items": taken, "next": None})
        return
    for one in taken:
        write(f"{one.id} is now {one.metric} = {one.value:g} {one.unit} in series {one.series}")
    note(f"{len(taken)} let in")
