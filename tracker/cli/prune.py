"""prune: old outputs removed, after saying which."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, examples
from tracker.cli.output import Column, note, write, write_json, write_table

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Days = Annotated[
    int | None,
    typer.Option("--older-than", help="Days that outputs are kept.", show_default="keep_outputs_days of the settings"),
]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=examples("tracker prune --dry-run", "tracker prune --older-than 90 --yes"))(prune)


def prune(dry_run: DryRun = False, yes: Yes = False, older_than: Days = None, as_json: Json = False) -> None:
    """Remove the logs and files that old runs left. Measurements, runs and alerts are never removed."""
    with opened(keep_outputs_days=older_than) as app:
        from tracker.app import whoami
        from tracker.errors import UserError
        from tracker.pipeline.prune import find_old
        from tracker.pipeline.prune import prune as remove

        found = find_old(app.context)
        size_bytes = sum(old.size_bytes for old in found)
        if not as_json:
            rows = [(old.folder.name, old.release, old.finished_at, f"{old.size_bytes:,}") for old in found]
            columns = (Column(title="attempt"), Column(title="release"), Column(title="ended"))
            empty = f"nothing is older than {app.settings.keep_outputs_days} days"
            write_table((*columns, Column(title="bytes", right=True)), rows, empty=empty)
        if found and not dry_run:
            if as_json and not yes:
                raise UserError("--json asks nobody: add --yes to remove, or --dry-run to look")
            yes or typer.confirm(f"remove {len(found)} folders, {size_bytes:,} bytes?", abort=True, err=True)
            size_bytes = remove(app.context, found, who=whoami())
            note(f"removed; {size_bytes:,} bytes are free again")
    if as_json:
        items = [
            {"run": old.run, "release": old.release, "folder": str(old.folder), "size_bytes": old.size_bytes}
            for old in found
        ]
        write_json({"items": items, "next": None, "removed": bool(found) and not dry_run, "size_bytes": size_bytes})
    elif found and dry_run:
        write(f"{len(found)} folders, {size_bytes:,} bytes would be removed")
