"""A series as a chart of characters, one release a line, and as a picture."""

from __future__ import annotations

import shutil
from pathlib import Path

from alerts.charts import trend_spec
from alerts.wording import Direction, format_value
from tracker.app import App
from tracker.cli.output import clean, cut, has_colors, paint
from tracker.cli.results import word_change
from tracker.errors import UserError
from tracker.pipeline.trends import make_trend
from tracker.store.views.series import Point, SeriesDetail

MOST_COLUMNS, LEAST_COLUMNS = 60, 12
TEXT_COLUMNS = 34
PICTURE_WIDTH = 720
_BETTER = {Direction.LOWER: "lower is better", Direction.HIGHER: "higher is better", Direction.NEUTRAL: "neutral"}
_TONES = {"regressed": "bad", "improved": "good", "changed": "bold"}


def draw(detail: SeriesDetail, *, address: str) -> list[str]:
    """Return the lines of the chart: the level of each release between the lowest and the highest repeat of all."""
    series = detail.series
    lines = [
        f"{series.component}: {series.name}",
        f"{series.metric} ({_BETTER[Direction(series.direction)]})",
        f"suite {series.suite}, {series.hardware}, series {series.fingerprint}",
        "",
    ]
    measured = [point for point in detail.points if point.level is not None]
    if not measured:
        return [*lines, "nothing has been measured yet"]
    low = min(point.low for point in measured if point.low is not None)
    high = max(point.high for point in measured if point.high is not None)
    names = max(len(point.release.display) for point in detail.points)
    levels = max(len(format_value(point.level, series.unit)) for point in measured)
    room = shutil.get_terminal_size().columns - names - levels - 6 - TEXT_COLUMNS
    columns = max(LEAST_COLUMNS, min(MOST_COLUMNS, room))
    lines += [_line(point, series.unit, names, levels, scale(point, low, high, columns)) for point in detail.points]
    footing = f"{format_value(low, series.unit)}".ljust(columns - 1) + f" {format_value(high, series.unit)}"
    return [*lines, " " * (names + levels + 4) + footing, "", f"see {address}/series/{series.fingerprint}"]


def scale(point: Point, low: float, high: float, columns: int) -> str:
    """Return the bar of a release: `─` from its lowest to its highest repeat, `●` at its level."""
    if point.level is None or point.low is None or point.high is None:
        return " " * columns
    span = high - low

    def place(value: float) -> int:
        return round((value - low) / span * (columns - 1)) if span else columns // 2

    bar = [" "] * columns
    for column in range(place(point.low), place(point.high) + 1):
        bar[column] = "─"
    bar[place(point.level)] = "●"
    return "".join(bar)


def _line(point: Point, unit: str, names: int, levels: int, bar: str) -> str:
    release = point.release.display.ljust(names)
    if point.level is None:
        why = clean(point.missing or "not measured")
        text = cut(f"{release}  {'-'.rjust(levels)}  {why}", shutil.get_terminal_size().columns)
        return paint(text, "faint", has_colors())
    mark, tone = " ", None
    if point.change is not None:
        mark = "▲" if point.change.direction == "up" else "▼"
        tone = _TONES[point.change.verdict]
    told = f"{mark} {word_change(point.change, unit) if point.change else ''}".rstrip()
    if point.excluded:
        told, tone = cut(f"  excluded: {clean(point.excluded)}", TEXT_COLUMNS), "faint"
    return (
        f"{release}  {format_value(point.level, unit).rjust(levels)}  {bar}  {paint(told, tone, has_colors())}".rstrip()
    )


def save_chart(app: App, detail: SeriesDetail, file: Path) -> None:
    """Write the chart as a picture, its kind by the file's ending; UserError for another ending or a bad path."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise UserError(f"--chart: expected a file that ends in .png or .svg, found {file}")
    picture = app.render_chart(trend_spec(make_trend(detail), width=PICTURE_WIDTH), "png" if kind == "png" else "svg")
    try:
        file.write_bytes(picture)
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {(error.strerror or '').lower()}; check the path") from error
