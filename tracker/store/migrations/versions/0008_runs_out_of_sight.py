"""Since when a running run is out of sight, why, and how often that was told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("unseen_since", Instant(timezone=True), nullable=True))
        table.add_column(sa.Column("unseen_why", sa.String(), nullable=False, server_default=""))
        table.add_column(sa.Column("unseen_tells", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("run") as table:
        for name in ("unseen_tells", "unseen_why", "unseen_since"):
            table.drop_column(name)
