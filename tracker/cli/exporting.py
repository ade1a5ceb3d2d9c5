"""Single measurements as CSV or JSON, with everything that names them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tracker.app import App
from tracker.cli.names import collect, find_series
from tracker.errors import UserError
from tracker.store.views.plain import defuse, to_plain
from tracker.store.views.series import SeriesDetail, list_series, show_series

FORMATS = ("csv", "json")
COLUMNS = (
    "series", "component", "suite", "metric", "unit", "direction", "gated", "hardware", "variant", "labels",
    "release", "published_at", "run", "repeat", "value", "samples", "spread", "measured_at", "host", "contended",
)  # fmt: skip


def export_values(app: App, form: str, *, series: str | None, **asked: str | None) -> tuple[str, int]:
    """Return the text of the matching measurements and how many they are, in release order within each series."""
    if form not in FORMATS:
        raise UserError(f"--format: expected {' or '.join(FORMATS)}, found {form!r}")
    with app.store.read() as session:
        if series is not None:
            names = [find_series(session, series)]
        else:
            names = [item.fingerprint for item in collect(list_series, session, **asked)]
        found = [show_series(session, name) for name in names]
    rows = [row for detail in found if detail for row in list_values(detail)]
    if form == "json":
        data = {"items": rows, "next": None}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n", len(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {**row, "labels": json.dumps(row["labels"], sort_keys=True)}
        writer.writerow({name: defuse(cell) for name, cell in cells.items()})
    return text.getvalue(), len(rows)


def list_values(detail: SeriesDetail) -> list[dict[str, Any]]:
    """Return a series' measurements as plain rows."""
    one = detail.series
    about: dict[str, Any] = {"series": one.fingerprint, "component": one.component, "suite": one.suite}
    about |= {"metric": one.metric, "unit": one.unit, "direction": one.direction, "gated": one.gated}
    about |= {"hardware": one.hardware, "variant": one.variant, "labels": to_plain(one.labels)}
    return [
        {**about, "release": point.release.identity, "published_at": to_plain(point.published_at), **to_plain(value)}
        for point in detail.points
        for value in point.values
    ]


def save_text(file: Path, text: str) -> None:
    """Write a file; UserError when it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {(error.strerror or '').lower()}; check the path") from error
