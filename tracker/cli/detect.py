"""detect: changes of level in any CSV file, without a store, a service or settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.options import Json, examples
from tracker.cli.output import Column, note, write, write_json, write_table
from tracker.errors import UserError

if TYPE_CHECKING:
    from alerts.trend import Trend
    from baselines import ChangePoint
    from tracker.cli.csv_series import CsvSeries

DETECTORS = ("tracker", "ruptures-kernel", "ruptures-pelt", "otava-like-t-test")
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 80
PICTURE_WIDTH = 720

File = Annotated[str, typer.Argument(help="CSV with a column release (or time) and one value; - is standard input.")]
Metric = Annotated[str | None, typer.Option(help="Column of the value.", show_default="value, or the only other one")]
Better = Annotated[str, typer.Option("--direction", help="Which way is better: lower, higher or neutral.")]
Name = Annotated[
    str, typer.Option("--detector", help=f"One of {', '.join(DETECTORS)}.", autocompletion=lambda: list(DETECTORS))
]
Against = Annotated[str | None, typer.Option(help="A second detector, to compare with.")]
Report = Annotated[Path | None, typer.Option(help="With --against: write where the two differ, as one HTML file.")]
Chart = Annotated[Path | None, typer.Option(help="Write the picture; a name that ends in .png or .svg.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    shown = (
        "tracker detect latency.csv",
        "tracker detect runs.csv --metric ttft_ms --chart trend.png",
        "cat runs.csv | tracker detect - --direction higher --json",
        "tracker detect runs.csv --against otava-like-t-test --report differ.html",
    )
    app.command(epilog=examples(*shown))(detect)


def detect(
    file: File,
    metric: Metric = None,
    better: Better = "lower",
    detector: Name = "tracker",
    against: Against = None,
    report: Report = None,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Find changes of level in a CSV file.

    One row is one measurement; rows of one release are its repeats. Releases are put in order by version or by
    time where their names allow it, else they stay as in the file. An empty value is a release not measured.
    """
    from alerts.wording import Direction
    from tracker.cli.csv_series import read_series

    if better not in tuple(Direction):
        raise UserError(f"--direction: expected lower, higher or neutral, found {better!r}")
    if report is not None and against is None:
        raise UserError("--report shows where two detectors differ; name the other with --against")
    first, second = _find(detector, "--detector"), _find(against, "--against") if against else None
    series = read_series(file, metric)
    changes = first(series.values)
    others = second(series.values) if second else None
    if chart is not None:
        _draw(make_trend(series, changes, better), chart)
    if report is not None and others is not None and against is not None:
        _report(series, better, {detector: changes, against: others}, report)
    if as_json:
        write_json(_answer(series, better, detector, changes) | _answer_other(against, series, better, others))
    else:
        _tell(series, better, detector, changes)
        if against and others is not None:
            _tell(series, better, against, others)


def _find(name: str, option: str) -> Any:
    from baselines.detection.detectors import find_detector

    try:
        return find_detector(name)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from error


def judge(change: ChangePoint, better: str) -> str:
    """Return improved, regressed or changed."""
    from alerts.wording import Direction, judge_change

    return judge_change(Direction(better), change.after - change.before).value


def _answer(series: CsvSeries, better: str, detector: str, changes: list[ChangePoint]) -> dict[str, Any]:
    return {
        "metric": series.metric,
        "direction": better,
        "detector": detector,
        "releases": len(series.labels),
        "order": series.order,
        "not_measured": series.missing,
        "verdict": _sentence(series, better, changes),
        "items": [_plain(series, better, change) for change in changes],
    }


def _answer_other(
    name: str | None, series: CsvSeries, better: str, changes: list[ChangePoint] | None
) -> dict[str, Any]:
    return {} if changes is None else {"against": _answer(series, better, name or "", changes)}


def _plain(series: CsvSeries, better: str, change: ChangePoint) -> dict[str, Any]:
    names = ("kind", "before", "after", "effect_ratio", "effect_low", "effect_high", "p", "q", "confirmed", "reason")
    possible = [series.labels[place] for place in change.possible]
    return {
        "release": series.labels[change.index],
        "index": change.index,
        "verdict": judge(change, better),
        **{name: getattr(change, name) for name in names},
        "possible": possible,
    }


def _sentence(series: CsvSeries, better: str, changes: list[ChangePoint]) -> str:
    """Return what is to be said first."""
    from alerts.wording import count, format_effect

    measured = sum(map(bool, series.values))
    if not changes:
        few = " (at least four are needed)" if measured < 4 else ""
        return f"no change found in {count(measured, 'measured release')}{few}"
    last = changes[-1]
    mark = "" if last.confirmed else ", seen only at the newest release"
    said = f"{judge(last, better)} {format_effect(last.effect_ratio)}{mark}"
    return f"{count(len(changes), 'change')}; the last at {series.labels[last.index]}: {said}"


def _tell(series: CsvSeries, better: str, detector: str, changes: list[ChangePoint]) -> None:
    from alerts.wording import format_effect, format_interval, format_number

    write(f"{series.metric}, {detector}: {_sentence(series, better, changes)}")
    write(f"  {sparkline(series)}  {series.labels[0]} to {series.labels[-1]}, {series.order}")
    rows = [
        (
            series.labels[one.index],
            judge(one, better),
            format_effect(one.effect_ratio),
            format_interval(one.effect_low, one.effect_high),
            f"{format_number(one.before)} → {format_number(one.after)}",
            one.reason,
        )
        for one in changes
    ]
    columns = [Column(title="release"), Column(title="verdict"), Column(title="change", right=True)]
    columns += [Column(title="95 %"), Column(title="level"), Column(title="why", give=True, drop=True)]
    if rows:
        write_table(columns, rows, empty="")
    if series.missing:
        note(f"{series.missing} cells without a value: not measured")


def sparkline(series: CsvSeries) -> str:
    """Return the newest levels as bars, a dot where nothing was measured."""
    from statistics import median

    levels = [median(repeats) if repeats else None for repeats in series.values][-MOST_BARS:]
    known = [level for level in levels if level is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    top = len(BARS) - 1

    def bar(level: float | None) -> str:
        if level is None:
            return "·"
        share = (level / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return BARS[round(share * top)]

    return "".join(map(bar, levels))


def make_trend(series: CsvSeries, changes: list[ChangePoint], better: str, title: str = "") -> Trend:
    """Return what the chart of the file shows."""
    from alerts.trend import MissingRelease, Trend, TrendChange, TrendPoint
    from alerts.wording import Change, Direction
    from baselines import aggregate

    levels = aggregate(series.values)
    return Trend(
        title=title or series.metric,
        unit="",
        direction=Direction(better),
        metric=series.metric,
        points=tuple(
            TrendPoint(
                release=series.labels[place],
                order=place,
                level=level.level,
                low=level.low,
                high=level.high,
                n=level.repeats,
                repeats=series.values[place][:50],
            )
            for place, level in enumerate(levels)
            if level is not None
        ),
        missing=tuple(
            MissingRelease(release=series.labels[place], order=place)
            for place, level in enumerate(levels)
            if level is None
        ),
        changes=tuple(
            TrendChange(
                order=one.index,
                verdict=Change(judge(one, better)),
                effect_ratio=one.effect_ratio,
                label=one.reason,
                confirmed=one.confirmed,
            )
            for one in changes
        ),
    )


def _draw(trend: Trend, file: Path) -> None:
    from alerts.charts import render, trend_spec

    kind = file.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise UserError(f"--chart: expected a file that ends in .png or .svg, found {file}")
    _save(file, render(trend_spec(trend, width=PICTURE_WIDTH), "png" if kind == "png" else "svg"), "--chart")


def _report(series: CsvSeries, better: str, found: dict[str, list[ChangePoint]], file: Path) -> None:
    from alerts.charts import render, trend_spec
    from tracker.cli.difference import write_page

    pictures = {
        name: render(trend_spec(make_trend(series, changes, better, name), width=PICTURE_WIDTH), "svg").decode()
        for name, changes in found.items()
    }
    _save(file, write_page(series.metric, series.labels, found, pictures).encode(), "--report")


def _save(file: Path, content: bytes, option: str) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UserError(f"{option}: {file} cannot be written: {(error.strerror or '').lower()}") from error
