"""What was measured and what it means: series, measurements, change points, verdicts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from tracker.store.tables.base import instant


class SeriesRow(SQLModel, table=True):
    """Component x config x hardware class x variant x metric; dirty while `revision` is not `analyzed_revision`."""

    __tablename__ = "series"
    __table_args__ = (Index("ix_series_component", "component_id", "suite"),)
    id: int | None = Field(default=None, primary_key=True)
    fingerprint: str = Field(unique=True)
    component_id: int = Field(foreign_key="component.id")
    config_id: int = Field(foreign_key="config.id")
    hardware_class_id: int = Field(foreign_key="hardware_class.id")
    variant: str = ""
    suite: str
    metric: str
    unit: str
    direction: str
    gated: bool = False
    min_effect: float = 0.0
    revision: int = 0
    analyzed_revision: int = 0
    summarized_revision: int = 0


class MeasurementRow(SQLModel, table=True):
    """One value of one series from one run; only valid values come here."""

    __tablename__ = "measurement"
    __table_args__ = (
        Index("ix_measurement_run", "run_id"),
        Index("ix_measurement_release", "release_id"),
        {"sqlite_with_rowid": False},
    )
    series_id: int = Field(foreign_key="series.id", primary_key=True)
    run_id: int = Field(foreign_key="run.id", primary_key=True)
    release_id: int = Field(foreign_key="release.id")
    host_id: int = Field(foreign_key="host.id")
    environment_id: int | None = Field(default=None, foreign_key="environment.id")
    value: float
    samples: int | None = None
    spread: float | None = None
    contended: bool = False
    """Other work on the host held the benchmark up, also when it was measured again."""
    measured_at: datetime | None = instant(default=None)


class QuarantineRow(SQLModel, table=True):
    """A value as printed and why it may not enter a series."""

    __tablename__ = "quarantine"
    __table_args__ = (UniqueConstraint("attempt_id", "key"),)
    id: int | None = Field(default=None, primary_key=True)
    attempt_id: int = Field(foreign_key="attempt.id")
    key: str
    raw: str
    reason: str
    unit: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """As printed; empty where the tool does not say."""
    labels: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    """Identity labels of the result it stood in, as canonical JSON: where it would go if it is released."""
    released_as: str | None = None
    """The metric it entered a series as, once somebody or a better catalogue let it in."""
    released_by: str | None = None
    released_at: datetime | None = instant(default=None)


class ChangePointRow(SQLModel, table=True):
    """What the detector found. The id is stable; `release_id` may move as history grows."""

    __tablename__ = "change_point"
    __table_args__ = (
        Index(
            "uq_change_point_place",
            "series_id",
            "release_id",
            "direction",
            unique=True,
            sqlite_where=text("withdrawn_at IS NULL"),
            postgresql_where=text("withdrawn_at IS NULL"),
        ),
        Index("ix_change_point_release", "release_id"),
    )
    id: int | None = Field(default=None, primary_key=True)
    public_id: str = Field(unique=True)
    series_id: int = Field(foreign_key="series.id")
    release_id: int = Field(foreign_key="release.id")
    possible_from_id: int = Field(foreign_key="release.id")
    possible_to_id: int = Field(foreign_key="release.id")
    direction: str
    """`up` or `down`: what the value did. Whether that is good stands on the series' metric."""
    verdict: str
    kind: str
    confirmed: bool
    before: float
    after: float
    effect_ratio: float
    effect_low: float
    effect_high: float
    noise_ratio: float
    p: float
    q: float
    confidence: float
    reason: str
    confounded_by: str | None = None
    """What else changed exactly there, so that it cannot be ascribed to the software."""
    detector: str
    first_seen_at: datetime = instant()
    changed_at: datetime = instant()
    withdrawn_at: datetime | None = instant(default=None)
    revision: int = 1
    notified_revision: int = 0


class ExclusionRow(SQLModel, table=True):
    """A release of a series that is not to be judged, and why; lifted, it counts again."""

    __tablename__ = "exclusion"
    __table_args__ = (
        Index(
            "uq_exclusion_place",
            "series_id",
            "release_id",
            unique=True,
            sqlite_where=text("lifted_at IS NULL"),
            postgresql_where=text("lifted_at IS NULL"),
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    series_id: int = Field(foreign_key="series.id")
    release_id: int = Field(foreign_key="release.id")
    why: str
    who: str
    at: datetime = instant()
    lifted_by: str | None = None
    lifted_at: datetime | None = instant(default=None)


class VerdictRow(SQLModel, table=True):
    """One series at one release against one reference."""

    __tablename__ = "verdict"
    __table_args__ = (UniqueConstraint("series_id", "release_id", "reference_kind", "policy"),)
    id: int | None = Field(default=None, primary_key=True)
    series_id: int = Field(foreign_key="series.id")
    release_id: int = Field(foreign_key="release.id", index=True)
    reference_kind: str
    reference_release_id: int | None = Field(default=None, foreign_key="release.id")
    policy: str
    verdict: str
    effect_ratio: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    p: float | None = None
    q: float | None = None
    reason: str
    computed_at: datetime = instant()
