"""Costs from a file of points: one config for each combination of the labels in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from statistics import median

from baselines.cost.derived import INPUTS
from baselines.cost.releases import Setup, Work
from tracker.cli.csv_series import order_labels
from tracker.cli.points import PointRow, read_points
from tracker.errors import UserError

RATES = ("output_tok_s", "total_tok_s", "output_tok_s_per_gpu", "total_tok_s_per_gpu", "prompt_tok_s")
NOT_LABELS = {*INPUTS, "release", "date", "gpu", "repeat", "time", "timestamp"}
COUNTS = ("gpu_count", "prefill_gpus", "decode_gpus", "tp", "pp", "dp", "ep")


def read_works(file: str, gpu: str | None) -> list[tuple[str, Setup, list[Work]]]:
    """Return name, setup and releases of each config in the file; UserError says which line, and what was expected."""
    rows = read_points(file, ("release", RATES), INPUTS)
    groups: dict[tuple[tuple[str, str], ...], list[PointRow]] = defaultdict(list)
    for row in rows:
        named = row.cells.get("gpu", gpu)
        labels = {name: text for name, text in row.cells.items() if name not in NOT_LABELS}
        groups[(("gpu", named or ""), *sorted(labels.items()))].append(row)
    order, _ = order_labels(list(dict.fromkeys(row.cells["release"] for row in rows)))
    return [_config(key, found, order) for key, found in groups.items()]


def _config(
    key: tuple[tuple[str, str], ...], rows: Sequence[PointRow], order: Sequence[Sequence[str]]
) -> tuple[str, Setup, list[Work]]:
    gpu = key[0][1] or None
    stated = {name: _label(name, text, rows[0].where) for name, text in key[1:]}
    name = ", ".join([*filter(None, [gpu]), *(f"{label} {value}" for label, value in stated.items())]) or "all rows"
    works = []
    for group in order:
        found = [row for row in rows if row.cells["release"] in group]
        if found:
            works.append(_work(group[0], found))
    return name, Setup(gpu=gpu, labels=stated, hardware={"gpu": gpu or ""}), works


def _label(name: str, text: str, where: str) -> str | int:
    if name not in COUNTS:
        return text
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 7 or int(text) == 0:
        raise UserError(f"{where}, column {name}: expected a whole number above 0, found {text!r}")
    return int(text)


def _work(release: str, rows: Sequence[PointRow]) -> Work:
    measured: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for metric in INPUTS:
            if (value := row.number(metric)) is not None:
                measured[metric].append(value)
    days = [day for row in rows if (day := _day(row)) is not None]
    values = {metric: median(found) for metric, found in measured.items()}
    return Work(release=release, day=max(days, default=None), values=values)


def _day(row: PointRow) -> date | None:
    text = next((row.cells[name] for name in ("date", "time", "timestamp") if name in row.cells), None)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment.astimezone(UTC) if moment.tzinfo else moment).date()
    except (ValueError, OverflowError):
        raise UserError(f"{row.where}, column date: expected a day such as 2026-07-01, found {text[:40]!r}") from None
