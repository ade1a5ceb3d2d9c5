"""tokens: who may use the API."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, examples
from tracker.cli.output import Column, note, write, write_json, write_table

Name = Annotated[str, typer.Argument(help="What uses the token: ci, nightly-report ...")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="API tokens.", no_args_is_help=True, rich_markup_mode=None)
    group.command(epilog=examples("tracker tokens create ci", "TOKEN=$(tracker tokens create ci)"))(create)
    group.command("list", epilog=examples("tracker tokens list"))(list_)
    group.command(epilog=examples("tracker tokens revoke ci"))(revoke)
    app.add_typer(group, name="tokens")


def create(name: Name, as_json: Json = False) -> None:
    """Make a token and print it.

    It is the only time it is seen: the store keeps a hash.
    """
    with opened() as app:
        from tracker.app import whoami
        from tracker.store import audit, tokens

        with app.store.write() as session:
            token = tokens.create_token(session, name, now=app.clock.now())
            audit.record(session, at=app.clock.now(), who=whoami(), event="token:created", subject=name)
    if as_json:
        write_json({"name": name, "token": token})
    else:
        write(token)
        note("keep it now: it is not shown again. Use it as `Authorization: Bearer <token>`")


def list_(as_json: Json = False) -> None:
    """Show the tokens, without the tokens themselves."""
    with opened() as app:
        from tracker.store import tokens

        with app.store.read() as session:
            rows = tokens.list_tokens(session)
    if as_json:
        items = [row.model_dump(include={"name", "created_at", "used_at", "revoked_at"}) for row in rows]
        write_json({"items": items, "next": None})
        return
    columns = [Column(title=title) for title in ("name", "created", "last used", "revoked")]
    write_table(columns, [(r.name, r.created_at, r.used_at, r.revoked_at) for r in rows], empty="no token")


def revoke(name: Name, as_json: Json = False) -> None:
    """End a token at once."""
    with opened() as app:
        from tracker.app import whoami
        from tracker.store import audit, tokens

        with app.store.write() as session:
            tokens.revoke_token(session, name, now=app.clock.now())
            audit.record(session, at=app.clock.now(), who=whoami(), event="token:revoked", subject=name)
    write_json({"name": name, "revoked": True}) if as_json else write(f"{name}: revoked")
