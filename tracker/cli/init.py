"""init: a settings file with every setting, its meaning and its default, ready to be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.options import Json, complete_suites, examples
from tracker.cli.output import write, write_json

Force = Annotated[bool, typer.Option("--force", help="Write over a settings file that is there.")]
Suites = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="Suite that the daemon is to run; may be given several times.",
        autocompletion=complete_suites,
        show_default="onnxruntime",
    ),
]
Models = Annotated[
    Path | None,
    typer.Option(help="Folder of models on this machine; suites are narrowed to those that lie there."),
]
Choose = Annotated[
    list[str] | None,
    typer.Option("--choose", help="Only configs with these values: isl=1000 or model=a,b; may be given several times."),
]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(
        epilog=examples(
            "tracker init",
            "tracker init --suite trtllm-throughput-fp8 --models /data/models --choose isl=1000",
            "TRACKER_HOME=/data/tracker tracker init --force",
        )
    )(init)


def init(
    suite: Suites = None,
    models: Models = None,
    choose: Choose = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a commented tracker.toml into the home folder.

    Nothing needs it: every setting has a default, and each can come from a TRACKER_* variable instead. With suites it
    also sets what they need: the engine of containers that is here, the models, the configs.
    """
    from tracker.cli.settings_text import write_settings
    from tracker.cli.starting import first_settings
    from tracker.errors import UserError
    from tracker.settings import settings_file

    file = settings_file()
    if file.exists() and not force:
        raise UserError(f"{file} is there already; edit it, or write a fresh one over it with --force")
    start = first_settings(suite or (), models=models, wanted=choose or ())
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)  # it may come to hold the Slack token
        file.write_text(write_settings(start.tables), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}; set another TRACKER_HOME") from error
    if as_json:
        write_json({"file": str(file)} | ({"settings": start.settings} if start.tables else {}))
        return
    write("\n".join([f"wrote {file}", *start.lines]))
    write("next: `tracker doctor` says what is missing, then `tracker serve --progress`")
