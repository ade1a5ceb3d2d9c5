"""The schema's history (Alembic). `SCHEMA_REVISION` is its head, known without importing Alembic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine

SCHEMA_REVISION = "0001"


def migrate(engine: Engine) -> None:
    """Bring the database to the present schema, in one transaction; two processes may call it at once."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.execution_options(tracker_write=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
