"""Sweeps from a file of points: one for each combination of the labels that are not swept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from baselines.cost.derived import INPUTS, Tokens
from baselines.cost.releases import Setup
from baselines.frontier.change import SweepConfig
from jobs.labels import IDENTITY_LABELS
from tracker.cli.csv_series import order_labels
from tracker.cli.points import PointRow, read_points
from tracker.errors import UserError
from tracker.pipeline.sweeps import KINDS, SWEPT, Sweep, place_run

PLAIN = "tok_s_per_gpu"
"""A column that does not say which tokens it counts."""
UP = (PLAIN, "output_tok_s_per_gpu", "total_tok_s_per_gpu", "output_tok_s", "total_tok_s")
ACROSS = ("tok_s_user", "tpot_p50_ms", "tpot_mean_ms")
NOT_CONFIG = {*INPUTS, PLAIN, "release", "repeat", "date", "time", "timestamp"}
APART = (IDENTITY_LABELS.keys() | {"gpu", "component", "hardware"}) - set(SWEPT)
"""Labels that tell sweeps apart; every other column tells the points of one sweep apart."""
COUNTS = ("gpu_count", "prefill_gpus", "decode_gpus", "tp", "pp", "dp", "ep")

Key = tuple[tuple[str, str], ...]


def read_sweeps(file: str, tokens: Tokens | None) -> list[Sweep]:
    """Return the sweeps in a file; UserError says which line, and what was expected."""
    rows = read_points(file, ("release", UP, ACROSS), (*INPUTS, PLAIN))
    groups: dict[Key, list[PointRow]] = defaultdict(list)
    for row in rows:
        groups[tuple(sorted((name, text) for name, text in row.cells.items() if name in APART))].append(row)
    order, _ = order_labels(list(dict.fromkeys(row.cells["release"] for row in rows)))
    found = [_sweep(key, grouped, order, tokens) for key, grouped in groups.items()]
    if all(len(sweep.releases) < 2 for sweep in found):
        known = ", ".join(dict.fromkeys(name for sweep in found for name in sweep.releases)) or "none"
        raise UserError(f"{file}: expected points of two releases or more, found {known}")
    return found


def _sweep(key: Key, rows: Sequence[PointRow], order: Sequence[Sequence[str]], tokens: Tokens | None) -> Sweep:
    kind: Tokens = (
        tokens if tokens is not None else next((one for one in KINDS if any(_says(row, one) for row in rows)), "output")
    )
    releases = {}
    for group in order:
        repeats: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for place, row in enumerate(rows):
            if row.cells["release"] in group:
                repeats[_name(row, place)].append(_place(row, kind))
        if repeats:
            releases[group[0]] = tuple(SweepConfig(name=name, repeats=tuple(one)) for name, one in repeats.items())
    name = ", ".join(f"{label} {text}" for label, text in key) or "all rows"
    return Sweep(component="", hardware="", name=name, tokens=kind, releases=releases)


def _says(row: PointRow, kind: Tokens) -> bool:
    return any(name in row.cells for name in (f"{kind}_tok_s", f"{kind}_tok_s_per_gpu"))


def _name(row: PointRow, place: int) -> str:
    told = [f"{name.replace('_', ' ')} {text}" for name, text in row.cells.items() if name not in APART | NOT_CONFIG]
    return ", ".join(told) or f"row {place + 1}"


def _place(row: PointRow, kind: Tokens) -> tuple[float, float]:
    """Return tok/s/user and tok/s/GPU of one row."""
    values = {name: value for name in INPUTS if (value := row.number(name)) is not None}
    if (plain := row.number(PLAIN)) is not None and not _says(row, kind):
        values[f"{kind}_tok_s_per_gpu"] = plain
    labels: dict[str, str | int] = dict(row.cells)
    for name in COUNTS:
        if (count := row.number(name)) is not None:
            if count % 1:
                raise UserError(f"{row.where}, column {name}: expected a whole number, found {row.cells[name]}")
            labels[name] = int(count)
    point = place_run(values, Setup(gpu=None, labels=labels, hardware={}), kind)
    if isinstance(point, str):
        raise UserError(f"{row.where}: expected throughput per GPU and interactivity, found none: {point}")
    return point
