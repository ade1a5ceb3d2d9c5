"""Options that many commands share, and what the shell may complete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def examples(*lines: str) -> str:
    """Return the end of a command's help: what to type, one line each."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def complete_suites(incomplete: str) -> list[str]:
    """Return the shipped suites that begin so; cheap, so suites in folders of your own are not looked for."""
    import jobs

    folder = Path(jobs.__path__[0]) / "suites"
    files = [*folder.glob("*.toml"), *folder.glob("examples/*.toml")]
    return sorted(file.stem for file in files if file.stem.startswith(incomplete))


def complete_releases(incomplete: str) -> list[str]:
    """Return the known releases that begin so, newest first; none where there is no store yet."""
    try:
        from tracker.cli.access import opened
        from tracker.store.views.releases import list_releases

        with opened() as app:
            if not app.settings.database_url and not (app.settings.home / "tracker.db").exists():
                return []
            with app.store.read() as session:
                items = list_releases(session, limit=500).items
    except Exception:
        # a shell that completes must never see an error: no completion is the answer
        return []
    return [item.identity for item in items if item.identity.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Limit = Annotated[int, typer.Option(help="Most lines to show, 1 to 500.", min=1, max=500)]
Component = Annotated[str | None, typer.Option(help="Only this component, such as onnxruntime.")]
Words = Annotated[str | None, typer.Option("--text", help="Only where each of these words is found.")]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="Suite to run, by name or as a path; may be given several times.",
        autocompletion=complete_suites,
        show_default="those of the settings",
    ),
]
SuiteName = Annotated[str, typer.Argument(help="Suite, by name or as a path.", autocompletion=complete_suites)]
Release = Annotated[
    str, typer.Argument(help="Release: 1.28.0 or onnxruntime/1.28.0.", autocompletion=complete_releases)
]
Releases = Annotated[
    list[str], typer.Argument(help="Releases: 1.28.0 or onnxruntime/1.28.0.", autocompletion=complete_releases)
]
Port = Annotated[int | None, typer.Option(help="Port of the pages.", show_default="8765, or the settings'")]
