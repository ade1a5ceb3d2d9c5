"""Hosts whose engine is reached from another machine: where it listens, whose it is, since when it is away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

COLUMNS = ("engine", "served_by", "answered_at", "away_since", "away_why")


def upgrade() -> None:
    with op.batch_alter_table("host") as table:
        table.add_column(sa.Column("engine", sa.String(), nullable=False, server_default=""))
        table.add_column(sa.Column("served_by", sa.String(), nullable=True))
        table.add_column(sa.Column("answered_at", Instant(timezone=True), nullable=True))
        table.add_column(sa.Column("away_since", Instant(timezone=True), nullable=True))
        table.add_column(sa.Column("away_why", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("host") as table:
        for name in reversed(COLUMNS):
            table.drop_column(name)
