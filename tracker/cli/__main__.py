"""The `tracker` command: all command groups under one name, and the exit code of whatever was asked.

Nothing heavy is imported here or at the top of a command's module, so that `tracker --help` stays quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from tracker.cli import (
    alerts,
    audit,
    books,
    claims,
    cost,
    demo,
    detect,
    doctor,
    frontier,
    hosts,
    ingest,
    init,
    parse,
    prune,
    quarantine,
    references,
    releases,
    runs,
    series,
    serve,
    suites,
    summary,
    tokens,
)
from tracker.cli.exits import exit_code_of

HELP = """Watches inference releases, measures each one, finds what got slower or faster, and says so.

Everything lives in one folder, named by TRACKER_HOME; no other set-up is needed. Start with

  tracker serve --open

Every command has --help with examples, and --json for programs. Exit codes: 0 done; 1 bad news, where asked with
--fail-on; 2 the input is wrong; 3 something is busy or away, try again later."""


def make_app() -> typer.Typer:
    """Return the whole command tree."""
    app = typer.Typer(
        name="tracker",
        help=HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    watching = (serve, demo, init, doctor, hosts, releases, suites, runs, series, summary, alerts)
    deriving = (cost, frontier, claims, books)
    for module in (*watching, detect, *deriving, references, parse, ingest, quarantine, tokens, audit, prune):
        module.add_to(app)
    return app


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of one command; what went wrong is told on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    command = typer.main.get_command(make_app())
    return exit_code_of(lambda: command.main(list(arguments), prog_name="tracker", standalone_mode=False))


def fill_streams() -> None:
    """Put nothing in the place of a standard stream that was closed, before a file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def main() -> None:
    """Run the command that was typed and end the process with its exit code."""
    fill_streams()
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
