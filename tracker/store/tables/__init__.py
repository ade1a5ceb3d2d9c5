"""The tables: rows only. Every table has its natural key as a unique constraint; validation lives in value types."""

from tracker.store.tables.alerts import AlertChangeRow, AlertRow, AnnotationRow, DeliveryRow, SummaryRow, TriageRow
from tracker.store.tables.base import metadata
from tracker.store.tables.catalog import (
    BuildRow,
    ComponentRow,
    ConfigRow,
    ContainsRow,
    CursorRow,
    ReleaseNoteRow,
    ReleaseRow,
    SuiteRevisionRow,
)
from tracker.store.tables.references import ReferenceEditionRow, ReferenceFigureRow
from tracker.store.tables.runs import (
    AttemptRow,
    EnvironmentRow,
    HardwareClassRow,
    HostRow,
    MaintenanceRow,
    OutputRow,
    RunRow,
)
from tracker.store.tables.series import (
    ChangePointRow,
    ExclusionRow,
    MeasurementRow,
    QuarantineRow,
    SeriesRow,
    VerdictRow,
)
from tracker.store.tables.service import AuditRow, TokenRow

__all__ = [
    "AlertChangeRow",
    "AlertRow",
    "AnnotationRow",
    "AttemptRow",
    "AuditRow",
    "BuildRow",
    "ChangePointRow",
    "ComponentRow",
    "ConfigRow",
    "ContainsRow",
    "CursorRow",
    "DeliveryRow",
    "EnvironmentRow",
    "ExclusionRow",
    "HardwareClassRow",
    "HostRow",
    "MaintenanceRow",
    "MeasurementRow",
    "OutputRow",
    "QuarantineRow",
    "ReferenceEditionRow",
    "ReferenceFigureRow",
    "ReleaseNoteRow",
    "ReleaseRow",
    "RunRow",
    "SeriesRow",
    "SuiteRevisionRow",
    "SummaryRow",
    "TokenRow",
    "TriageRow",
    "VerdictRow",
    "metadata",
]
