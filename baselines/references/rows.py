"""From the rows of a table to what each row prints: lost cells found, spanned models carried down, contents checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from baselines.references.alignment import align
from baselines.references.columns import GPU_COUNT, LATENCY, MISFIT, OTHER, WHOLE, find_fields, fit
from baselines.references.figures import is_nothing, is_rate, read_unit, split_figure
from baselines.references.grids import Grid, GridRow
from baselines.references.reference import Flag, Printed

_COUNTS = ("isl", "osl", "batch", "qsl")
_TEXTS = (
    "system", "gpu_version", "target_accuracy", "constraints", "dataset", "parallelism", "precision", "framework",
    "container", "efficiency",
)  # fmt: skip
_WORDS = {
    "isl": "input length", "osl": "output length", "qsl": "QSL size", "batch": "batch size", "value": "throughput",
    "gpu": "GPU", "gpus": "number of GPUs", "gpu_version": "GPU version",
    "target_accuracy": "target accuracy", "constraints": "constraints",
    OTHER: "a column that is not read",
}  # fmt: skip
_PARALLEL = ("tp", "pp", "ep", "dp")
_UNIT_OF_HEADING = re.compile(r"[(\[]([^()\[\]]+)[)\]]")
_OWNER_OF_HEADING = re.compile(r"(?:/|\bper[ -])\s*(gpu|user)\b", re.IGNORECASE)
_KIND_OF_HEADING = re.compile(r"\b(?:(total)[ -]tok|(input|prompt|prefill)\b)", re.IGNORECASE)
_OTHER_TIMES = frozenset(
    {"s", "sec", "secs", "second", "seconds", "us", "µs", "μs", "usec", "microseconds", "ns", "min"}
)
_IDENTITY = ("gpu", "gpus", "isl", "osl", "batch", "precision", "parallelism", "gpu_version", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A row with its texts by field, and whether its model reaches down by the page's own word."""

    row: GridRow
    texts: Mapping[str, str]
    flags: tuple[Flag, ...]
    spanned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Headings:
    """What headings say of the figures below: unit, for what, which tokens; a latency's unit where it is not ms."""

    unit: str | None = None
    owner: str | None = None
    kind: str | None = None
    latency: str | None = None

    def complete(self, unit: str | None) -> str | None:
        """Return the unit of a cell with what the heading says and the cell does not."""
        unit = unit or self.unit
        known = read_unit(unit) if unit else None
        if unit is None or known is None or known.counted == "time":
            return unit
        if self.kind and not known.kind and known.counted == "token":
            unit = f"{self.kind} {unit}"
        return f"{unit}/{self.owner}" if self.owner and not known.per else unit


def _read_headings(header: Sequence[str], fields: Sequence[str]) -> _Headings:
    found = {name: heading for name, heading in zip(fields, header, strict=True) if name in ("value", "latency")}
    value = found.get("value", "")
    unit = next((one.strip() for one in _UNIT_OF_HEADING.findall(value) if read_unit(one)), None)
    owner, kind = _OWNER_OF_HEADING.search(value), _KIND_OF_HEADING.search(value)
    times = [one.strip() for one in _UNIT_OF_HEADING.findall(found.get("latency", ""))]
    return _Headings(
        unit=unit,
        owner=owner[1].lower() if owner else None,
        kind=(kind[1] or kind[2]).lower() if kind else None,
        latency=next((one for one in times if one.casefold() in _OTHER_TIMES), None),
    )


def read_rows(grid: Grid, number: int, doubt_separator: Callable[[str], str | None] = lambda _: None) -> list[Printed]:
    """Return the rows of one table; its scenario is not known yet.

    `doubt_separator` says of a figure why its comma or point may be meant otherwise.
    """
    fields = find_fields(grid.header)
    headings = _read_headings(grid.header, fields)
    mlperf = bool({"qsl", "target_accuracy", "constraints"} & set(fields)) or "mlperf" in " ".join(grid.header).lower()
    read = [_read_row(row, fields) for row in grid.rows if any(cell for cell in row.cells)]
    read = [one for one in read if one.texts]
    printed = [_print_row(one, number, mlperf, headings, doubt_separator) for one in read]
    return _carry_models(read, printed)


def _read_row(row: GridRow, fields: Sequence[str]) -> _Read:
    """Return a row's texts by field; what cannot be placed is in no field and flagged."""
    found = align(fields, row.cells)
    texts: dict[str, str] = {}
    flags: list[Flag] = []
    doubted: set[str] = set()
    for column, ways in found.doubtful.items():
        cell, names = row.cells[found.columns[column]], [_WORDS.get(fields[way], fields[way]) for way in ways]
        doubted |= {fields[way] for way in ways}
        reason = f"{cell!r} may stand under {' or under '.join(names)}: the row has lost a cell; neither is taken"
        flags.append(Flag(code="cell_ambiguous", reason=reason))
    for column, place in found.columns.items():
        field, cell = fields[column], row.cells[place]
        if field == OTHER and is_rate(cell):
            reason = f"{cell[:80]!r} stands under a heading that is not read, and is not taken"
            flags.append(Flag(code="cell_unread", reason=reason))
        if field in doubted or field == OTHER or is_nothing(cell):
            continue
        if fit(field, cell) >= MISFIT:
            flags.append(_unread(cell, field))
        else:
            texts[field] = cell
    flags += [
        Flag(code="cell_unread", reason=f"{row.cells[place][:80]!r} fits under no heading and is not taken")
        for place in found.left_out
    ]
    model = next((place for column, place in found.columns.items() if fields[column] == "model"), None)
    return _Read(row=row, texts=texts, flags=tuple(flags), spanned=model is not None and model in row.spanned)


def _unread(cell: str, field: str) -> Flag:
    return Flag(code="cell_unread", reason=f"{cell[:80]!r} is no {_WORDS.get(field, field)} and is not taken")


def _print_row(
    one: _Read, table: int, mlperf: bool, headings: _Headings, doubt_separator: Callable[[str], str | None]
) -> Printed:
    """Return a row with its counts, figures and names taken apart."""
    texts = one.texts
    number, unit = split_figure(texts["value"]) if "value" in texts else (None, None)
    gpus, gpu = _read_gpu(texts)
    flags = one.flags
    latency = _read_latency(texts.get("latency", ""), headings.latency)
    if latency is None and "latency" in texts:
        told = f" (the heading says {headings.latency})" if headings.latency else ""
        reason = f"the latency {texts['latency']!r} is not in ms{told} and is not taken"
        flags = (*flags, Flag(code="cell_unread", reason=reason))
    if why := doubt_separator(texts.get("value", "")):
        flags = (*flags, Flag(code="separator_unclear", reason=why))
    fields: dict[str, Any] = {name: texts[name] for name in _TEXTS if name in texts}
    if sizes := _read_sizes(texts):
        fields.setdefault("parallelism", sizes)
    fields |= {name: int(texts[name].replace(",", "")) for name in _COUNTS if WHOLE.match(texts.get(name, ""))}
    return Printed(
        line=one.row.line,
        table=table,
        mlperf=mlperf,
        model=texts.get("model"),
        scenario=texts["scenario"].casefold() if "scenario" in texts else None,
        number=number,
        unit=headings.complete(unit),
        gpus=gpus,
        gpu=gpu,
        latency=latency,
        flags=flags,
        **fields,
    )


def _read_gpu(texts: Mapping[str, str]) -> tuple[int | None, str | None]:
    """Return count and name of the GPUs; the name of the version where the cell has none."""
    match = GPU_COUNT.match(texts.get("gpu", ""))
    if match:
        return int(match[1]), match[2].strip()
    count = texts.get("gpus", "").replace(",", "")
    return int(count) if count else None, texts.get("gpu") or texts.get("gpu_version")


def _read_sizes(texts: Mapping[str, str]) -> str | None:
    """Return the parallelism of columns of its own (TP, PP ...) as pages write it in one: `TP2 PP2`, `TP1`."""
    sizes = {name: int(texts[name].replace(",", "")) for name in _PARALLEL if name in texts}
    told = [f"{name.upper()}{size}" for name, size in sizes.items() if size > 1]
    return " ".join(told) or ("TP1" if sizes else None)


def _read_latency(text: str, unit_of_heading: str | None) -> str | None:
    """Return a latency in ms with the digits that were printed; None where there is none."""
    match = LATENCY.match(text)
    if match is None or (match[2] or unit_of_heading or "ms").lower() != "ms":
        return None
    return match[1].replace(",", "")


def _carry_models(read: Sequence[_Read], printed: Sequence[Printed]) -> list[Printed]:
    """Return the rows, those without a model under the model above if it can reach that far."""
    spans = _uses_spans(printed)
    rows: list[Printed] = []
    group: list[Printed] = []
    for one, row in zip(read, printed, strict=True):
        if row.model is not None:
            group = group if one.spanned else []
        else:
            row = _carry(row, group, spans)
        if row.model is not None:
            group.append(row)
        rows.append(row)
    return rows


def _uses_spans(rows: Sequence[Printed]) -> bool:
    """Return whether the table prints a model once for several rows, and never for two rows one after the other."""
    without = sum(row.model is None for row in rows)
    return without > 1 and not any(a.model is not None and a.model == b.model for a, b in pairwise(rows))


def _carry(row: Printed, group: Sequence[Printed], spans: bool) -> Printed:
    if not group:
        flag = Flag(code="model_missing", reason="the row names no model and none stands above it")
        return replace(row, flags=(*row.flags, flag))
    first = group[0]
    why = _breaks_group(row, group, spans)
    if why is None:
        return replace(row, model=first.model)
    reason = f"the row names no model; the one above, {first.model} (line {first.line}), is not taken: {why}"
    return replace(row, flags=(*row.flags, Flag(code="model_missing", reason=reason)))


def _breaks_group(row: Printed, group: Sequence[Printed], spans: bool) -> str | None:
    """Return why a row does not belong to the model above; None if it does."""
    first = group[0]
    told = [(name, getattr(row, name), getattr(first, name)) for name in ("qsl", "dataset")]
    compared = [(name, own, above) for name, own, above in told if own is not None and above is not None]
    for name, own, above in compared:
        if own != above:
            return f"its {_WORDS.get(name, name)} is {own}, not {above}"
    same = Counter(_identity(other) for other in group)
    if same[_identity(row)]:
        return "that model has a row for the same GPUs already"
    if spans or (row.mlperf and any(name == "qsl" for name, _, _ in compared)):
        return None
    return "no other row of the table shares its model, so the cell may have been lost"


def _identity(row: Printed) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in _IDENTITY)
