"""What a trend chart shows, as values: one series over the releases of a component."""

from __future__ import annotations

import math
from dataclasses import dataclass

from alerts.wording import Change, Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One release's level, in the trend's unit."""

    release: str
    order: int
    """Place on the axis, counted from 0 over all releases shown, measured or not."""
    level: float
    low: float | None = None
    high: float | None = None
    """The lowest and the highest repeat."""
    n: int = 1
    """How many repeats stand behind the level."""
    repeats: tuple[float, ...] = ()
    flags: tuple[str, ...] = ()
    """Why the point may still change (`provisional`, `being measured`): it is drawn hollow and this named on hover."""

    def __post_init__(self) -> None:
        numbers = (self.level, *self.repeats, *(edge for edge in (self.low, self.high) if edge is not None))
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"a point of a trend must be finite, found {numbers} at {self.release!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChange:
    """A change point, drawn before the release at `order`, the first one with the new level."""

    order: int
    verdict: Change
    effect_ratio: float | None = None
    label: str = ""
    """Shown on hover; the picture itself says arrow, size and verdict."""
    confirmed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRelease:
    """A release that exists and has no measurement in this series."""

    release: str
    order: int
    reason: str = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One series over releases, in release order. Points and missing releases share one axis."""

    title: str
    unit: str
    direction: Direction
    metric: str = ""
    points: tuple[TrendPoint, ...] = ()
    changes: tuple[TrendChange, ...] = ()
    missing: tuple[MissingRelease, ...] = ()
    axis: str = "release"
    """What stands on the axis, in the singular: releases, or the versions of something inside them."""
    is_judged: bool = True
    """Whether changes were looked for, so that the levels between them can be drawn."""

    def __post_init__(self) -> None:
        orders = [point.order for point in self.points] + [gap.order for gap in self.missing]
        if len(set(orders)) != len(orders) or any(order < 0 for order in orders):
            raise ValueError(f"every release needs its own place on the axis, from 0 on, found {sorted(orders)}")
        strangers = {change.order for change in self.changes} - {point.order for point in self.points}
        if strangers:
            raise ValueError(f"change points must stand at measured releases, found them at {sorted(strangers)}")

    @property
    def releases(self) -> dict[int, str]:
        """Place -> release, in order."""
        places = [(point.order, point.release) for point in self.points]
        return dict(sorted(places + [(gap.order, gap.release) for gap in self.missing]))
