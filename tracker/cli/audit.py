"""audit: who did what."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, Limit, examples
from tracker.cli.output import Column, write_json, write_table

Subject = Annotated[str | None, typer.Option(help="Only of this: a run's id, onnxruntime/1.28.0, a suite ...")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog=examples("tracker audit", "tracker audit --subject onnxruntime/1.28.0 --json"))(audit)


def audit(subject: Subject = None, limit: Limit = 50, as_json: Json = False) -> None:
    """Show who did what and when, the newest first."""
    with opened() as app:
        from tracker.store.audit import latest
        from tracker.store.views.plain import read_json

        with app.store.read() as session:
            rows = latest(session, limit, subject)
    items: list[dict[str, Any]] = [
        {"at": row.at, "who": row.who, "event": row.event, "subject": row.subject, "detail": read_json(row.detail)}
        for row in rows
    ]
    if as_json:
        write_json({"items": items, "next": None})
        return
    titles = ("at", "who", "event", "subject", "detail")
    columns = [Column(title=title, give=title in ("who", "detail")) for title in titles]
    write_table(columns, [_cells(item) for item in items], empty="nothing has happened yet")


def _cells(item: dict[str, Any]) -> list[object]:
    detail = " ".join(f"{key}={value}" for key, value in item["detail"].items())
    return [item["at"], item["who"], item["event"], item["subject"], detail]
