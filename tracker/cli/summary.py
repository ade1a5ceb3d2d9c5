"""summary and compare: one release against another, in the words and forms that messages use."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.exits import BAD_NEWS
from tracker.cli.options import Json, Release, complete_releases, examples
from tracker.cli.output import fold, note, write, write_json

if TYPE_CHECKING:
    from alerts.summary import ReleaseSummary
    from tracker.app import App

FORMATS = ("text", "md", "html", "json")
FAIL_ON = ("regression", "unclear")

Against = Annotated[
    str | None,
    typer.Option(
        help="Release to compare with.",
        autocompletion=complete_releases,
        show_default="the previous stable one; for a candidate the previous of its line",
    ),
]
Format = Annotated[
    str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.", autocompletion=lambda: list(FORMATS))
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Exit 1 on a regression, or also where the answer is unclear: regression, unclear."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        epilog=examples(
            "tracker summary 1.28.0",
            "tracker summary onnxruntime/1.28.0 --against 1.26.0 --format md",
            "tracker summary 1.28.0 --fail-on regression && deploy",
        )
    )(summary)
    app.command(epilog=examples("tracker compare 1.26.0 1.28.0", "tracker compare 1.26.0 1.28.0 --json"))(compare)


def summary(
    release: Release, against: Against = None, format_: Format = "text", fail_on: FailOn = None, as_json: Json = False
) -> None:
    """Say what a release changed, and whether it may go live.

    JSON: `items`, one a hardware class, each with `answer` (yes, no, unclear), `sentence`, `counts` and `rows`.
    """
    _tell(release, against, "json" if as_json else format_, fail_on)


def compare(
    before: Annotated[str, typer.Argument(help="The release to start from.", autocompletion=complete_releases)],
    after: Annotated[str, typer.Argument(help="The release to judge.", autocompletion=complete_releases)],
    format_: Format = "text",
    fail_on: FailOn = None,
    as_json: Json = False,
) -> None:
    """Compare two releases: what AFTER changed against BEFORE."""
    _tell(after, before, "json" if as_json else format_, fail_on)


def _tell(release: str, against: str | None, form: str, fail_on: str | None) -> None:
    """Print the summaries of a release, one a hardware class."""
    from tracker.errors import UserError

    for name, value, known in (("--format", form, FORMATS), ("--fail-on", fail_on, (None, *FAIL_ON))):
        if value not in known:
            raise UserError(f"{name}: expected one of {', '.join(filter(None, known))}, found {value!r}")
    with opened() as app:
        from tracker.pipeline.reports import summaries_of

        found = summaries_of(app.context, release, against)
        _print(app, found, form)
    if not found:
        note(f"no answer: {release} belongs to a component that has not been measured yet")
    answers = {one.answer.value for one in found} or {"unclear"}
    if fail_on and ("no" in answers or (fail_on == "unclear" and "unclear" in answers)):
        raise typer.Exit(BAD_NEWS)


def _print(app: App, found: list[ReleaseSummary], form: str) -> None:
    from alerts import summary_formats

    address = app.settings.link_base

    if form == "json":
        write_json({"items": [summary_formats.to_dict(one) for one in found], "next": None})
        return
    for one in found:
        if form == "md":
            write(summary_formats.to_markdown(one, base_url=address))
        elif form == "html":
            write(summary_formats.to_html(one, base_url=address))
        else:
            text = _write_text(app, one)
            write(fold(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)


def _write_text(app: App, summary: ReleaseSummary) -> str:
    """Return a summary as the console shows it, with the link to the release's notes where there are any."""
    from dataclasses import replace

    from alerts import summary_formats
    from alerts.texts import to_text
    from tracker.pipeline.release_notes import links_of

    message = summary_formats.to_message(summary, base_url=app.settings.link_base, rerun_command=_next_step(summary))
    with app.store.read() as session:
        return to_text(replace(message, links=links_of(session, summary.component, summary.release.identity)))


def _next_step(summary: ReleaseSummary) -> str | None:
    """Return the command that brings an answer nearer; None where there is one."""
    from alerts.summary import Answer

    if summary.answer is not Answer.UNCLEAR or summary.against is None:
        return None
    if all(row.after is None for row in summary.rows):
        return f"tracker runs list --component {summary.component} --release {summary.release.identity}"
    return f"tracker runs trigger {summary.suites[0]} {summary.component}/{summary.release.identity}"
