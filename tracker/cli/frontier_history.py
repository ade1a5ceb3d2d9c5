"""The value of a front at one interactivity over all releases: a series like any other, derived when asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.cli.csv_series import CsvSeries
from tracker.cli.output import Column, note, write, write_json, write_table
from tracker.errors import UserError

if TYPE_CHECKING:
    from baselines import ChangePoint
    from tracker.pipeline.sweeps import Sweep

MOST_SHOWN = 10


def show_history(sweeps: Sequence[Sweep], at: Sequence[float], chart: Path | None, *, as_json: bool) -> None:
    """Print the series of each sweep and interactivity with the changes found in it."""
    from baselines import SeriesInput, detect_many

    if not at and sweeps:
        raise UserError("--history: expected interactivities to follow, found none; name them with --at 20,50,100")
    series = [(sweep, one, series_at(sweep, one)) for sweep in sweeps for one in at]
    changes = detect_many([SeriesInput(values=found.values, labels=found.labels) for _, _, found in series])
    if chart is not None and series:
        sweep, _, first = series[0]
        _draw(sweep, first, changes[0], chart)
        note(f"wrote {chart}" + (f" of the first of {len(series)} series" if len(series) > 1 else ""))
    if as_json:
        items = [_describe(*one, points) for one, points in zip(series, changes, strict=True)]
        write_json({"items": items, "next": None})
        return
    for place, (one, points) in enumerate(zip(series[:MOST_SHOWN], changes, strict=False)):
        _tell(*one, points, first=place == 0)
    if len(series) > MOST_SHOWN:
        note(f"the first {MOST_SHOWN} of {len(series)} series; --text chooses, --json has all")


def series_at(sweep: Sweep, at: float) -> CsvSeries:
    """Return the repeats at an interactivity of each release, none where it lies outside the release's coverage."""
    from baselines.frontier.change import repeats_at

    values = tuple(repeats_at(configs, at) for configs in sweep.releases.values())
    return CsvSeries(
        metric=f"{sweep.tokens} tok/s/GPU at {at:g} tok/s/user",
        labels=tuple(sweep.releases),
        values=values,
        order="by version",
        missing=sum(not one for one in values),
    )


def _title(sweep: Sweep, series: CsvSeries) -> str:
    where = ", ".join(filter(None, (sweep.component, sweep.hardware, sweep.name)))
    return f"{where}: {series.metric}"


def _tell(sweep: Sweep, at: float, series: CsvSeries, changes: Sequence[ChangePoint], *, first: bool) -> None:
    from statistics import median

    from alerts.wording import format_effect, format_interval, format_number
    from tracker.cli.detect import judge

    by_place = {change.index: change for change in changes}
    rows: list[tuple[object, ...]] = []
    for place, (release, values) in enumerate(zip(series.labels, series.values, strict=True)):
        change = by_place.get(place)
        said = "" if change is None else f"{judge(change, 'higher')} {format_effect(change.effect_ratio)}"
        level = format_number(median(values)) if values else f"none: outside the coverage at {at:g}"
        spread = f"{format_number(min(values))} to {format_number(max(values))}" if len(values) > 1 else ""
        interval = format_interval(change.effect_low, change.effect_high) if change else ""
        rows.append((release, level, spread, said, interval))
    write(("" if first else "\n") + _title(sweep, series))
    columns = [Column(title="release"), Column(title="level", right=True), Column(title="repeats", right=True)]
    write_table([*columns, Column(title="change"), Column(title="95 %")], rows, empty="")
    measured = sum(map(bool, series.values))
    if measured < 4:
        write(f"  {measured} releases are too few to look for changes: at least four are needed")
    elif not changes:
        write("  no change found")


def _describe(sweep: Sweep, at: float, series: CsvSeries, changes: Sequence[ChangePoint]) -> dict[str, Any]:
    from tracker.cli.detect import judge

    names = ("before", "after", "effect_ratio", "effect_low", "effect_high", "p", "q", "confirmed", "reason")
    return {
        "component": sweep.component or None,
        "hardware": sweep.hardware or None,
        "name": sweep.name,
        "metric": series.metric,
        "at": at,
        "releases": [
            {"release": label, "values": values} for label, values in zip(series.labels, series.values, strict=True)
        ],
        "changes": [
            {"release": series.labels[change.index], "verdict": judge(change, "higher")}
            | {name: getattr(change, name) for name in names}
            for change in changes
        ],
    }


def _draw(sweep: Sweep, series: CsvSeries, changes: Sequence[ChangePoint], file: Path) -> None:
    from alerts.charts import trend_spec
    from tracker.cli.detect import PICTURE_WIDTH, make_trend
    from tracker.cli.pictures import save_picture

    title = _title(sweep, series)
    spec = trend_spec(make_trend(series, list(changes), "higher", title), width=PICTURE_WIDTH)
    save_picture(file, spec, title=title)
