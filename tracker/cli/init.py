"""init: a settings file with every setting, its meaning and its default, ready to be changed."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.options import Json, examples
from tracker.cli.output import write, write_json

Force = Annotated[bool, typer.Option("--force", help="Write over a settings file that is there.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=examples("tracker init", "TRACKER_HOME=/data/tracker tracker init --force"))(init)


def init(force: Force = False, as_json: Json = False) -> None:
    """Write a commented tracker.toml into the home folder.

    Nothing needs it: every setting has a default, and each can come from a TRACKER_* variable instead.
    """
    from tracker.cli.settings_text import write_settings
    from tracker.errors import UserError
    from tracker.settings import settings_file

    file = settings_file()
    if file.exists() and not force:
        raise UserError(f"{file} is there already; edit it, or write a fresh one over it with --force")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)  # it may come to hold the Slack token
        file.write_text(write_settings(), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}; set another TRACKER_HOME") from error
    write_json({"file": str(file)}) if as_json else write(f"wrote {file}")
