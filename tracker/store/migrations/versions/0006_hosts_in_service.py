"""What a host may take: slots, pools, its state, maintenance, its health; and how often a run was refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tracker.store.tables.base import Instant

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TEXTS = {"pools": "[]", "state": "ready", "state_why": "", "health": "{}", "refusal": ""}
MOMENTS = ("state_at", "health_at", "refused_at", "held_until")


def upgrade() -> None:
    with op.batch_alter_table("host") as table:
        table.add_column(sa.Column("slots", sa.Integer(), nullable=False, server_default="1"))
        for name, default in TEXTS.items():
            table.add_column(sa.Column(name, sa.String(), nullable=False, server_default=default))
        table.add_column(sa.Column("state_by", sa.String(), nullable=True))
        for name in MOMENTS:
            table.add_column(sa.Column(name, Instant(timezone=True), nullable=True))
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("refusals", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "maintenance",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("starts_at", Instant(timezone=True), nullable=False),
        sa.Column("ends_at", Instant(timezone=True), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("lifted_by", sa.String(), nullable=True),
        sa.Column("lifted_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "uq_maintenance_window",
        "maintenance",
        ["host_id", "starts_at", "ends_at"],
        unique=True,
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("uq_maintenance_window", "maintenance")
    op.drop_table("maintenance")
    with op.batch_alter_table("run") as table:
        table.drop_column("refusals")
    with op.batch_alter_table("host") as table:
        for name in (*MOMENTS, "state_by", *TEXTS, "slots"):
            table.drop_column(name)
