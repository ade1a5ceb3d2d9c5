"""The schema's history (Alembic). `SCHEMA_REVISION` is its head, known without importing Alembic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

SCHEMA_REVISION = "0009"


def create(connection: Connection) -> None:
    """Make the present schema in an empty database, as all migrations one after another would, without Alembic."""
    from sqlalchemy import text

    from tracker.store.tables import metadata

    metadata.create_all(connection)
    key = "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)"
    connection.execute(text(f"CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, {key})"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": SCHEMA_REVISION})


def migrate(connection: Connection) -> None:
    """Bring the database to the present schema, in the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
