"""Fronts for people and for programs: what is said, the tables, the same as data, and the chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.cli.output import Column, drop_shared, lay_out

if TYPE_CHECKING:
    from baselines.frontier.change import Estimate, FrontChange, FrontValue, SweepConfig
    from baselines.frontier.front import Front
    from tracker.pipeline.sweeps import Sweep

CURVE_POINTS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One sweep at two releases."""

    sweep: Sweep
    before: str
    after: str
    change: FrontChange
    values: list[FrontValue]

    @property
    def title(self) -> str:
        """Return which sweep it is."""
        return ", ".join(filter(None, (self.sweep.component, self.sweep.hardware, self.sweep.name)))

    def side(self, release: str) -> tuple[SweepConfig, ...]:
        """Return the configs of a release."""
        return tuple(self.sweep.releases[release])


def compare_sweep(sweep: Sweep, before: str, after: str, at: Sequence[float]) -> Compared:
    """Return the fronts of two releases compared, with their values at the interactivities."""
    from baselines.frontier.change import compare_fronts, values_at

    sides = sweep.releases[before], sweep.releases[after]
    change, values = compare_fronts(*sides), values_at(*sides, at)
    return Compared(sweep=sweep, before=before, after=after, change=change, values=values)


def tell(one: Compared) -> list[str]:
    """Return what is said of a sweep, line by line."""
    from alerts.wording import count

    change = one.change
    lines = [f"{one.title}: {one.after} against {one.before}", f"  {change.sentence}"]
    if change.gain and change.loss and change.net:
        shares = (("gain", change.gain), ("loss", change.loss), ("net", change.net))
        lines.append("  " + ", ".join(f"{name} {_share(value)}" for name, value in shares))
        lines.append("  shares of the area under the earlier front, over what both cover")
    for name, front in ((one.before, change.before), (one.after, change.after)):
        configs = count(len(front.points), "config")
        lines.append(f"  {name} covers {front.low:.4g} to {front.high:.4g} tok/s/user with {configs}")
    if one.values:
        lines += ["", *lay_out(_value_columns(one), [_value_row(value) for value in one.values])]
    lines += ["", *lay_out(_point_columns(one), _point_rows(one))]
    lines += [f"  left out: {reason}" for reason in one.sweep.left_out]
    return lines


def _share(value: Estimate) -> str:
    interval = (
        "" if value.low is None or value.high is None else f" ({value.low * 100:.1f} to {value.high * 100:.1f} %)"
    )
    return f"{value.value * 100:.1f} %{interval}"


def _value_columns(one: Compared) -> list[Column]:
    unit = f"{one.sweep.tokens} tok/s/GPU"
    titles = ("at tok/s/user", f"{one.before}, {unit}", f"{one.after}, {unit}", "change")
    return [*(Column(title=title, right=True) for title in titles), Column(title="why not")]


def _value_row(value: FrontValue) -> list[str]:
    change = "-"
    if value.before and value.after:
        from alerts.wording import format_effect

        change = format_effect(value.after.value / value.before.value - 1)
    return [f"{value.at:g}", _estimate(value.before), _estimate(value.after), change, value.reason or "-"]


def _estimate(value: Estimate | None) -> str:
    from alerts.wording import format_number

    if value is None:
        return "none"
    if value.low is None or value.high is None:
        return format_number(value.value)
    return f"{format_number(value.value)} ({format_number(value.low)} to {format_number(value.high)})"


def _point_columns(one: Compared) -> list[Column]:
    columns = [Column(title="config")]
    for release in (one.before, one.after):
        columns += [Column(title=f"{release} tok/s/user", right=True), Column(title="tok/s/GPU", right=True)]
        columns.append(Column(title="front"))
    return columns


def _point_rows(one: Compared) -> list[list[str]]:
    from alerts.wording import format_number

    sides = [{config.name: config for config in one.side(release)} for release in (one.before, one.after)]
    fronts = [{point.name for point in front.points} for front in (one.change.before, one.change.after)]
    names = dict.fromkeys(name for side in sides for name in side)
    ordered = sorted(names, key=lambda name: [-side[name].point.x for side in sides if name in side])
    rows = []
    for name, shown in zip(ordered, drop_shared(ordered), strict=True):
        row = [shown]
        for side, front in zip(sides, fronts, strict=True):
            if name in side:
                point = side[name].point
                row += [format_number(point.x), format_number(point.y), "on it" if name in front else "beaten"]
            else:
                row += ["-", "-", "not measured"]
        rows.append(row)
    return rows


def describe(one: Compared) -> dict[str, Any]:
    """Return a comparison as data."""
    change = one.change
    return {
        "component": one.sweep.component or None,
        "hardware": one.sweep.hardware or None,
        "name": one.sweep.name,
        "tokens": one.sweep.tokens,
        "before": _describe_side(one, one.before, change.before),
        "after": _describe_side(one, one.after, change.after),
        "judged": change.judged,
        "common": None if change.low is None else [change.low, change.high],
        "gain": change.gain,
        "loss": change.loss,
        "net": change.net,
        "stretches": change.stretches,
        "sentence": change.sentence,
        "values": one.values,
        "left_out": one.sweep.left_out,
    }


def _describe_side(one: Compared, release: str, front: Front) -> dict[str, Any]:
    on_front = {point.name for point in front.points}
    return {
        "release": release,
        "coverage": [front.low, front.high],
        "configs": [
            {
                "name": config.name,
                "tok_s_user": config.point.x,
                "tok_s_per_gpu": config.point.y,
                "repeats": len(config.repeats),
                "on_front": config.name in on_front,
            }
            for config in one.side(release)
        ],
    }


def draw(one: Compared, file: Path) -> None:
    """Write the chart of both fronts."""
    from alerts.frontier_chart import FrontierDot, FrontierSide, frontier_spec
    from tracker.cli.pictures import save_picture

    sides = []
    for release, front in ((one.before, one.change.before), (one.after, one.change.after)):
        on_front = {point.name for point in front.points}
        step = (front.high - front.low) / CURVE_POINTS
        grid = sorted({*(front.low + step * place for place in range(CURVE_POINTS)), *(p.x for p in front.points)})
        dots = tuple(
            FrontierDot(name=c.name, x=c.point.x, y=c.point.y, on_front=c.name in on_front) for c in one.side(release)
        )
        curve = tuple((x, y) for x in grid if (y := front.at(x)) is not None)
        sides.append(FrontierSide(release=release, dots=dots, curve=curve))
    title = f"{one.title}: {one.after} against {one.before}"
    said, axis = one.change.sentence, f"{one.sweep.tokens} tok/s/GPU"
    spec = frontier_spec(sides[0], sides[1], one.change.curve, title=title, said=said, axis=axis)
    save_picture(file, spec, title=title, said=tell(one)[1:4])
