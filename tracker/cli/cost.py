"""cost: what tokens cost and draw over the releases, as priced and with the books held."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Component, Json, Words, examples
from tracker.cli.output import note, write_json
from tracker.errors import UserError

if TYPE_CHECKING:
    from baselines.cost.books import Book
    from baselines.cost.releases import CostOptions, Setup, Work
    from tracker.cli.cost_text import Costed

KINDS = ("output", "total", "input")
MOST_SHOWN = 10

File = Annotated[
    str | None,
    typer.Argument(help="CSV or JSON file of points; - is standard input.", show_default="what was measured"),
]
Tier = Annotated[str, typer.Option(help="Price column of the books: own, neocloud, rental ...")]
Hold = Annotated[
    str | None,
    typer.Option(help="Edition held in software only, such as inferencex/2025-08.", show_default="the oldest shipped"),
]
HoldPower = Annotated[
    str | None, typer.Option(help="Edition of a power book held in software only.", show_default="the oldest shipped")
]
Gpu = Annotated[str | None, typer.Option(help="The GPU, where the file has no column gpu.")]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Figure that the chart shows: usd_per_m_output_tokens, output_tok_s_per_mw, j_per_total_token ..."
    ),
]
Chart = Annotated[Path | None, typer.Option(help="Write the chart: FILE.png, FILE.svg or FILE.html.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    shown = (
        "tracker cost",
        "tracker cost --component tensorrt-llm --text 'concurrency 64' --tier rental",
        "tracker cost --metric output_tok_s_per_mw --chart energy.png",
        "tracker cost points.csv --gpu B200 --json",
    )
    app.command(epilog=examples(*shown))(cost)


def cost(
    file: File = None,
    component: Component = None,
    text: Words = None,
    tier: Tier = "own",
    hold: Hold = None,
    hold_power: HoldPower = None,
    gpu: Gpu = None,
    metric: Metric = None,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Derive what tokens cost and draw, release by release.

    Two views stand side by side. As priced: each release by the edition that is valid on the day it was measured.
    Software only: all by one edition, so that only the software moves it. Power is as measured where that is
    valid, else by the power book. Without a price or without a throughput there is no figure, and the reason is said.

    A file has the columns release, gpu, gpu_count, date, one of output_tok_s, total_tok_s, output_tok_s_per_gpu,
    total_tok_s_per_gpu, and where known tok_s_user or tpot_p50_ms, and power_w of one GPU. Other columns are labels.
    """
    from baselines.cost.releases import CostOptions
    from tracker.cli.cost_text import describe, draw, tell

    if chart is not None:
        from tracker.cli.pictures import check_picture

        check_picture(chart)
    check_metric(metric)
    options = CostOptions(tier=tier, held_price=hold, held_power=hold_power)
    with opened() as app:
        from tracker.pipeline.books import load_books

        books = load_books(app.settings)
        check_options(books, options)
        if file is not None:
            from tracker.cli.cost_file import read_works

            works = [("", "", *one) for one in read_works(file, gpu)]
        else:
            works = _stored(app, component, text)
    found = [_derive(one, books, options) for one in works]
    if chart is not None and found:
        draw(found, chart, metric)
        note(f"wrote {chart}")
    if as_json:
        write_json({"items": [describe(one) for one in found], "next": None})
        return
    for place, one in enumerate(found[:MOST_SHOWN]):
        tell(one, first=place == 0)
    if len(found) > MOST_SHOWN:
        note(f"the first {MOST_SHOWN} of {len(found)} configs; --text chooses, --json has all")


def _derive(work: tuple[str, str, str, Setup, list[Work]], books: tuple[Book, ...], options: CostOptions) -> Costed:
    from baselines.cost.releases import cost_releases
    from tracker.cli.cost_text import Costed

    component, hardware, name, setup, releases = work
    costs = cost_releases(releases, setup, books, options)
    return Costed(component=component, hardware=hardware, name=name, setup=setup, costs=costs)


def _stored(app: Any, component: str | None, text: str | None) -> list[tuple[str, str, str, Setup, list[Work]]]:
    from tracker.cli.throughput import explain_empty
    from tracker.pipeline.works import load_works

    with app.store.read() as session:
        works = load_works(session, component=component, text=text)
        if not works:
            explain_empty(session, component, text)
    return [
        (one.component, one.hardware, one.name, one.setup, [release.costed for release in one.releases])
        for one in works
    ]


def check_metric(metric: str | None) -> None:
    """Raise UserError for a figure that is not derived."""
    from difflib import get_close_matches

    from baselines.cost.derived import DERIVED

    if metric is not None and metric not in DERIVED:
        near = get_close_matches(metric, DERIVED, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(DERIVED)}"
        raise UserError(f"--metric: expected a derived figure, found {metric!r}; {hint}")


def check_options(books: tuple[Book, ...], options: CostOptions) -> None:
    """Raise UserError for a tier or an edition that no book has."""
    from baselines.cost.books import BookKind, Unknown, find_edition
    from baselines.cost.books.lookup import tiers_of

    tiers = tiers_of(books)
    if options.tier not in tiers:
        raise UserError(f"--tier: expected a column of a price book, found {options.tier!r}; known: {', '.join(tiers)}")
    for option, kind, named in (
        ("--hold", BookKind.PRICE, options.held_price),
        ("--hold-power", BookKind.POWER, options.held_power),
    ):
        if named is not None and isinstance(found := find_edition(books, kind, named), Unknown):
            raise UserError(f"{option}: {found.reason}")
