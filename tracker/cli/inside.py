"""series inside: one series by the version of a component inside its images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json
from tracker.cli.output import Column, note, write_json, write_table

if TYPE_CHECKING:
    from tracker.store.views.axes import Place

COLUMNS = (
    Column(title="inside"),
    Column(title="level", right=True),
    Column(title="from", right=True, drop=True),
    Column(title="to", right=True, drop=True),
    Column(title="runs", right=True),
    Column(title="releases", give=True),
)


def inside(
    series: Annotated[str, typer.Argument(help="Series: its id, the beginning of one, or words of its name.")],
    component: Annotated[str, typer.Argument(help="Component inside the images, such as tensorrt or cuda.")],
    as_json: Json = False,
) -> None:
    """Show one series by the version of a component inside.

    The same runs on another axis: was it the image's own release, or the TensorRT in it? Levels are medians, and
    nothing is judged here.

    JSON: `series`, `component`, `places` with `version`, `releases`, `level`, `low`, `high`, `n`, `values`.
    """
    with opened() as app:
        from tracker.cli.names import find_series
        from tracker.store.views.axes import place_inside
        from tracker.store.views.series import show_series

        with app.store.read() as session:
            detail = show_series(session, find_series(session, series))
            assert detail is not None
            places = place_inside(session, detail, component)
    if as_json:
        write_json({"series": detail.series.fingerprint, "component": component, "places": places})
        return
    one = detail.series
    note(f"{one.component} {one.metric} {one.name}, by the {component} inside")
    write_table(COLUMNS, [_row(place, one.unit) for place in places], empty="nothing was measured")


def _row(place: Place, unit: str) -> tuple[object, ...]:
    from alerts.wording import format_value

    levels = (format_value(number, unit) for number in (place.level, place.low, place.high))
    names = ", ".join(release.display for release in place.releases)
    return place.version or "not said", *levels, place.n, names
