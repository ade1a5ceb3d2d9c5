"""Releases of a series that are not to be judged, and what else changed where a change point stands."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("change_point") as table:
        table.add_column(sa.Column("confounded_by", sa.String(), nullable=True))
    op.create_table(
        "exclusion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("release_id", sa.Integer(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("lifted_by", sa.String(), nullable=True),
        sa.Column("lifted_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["release_id"], ["release.id"]),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "uq_exclusion_place",
        "exclusion",
        ["series_id", "release_id"],
        unique=True,
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("uq_exclusion_place", "exclusion")
    op.drop_table("exclusion")
    with op.batch_alter_table("change_point") as table:
        table.drop_column("confounded_by")
