"""A release summary as text for the table, and back."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from alerts import summary_formats
from alerts.grouping import ReleaseName
from alerts.message import Message
from alerts.summary import MeanChange, ReleaseSummary, RowVerdict, SummaryRow
from alerts.wording import Direction
from tracker.store.tables import SummaryRow as StoredSummary


def to_content(summary: ReleaseSummary) -> str:
    """Return the summary as canonical JSON; equal summaries give equal text."""
    return json.dumps(summary_formats.to_dict(summary), sort_keys=True, allow_nan=False)


def from_content(content: str) -> ReleaseSummary:
    """Return the summary that a text was made from."""
    data = json.loads(content)
    return ReleaseSummary(
        component=data["component"],
        release=ReleaseName(**data["release"]),
        against=ReleaseName(**data["against"]) if data["against"] else None,
        rows=tuple(_row(row) for row in data["rows"]),
        means=tuple(MeanChange(**{**mean, "direction": Direction(mean["direction"])}) for mean in data["means"]),
        flags=tuple(data["flags"]),
        measured_from=_time(data["measured_from"]),
        measured_to=_time(data["measured_to"]),
        standing=data.get("standing", ""),
    )


def what_it_says(content: str) -> tuple[Any, ...]:
    """Return what people are told again for when it changes: the answer, the reference and the verdicts."""
    data = json.loads(content)
    return data["answer"], data["against"], {row["series_id"]: row["verdict"] for row in data["rows"]}


def to_message(stored: StoredSummary, *, base_url: str | None) -> Message:
    """Return a stored summary's message."""
    summary = from_content(stored.content)
    command = f"tracker summary {summary.component}/{summary.release.identity}"
    return summary_formats.to_message(summary, base_url=base_url, rerun_command=command)


def _row(row: dict[str, Any]) -> SummaryRow:
    values = {"direction": Direction(row["direction"]), "verdict": RowVerdict(row["verdict"])}
    return SummaryRow(**{**row, **values, "flags": tuple(row["flags"])})


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
