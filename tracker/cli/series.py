"""series: what was measured over the releases, as a list, a chart and a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.inside import inside
from tracker.cli.options import Component, Json, Limit, Words, complete_suites, examples
from tracker.cli.output import Column, drop_shared, note, write, write_data, write_json, write_table

if TYPE_CHECKING:
    from tracker.app import App
    from tracker.pipeline.exclusions import Excluded
    from tracker.store.views.series import SeriesItem

COLUMNS = (
    Column(title="series"),
    Column(title="component", drop=True),
    Column(title="metric"),
    Column(title="name", give=True),
    Column(title="releases", right=True, drop=True),
    Column(title="newest", right=True),
    Column(title="change"),
)

WhichSeries = Annotated[list[str], typer.Argument(help="Series (not with --suite), then the release.")]
SeriesName = Annotated[str, typer.Argument(help="Series: its id, the beginning of one, or words of its name.")]
Gated = Annotated[bool | None, typer.Option("--gated/--not-gated", help="Only those that may, or may not, alert.")]
Suite = Annotated[str | None, typer.Option(help="Only of this suite.", autocompletion=complete_suites)]
Metric = Annotated[str | None, typer.Option(help="Only of this metric, such as latency_p50_ms.")]
Chart = Annotated[Path | None, typer.Option(help="Write the chart as a picture too: FILE.png or FILE.svg.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="What was measured, over releases.", no_args_is_help=True, rich_markup_mode=None)
    group.command(
        "list", epilog=examples("tracker series list --gated", "tracker series list --text 'prefill 128' --json")
    )(list_)
    group.command(
        epilog=examples(
            "tracker series show 3f2a", "tracker series show 'latency_p50_ms prefill 128' --chart trend.png"
        )
    )(show)
    group.command(
        epilog=examples(
            "tracker series export --component onnxruntime > onnxruntime.csv",
            "tracker series export --metric latency_p50_ms --format json --output p50.json",
        )
    )(export)
    group.command(
        epilog=examples(
            "tracker series exclude 3f2a 1.2.0rc4 --why 'the disk was full'",
            "tracker series exclude --suite llama-bench 1.2.0rc4 --why 'another job ran on the GPU'",
        )
    )(exclude)
    group.command(epilog=examples("tracker series include 3f2a 1.2.0rc4"))(include)
    group.command(epilog=examples("tracker series inside 3f2a tensorrt", "tracker series inside 3f2a cuda --json"))(
        inside
    )
    app.add_typer(group, name="series")


def list_(
    component: Component = None,
    suite: Suite = None,
    metric: Metric = None,
    gated: Gated = None,
    text: Words = None,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """Show the series with their newest level and change."""
    with opened() as app:
        from tracker.store.views.series import list_series

        with app.store.read() as session:
            page = list_series(
                session, component=component, suite=suite, metric=metric, gated=gated, text=text, limit=limit
            )
    if as_json:
        write_json(page)
        return
    names = drop_shared([item.name for item in page.items])
    rows = [_row(item, name) for item, name in zip(page.items, names, strict=True)]
    write_table(COLUMNS, rows, empty="no series: nothing has been measured yet")
    if page.next:
        note(f"the first {limit}; --limit shows more")


def _row(item: SeriesItem, name: str) -> tuple[object, ...]:
    from alerts.wording import Change, compare_word, format_effect, format_value

    newest = format_value(item.newest.level, item.unit) if item.newest else ""
    change = ""
    if item.change:
        word = compare_word([item.unit], Change(item.change.verdict))
        change = f"{word} {format_effect(item.change.effect_ratio)} at {item.change.release.display}"
    return item.fingerprint[:10], item.component, item.metric, name, item.n_points, newest, change


def show(series: SeriesName, chart: Chart = None, as_json: Json = False) -> None:
    """Draw one series over the releases.

    With its changes, and why a release is missing.
    """
    with opened() as app:
        from tracker.cli.charts import draw, save_chart
        from tracker.cli.names import find_series
        from tracker.store.views.series import show_series

        with app.store.read() as session:
            found = show_series(session, find_series(session, series))
        assert found is not None
        if chart is not None:
            save_chart(app, found, chart)
            note(f"wrote {chart}")
        if as_json:
            write_json(found)
        else:
            write("\n".join(draw(found, address=app.settings.link_base)))


def export(
    series: Annotated[str | None, typer.Argument(help="Series; all that match the options without it.")] = None,
    component: Component = None,
    suite: Suite = None,
    metric: Metric = None,
    format_: Annotated[str, typer.Option("--format", help="csv or json.")] = "csv",
    output: Annotated[Path | None, typer.Option(help="File to write.", show_default="standard output")] = None,
    as_json: Json = False,
) -> None:
    """Write single measurements as CSV or JSON.

    One a line: series, labels, release, run, value and where it was measured.
    """
    with opened() as app:
        from tracker.cli.exporting import export_values

        form = "json" if as_json else format_
        text, count = export_values(app, form, series=series, component=component, suite=suite, metric=metric)
    if output is None:
        write_data(text)
    else:
        from tracker.cli.exporting import save_text

        save_text(output, text)
        note(f"wrote {count} measurements to {output}")


def exclude(
    names: WhichSeries,
    why: Annotated[str, typer.Option(help="The reason, for those who come after you.")],
    suite: Suite = None,
    as_json: Json = False,
) -> None:
    """Leave a release out of every judgement.

    Of one series, or of all series of a suite. The values stay, marked, and what was found
    is judged again; `tracker series include` undoes it.
    """
    from tracker.pipeline.exclusions import exclude as leave_out

    with opened() as app:
        from tracker.app import whoami

        fingerprint, release = _find_place(app, names, suite)
        done = leave_out(app.context, release, fingerprint=fingerprint, suite=suite, who=whoami(), why=why)
    _tell(done, "excluded from", "was excluded already", as_json)


def include(names: WhichSeries, suite: Suite = None, as_json: Json = False) -> None:
    """Have a release that was excluded judged again."""
    from tracker.pipeline.exclusions import include as let_in

    with opened() as app:
        from tracker.app import whoami

        fingerprint, release = _find_place(app, names, suite)
        done = let_in(app.context, release, fingerprint=fingerprint, suite=suite, who=whoami())
    _tell(done, "counts again in", "counts already", as_json)


def _find_place(app: App, names: list[str], suite: str | None) -> tuple[str | None, str]:
    """Return series (None with a suite) and release as they were named."""
    from tracker.cli.names import find_series
    from tracker.errors import UserError

    if len(names) != (1 if suite else 2):
        wanted = "RELEASE after --suite" if suite else "SERIES RELEASE, or --suite SUITE RELEASE"
        raise UserError(f"expected {wanted}, found {' '.join(names)}")
    if suite:
        return None, names[0]
    with app.store.read() as session:
        return find_series(session, names[0]), names[1]


def _tell(done: Excluded, said: str, nothing: str, as_json: bool) -> None:
    from alerts.wording import count

    if as_json:
        write_json(done)
    elif done.series:
        note(f"{done.component}/{done.release} {said} {count(len(done.series), 'series', 'series')}")
    else:
        note(f"{done.component}/{done.release} {nothing}")
