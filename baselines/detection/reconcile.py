"""Today's change points against those already known: which is which, what is new, what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Way = Literal["up", "down"]
MOVED_RELEASES = 2
"""A change found so many releases away, or within the other's possible places, is the same change moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange:
    """A change point of today, placed by the sort keys of releases, which compare in release order."""

    at: str
    first: str
    last: str
    """Sort keys of the first and the last release at which it may lie."""
    way: Way

    def __post_init__(self) -> None:
        if not self.first <= self.at <= self.last:
            raise ValueError(
                f"a change point must lie in its range, found {self.at!r} in {self.first!r}..{self.last!r}"
            )
        if self.way not in ("up", "down"):
            raise ValueError(f"way: expected up or down, found {self.way!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A change point known by its id; one that was withdrawn comes back under its id if it is found again."""

    id: str
    place: FoundChange
    withdrawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one change point: `same` and `moved` have both sides, `new` no id, `withdrawn` nothing found."""

    kind: Literal["same", "moved", "new", "withdrawn"]
    stored_id: str | None
    found: FoundChange | None


def reconcile(
    stored: Sequence[StoredChange], found: Sequence[FoundChange], releases: Sequence[str] = ()
) -> list[Decision]:
    """Return one decision per found change and per stored one that is gone, in release order.

    Matching is by place and direction only, so ids, and what people said about them, survive new points, late
    reruns and backports. The nearest pair is matched first, then the one whose possible places overlap most;
    changes that are not withdrawn come first. `releases` are all sort keys of the series today, to count
    distances in releases; without it they are counted in the places named here. Order of arguments is irrelevant.
    """
    keys = sorted(
        {*releases, *(key for one in found for key in _keys(one)), *(k for s in stored for k in _keys(s.place))}
    )
    rank = {key: place for place, key in enumerate(keys)}
    pairs = sorted(
        (
            one.withdrawn,
            _distance(one.place, new, rank),
            -_overlap(one.place, new, rank),
            new.at,
            new.first,
            new.last,
            one.place.at,
            one.id,
            place,
        )
        for one in stored
        for place, new in enumerate(found)
        if _may_match(one.place, new, rank)
    )
    matches: dict[str, int] = {}
    for *_, stored_id, place in pairs:
        if stored_id not in matches and place not in matches.values():
            matches[stored_id] = place
    return _decide(stored, found, matches)


def _decide(stored: Sequence[StoredChange], found: Sequence[FoundChange], matches: dict[str, int]) -> list[Decision]:
    """Return the decisions that follow from the matches, in release order."""
    decisions = []
    for one in stored:
        if one.id in matches:
            new = found[matches[one.id]]
            kind: Literal["same", "moved"] = "same" if new.at == one.place.at else "moved"
            decisions.append((new.at, Decision(kind=kind, stored_id=one.id, found=new)))
        elif not one.withdrawn:
            decisions.append((one.place.at, Decision(kind="withdrawn", stored_id=one.id, found=None)))
    taken = set(matches.values())
    fresh = [new for place, new in enumerate(found) if place not in taken]
    decisions += [(new.at, Decision(kind="new", stored_id=None, found=new)) for new in fresh]
    return [
        decision for _, decision in sorted(decisions, key=lambda one: (one[0], one[1].kind, one[1].stored_id or ""))
    ]


def _keys(change: FoundChange) -> tuple[str, str, str]:
    return change.first, change.at, change.last


def _distance(one: FoundChange, other: FoundChange, rank: dict[str, int]) -> int:
    return abs(rank[one.at] - rank[other.at])


def _overlap(one: FoundChange, other: FoundChange, rank: dict[str, int]) -> int:
    """Return how many releases both may lie at; 0 or below where there are none."""
    return min(rank[one.last], rank[other.last]) - max(rank[one.first], rank[other.first]) + 1


def _may_match(one: FoundChange, other: FoundChange, rank: dict[str, int]) -> bool:
    near = _distance(one, other, rank) <= MOVED_RELEASES or _overlap(one, other, rank) > 0
    return one.way == other.way and near
