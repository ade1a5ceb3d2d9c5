"""Published figures: editions of pages and their rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reference_edition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("dated", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("tables", sa.Integer(), nullable=False),
        sa.Column("figures", sa.Integer(), nullable=False),
        sa.Column("imported_at", Instant(timezone=True), nullable=False),
        sa.Column("imported_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("source", "dated", "content"),
    )
    op.create_table(
        "reference_figure",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("edition_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("record", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["edition_id"], ["reference_edition.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("edition_id", "place"),
    )


def downgrade() -> None:
    op.drop_table("reference_figure")
    op.drop_table("reference_edition")
