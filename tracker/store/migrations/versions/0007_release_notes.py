"""What publishers write about their releases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "release_note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("component_id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("excerpt", sa.String(), nullable=False),
        sa.Column("prerelease", sa.Boolean(), nullable=False),
        sa.Column("published_at", Instant(timezone=True), nullable=True),
        sa.Column("seen_at", Instant(timezone=True), nullable=False),
        sa.Column("gone_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["component_id"], ["component.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("component_id", "identity"),
    )


def downgrade() -> None:
    op.drop_table("release_note")
