"""Published rows as the product ships and stores them: our own CSV and plain values; meaning is derived anew."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from baselines.references.page import finish
from baselines.references.reference import Flag, Printed, Reference, derive
from jobs.fingerprint import canonical_labels, fingerprint

_COUNTS = frozenset({"line", "table", "gpus", "isl", "osl", "batch", "qsl"})
_COLUMNS = tuple(one.name for one in fields(Printed) if one.name != "flags")
_OF_CELLS = frozenset({"cell_ambiguous", "cell_unread", "model_missing"})
_PLACE = frozenset({"line", "table"})


def read_csv(text: str) -> list[Reference]:
    """Return the references of a shipped CSV: one row each, empty cells for what the page does not say."""
    rows = csv.DictReader(io.StringIO(text))
    if tuple(rows.fieldnames or ()) != _COLUMNS:
        raise ValueError(f"expected the columns {', '.join(_COLUMNS)}, found {', '.join(rows.fieldnames or ())}")
    return finish([_read_row(row) for row in rows])


def write_csv(references: Iterable[Reference]) -> str:
    """Return the references as the CSV that `read_csv` reads.

    What is doubtful about the cells of a page does not show in values: ValueError for a row with such a flag.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in references:
        if lost := sorted({flag.code for flag in one.flags} & _OF_CELLS):
            raise ValueError(f"line {one.printed.line}: expected a row read whole, found the flag {', '.join(lost)}")
        values = (getattr(one.printed, name) for name in _COLUMNS)
        writer.writerow(
            ["" if value is None else int(value) if value is True or value is False else value for value in values]
        )
    return text.getvalue()


def _read_row(row: Mapping[str, str]) -> Printed:
    values: dict[str, Any] = {name: text for name, text in row.items() if text}
    values |= {name: int(values[name]) for name in _COUNTS & values.keys()}
    return Printed(**values | {"mlperf": row["mlperf"] == "1"})


def to_record(reference: Reference) -> dict[str, Any]:
    """Return a reference as plain values: what was printed, its flags and notes."""
    return {"printed": asdict(reference.printed), "notes": list(reference.notes)}


def from_record(record: Mapping[str, Any]) -> Reference:
    """Return the reference of stored values, its meaning derived by the present code."""
    printed = dict(record["printed"])
    flags = tuple(Flag(code=one["code"], reason=one["reason"]) for one in printed.pop("flags", ()))
    return derive(Printed(**printed, flags=flags)).with_doubts((), tuple(record.get("notes", ())))


def content_hash(references: Sequence[Reference]) -> str:
    """Return the name of what the rows say, wherever they stand on their page."""
    told = [
        canonical_labels({k: v for k, v in asdict(one.printed).items() if k not in _PLACE and k != "flags"})
        for one in references
    ]
    return fingerprint("references", "\n".join(told))
