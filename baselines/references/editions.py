"""What a vendor changed between two editions of a page: figures, labels, rows that came and went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from baselines.references.figures import Canonical
from baselines.references.reference import Reference


class Kind(StrEnum):
    """What happened to a published row."""

    ADDED = "added"
    REMOVED = "removed"
    FIGURE = "figure"
    LABELS = "labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChange:
    """One label of a row before and after; None where it is not stated."""

    name: str
    before: str | int | None
    after: str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionChange:
    """One row that differs. `ratio` is the figure after over before, None where one is missing or units differ."""

    kind: Kind
    before: Reference | None
    after: Reference | None
    ratio: float | None = None
    labels: tuple[LabelChange, ...] = ()


_LABELS = (
    "model", "scenario", "gpu", "gpus", "gpu_version", "system", "parallelism", "isl", "osl", "batch", "unit",
    "latency", "efficiency", "precision", "framework", "container", "dataset", "qsl", "constraints", "target_accuracy",
)  # fmt: skip


def compare_editions(before: Sequence[Reference], after: Sequence[Reference]) -> list[EditionChange]:
    """Return what differs, in the order of the newer edition, what went at the end.

    Rows are the same when their model, GPUs, lengths, batch, parallelism, precision and scenario are; of those left
    over, rows that differ in one of these are one row with changed labels, if there is only one such pair.
    """
    pairs, old, new = _pair(before, after, lambda one: one.key)
    loose, old, new = _pair(old, new, _loose_key, only_single=True)
    pairs |= loose
    changes = [change for one in after if id(one) in pairs for change in _compare(pairs[id(one)], one)]
    changes += [EditionChange(kind=Kind.ADDED, before=None, after=one) for one in new]
    return changes + [EditionChange(kind=Kind.REMOVED, before=one, after=None) for one in old]


def share_in_common(before: Sequence[Reference], after: Sequence[Reference]) -> float:
    """Return how many of the newer rows are in the older edition too, as a share."""
    known = {one.key for one in before}
    return sum(one.key in known for one in after) / len(after) if after else 0.0


def _loose_key(one: Reference) -> tuple[object, ...]:
    printed = one.printed
    return (one.model, printed.scenario, printed.isl, printed.osl, one.gpu, printed.batch is None)


def _pair(
    before: Sequence[Reference],
    after: Sequence[Reference],
    key: Callable[[Reference], object],
    only_single: bool = False,
) -> tuple[dict[int, Reference], list[Reference], list[Reference]]:
    """Return id of the newer -> older row of each pair, and what is left of both."""
    groups: dict[object, tuple[list[Reference], list[Reference]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((before, after)):
        for one in rows:
            groups[key(one)][side].append(one)
    pairs: dict[int, Reference] = {}
    paired: set[int] = set()
    for old, new in groups.values():
        if only_single and (len(old) != 1 or len(new) != 1):
            continue
        for one, other in zip(old, new, strict=False):
            pairs[id(other)] = one
            paired |= {id(one), id(other)}
    return pairs, [one for one in before if id(one) not in paired], [one for one in after if id(one) not in paired]


def _compare(old: Reference, new: Reference) -> Iterator[EditionChange]:
    labels = tuple(_label_changes(old, new))
    if old.printed.number != new.printed.number or _ratio(old.canonical, new.canonical) not in (None, 1.0):
        ratio = _ratio(old.canonical, new.canonical)
        yield EditionChange(kind=Kind.FIGURE, before=old, after=new, ratio=ratio, labels=labels)
    elif labels:
        yield EditionChange(kind=Kind.LABELS, before=old, after=new, labels=labels)


def _label_changes(old: Reference, new: Reference) -> Iterator[LabelChange]:
    for name in _LABELS:
        before, after = getattr(old.printed, name), getattr(new.printed, name)
        if before != after:
            yield LabelChange(name=name, before=before, after=after)


def _ratio(before: Canonical | None, after: Canonical | None) -> float | None:
    """Return after over before; None where one is missing, 0, or they are not of one metric."""
    if before is None or after is None or before.metric != after.metric or not before.value:
        return None
    return after.value / before.value
