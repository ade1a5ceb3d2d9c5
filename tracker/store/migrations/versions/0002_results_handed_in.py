"""Results that were measured elsewhere: facts of a result, quarantine that can be released, files found by content."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def quarantine_columns() -> tuple[sa.Column, ...]:
    """Return the columns that say where a value would go, and whether it was let in."""
    return (
        sa.Column("unit", sa.String(), nullable=False, server_default=""),
        sa.Column("labels", sa.String(), nullable=False, server_default="{}"),
        sa.Column("released_as", sa.String(), nullable=True),
        sa.Column("released_by", sa.String(), nullable=True),
        sa.Column("released_at", Instant(timezone=True), nullable=True),
    )


def upgrade() -> None:
    with op.batch_alter_table("quarantine") as table:
        for column in quarantine_columns():
            table.add_column(column)
    with op.batch_alter_table("attempt") as table:
        table.add_column(sa.Column("facts", sa.String(), nullable=False, server_default="{}"))
    op.create_index("ix_output_sha256", "output", ["sha256"])


def downgrade() -> None:
    op.drop_index("ix_output_sha256", "output")
    with op.batch_alter_table("attempt") as table:
        table.drop_column("facts")
    with op.batch_alter_table("quarantine") as table:
        for column in quarantine_columns():
            table.drop_column(column.name)
