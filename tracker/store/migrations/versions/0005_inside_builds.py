"""What is inside a build and what it says of itself, which digest a tag named before, and when a source may be asked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("build") as table:
        table.add_column(sa.Column("replaces", sa.String(), nullable=True))
        table.add_column(sa.Column("facts", sa.String(), nullable=False, server_default="{}"))
    with op.batch_alter_table("cursor") as table:
        table.add_column(sa.Column("ask_after", Instant(timezone=True), nullable=True))
    op.create_table(
        "contains",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("build_id", sa.Integer(), nullable=False),
        sa.Column("component", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["build_id"], ["build.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("build_id", "component"),
    )
    op.create_index("ix_contains_component", "contains", ["component", "version"])


def downgrade() -> None:
    op.drop_index("ix_contains_component", "contains")
    op.drop_table("contains")
    with op.batch_alter_table("cursor") as table:
        table.drop_column("ask_after")
    with op.batch_alter_table("build") as table:
        table.drop_column("facts")
        table.drop_column("replaces")
