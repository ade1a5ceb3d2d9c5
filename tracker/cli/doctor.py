"""doctor: is everything here that measuring needs, and what to do where it is not."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.exits import BAD_NEWS
from tracker.cli.options import Json, examples
from tracker.cli.output import has_colors, note, paint, tone_of, write, write_json

FailOn = Annotated[str | None, typer.Option("--fail-on", help="Exit 1 from this on: warn or fail.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=examples("tracker doctor", "tracker doctor --fail-on warn --json"))(doctor)


def doctor(fail_on: FailOn = None, as_json: Json = False) -> None:
    """Check what measuring needs, and say what to do about problems.

    JSON: `items`, each with `name`, `state` (ok, warn, fail), `found` and `cure`.
    """
    from tracker.cli.checks import STATES, check_all
    from tracker.errors import UserError

    if fail_on not in (None, "warn", "fail"):
        raise UserError(f"--fail-on: expected warn or fail, found {fail_on!r}")
    checks = check_all(note)
    if as_json:
        write_json({"items": checks, "next": None})
    else:
        for check in checks:
            write(f"{paint(check.state.ljust(4), tone_of(check.state), has_colors())}  {check.name}: {check.found}")
            if check.cure:
                write(f"      {check.cure}")
    if fail_on and any(STATES.index(check.state) >= STATES.index(fail_on) for check in checks):
        raise typer.Exit(BAD_NEWS)
