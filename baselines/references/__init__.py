"""Published figures: read from pages, doubted where they deserve it, compared between editions and with series."""

from baselines.references.editions import EditionChange, compare_editions, share_in_common
from baselines.references.matching import (
    Difference,
    Matched,
    Matches,
    Measured,
    Near,
    comparable_metrics,
    group_by_model,
    match_series,
    model_key,
)
from baselines.references.page import Page, finish, read_page
from baselines.references.records import content_hash, from_record, read_csv, to_record, write_csv
from baselines.references.reference import Flag, Printed, Reference, as_json, derive

__all__ = [
    "Difference",
    "EditionChange",
    "Flag",
    "Matched",
    "Matches",
    "Measured",
    "Near",
    "Page",
    "Printed",
    "Reference",
    "as_json",
    "comparable_metrics",
    "compare_editions",
    "content_hash",
    "derive",
    "finish",
    "from_record",
    "group_by_model",
    "match_series",
    "model_key",
    "read_csv",
    "read_page",
    "share_in_common",
    "to_record",
    "write_csv",
]
