"""Runs migrations on the connection it is given, or on the URL of `alembic -x url=...` when one is written."""

from __future__ import annotations

from alembic import context
from sqlalchemy import create_engine

from tracker.store.tables import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    connection = create_engine(context.get_x_argument(as_dictionary=True)["url"]).connect()

context.configure(
    connection=connection, target_metadata=metadata, render_as_batch=True, compare_type=True, transactional_ddl=False
)
context.run_migrations()
