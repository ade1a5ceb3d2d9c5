"""claims: what a change over many releases is made of, measured here or stated by somebody."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.cost import Hold, HoldPower, Tier, check_metric, check_options
from tracker.cli.options import Component, Json, Words, examples
from tracker.cli.output import note, write, write_json
from tracker.errors import UserError

if TYPE_CHECKING:
    from baselines.claims import Claim
    from tracker.pipeline.chains import Chain

MOST_SHOWN = 10
DEFAULT_METRIC = "usd_per_m_output_tokens"
SHIPPED = "published.toml"

Start = Annotated[str, typer.Argument(metavar="FROM", help="The earlier release, or a day: 2026-04-01.")]
End = Annotated[str, typer.Argument(metavar="TO", help="The later release, or a day.")]
Metric = Annotated[
    str, typer.Option(help="Derived figure: usd_per_m_total_tokens, output_tok_s_per_mw, j_per_output_token ...")
]
Chart = Annotated[Path | None, typer.Option(help="Write the chart: FILE.png, FILE.svg or FILE.html.")]
File = Annotated[Path | None, typer.Argument(help="TOML file with claims.", show_default="those that ship")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    text = "Changes over many releases: how much of them is software."
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    group.command(
        epilog=examples(
            "tracker claims show 1.0.0 1.3.0 --component tensorrt-llm",
            "tracker claims show 2026-04-01 2026-11-30 --text 'concurrency 64' --chart parts.png",
        )
    )(show)
    group.command(
        epilog=examples("tracker claims check", "tracker claims check claims.toml --json --chart claims.svg")
    )(check)
    app.add_typer(group, name="claims")


def show(
    start: Start,
    end: End,
    component: Component = None,
    text: Words = None,
    metric: Metric = DEFAULT_METRIC,
    tier: Tier = "own",
    hold: Hold = None,
    hold_power: HoldPower = None,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Take a measured change apart.

    Each series that was measured at both ends: the whole change, and what software, price and power did to it, with
    workload and hardware held by what a series is. Then the releases that brought it. A day means the newest release
    measured until then.
    """
    from tracker.cli.claims_text import describe_chain, draw_chain, tell_chain
    from tracker.cli.pictures import check_picture

    if chart is not None:
        check_picture(chart)
    check_metric(metric)
    if metric == "interactivity_tok_s_user":
        raise UserError("--metric: expected a cost or an energy, found interactivity_tok_s_user; see tracker frontier")
    found = _measure(start, end, component, text, metric, tier, hold, hold_power)
    if chart is not None and found:
        draw_chain(found[0], chart)
        note(f"wrote {chart}" + (f" of the first of {len(found)} configs; --text chooses" if len(found) > 1 else ""))
    if as_json:
        write_json({"items": [describe_chain(one) for one in found], "next": None})
        return
    for place, one in enumerate(found[:MOST_SHOWN]):
        write(("\n" if place else "") + "\n".join(tell_chain(one)))
    if len(found) > MOST_SHOWN:
        note(f"the first {MOST_SHOWN} of {len(found)} configs; --text chooses, --json has all")


def _measure(
    start: str,
    end: str,
    component: str | None,
    text: str | None,
    metric: str,
    tier: str,
    hold: str | None,
    hold_power: str | None,
) -> list[Chain]:
    from baselines.cost.releases import CostOptions
    from tracker.cli.throughput import explain_empty
    from tracker.pipeline.books import load_books
    from tracker.pipeline.chains import make_chain
    from tracker.pipeline.works import load_works

    options = CostOptions(tier=tier, held_price=hold, held_power=hold_power)
    with opened() as app:
        books = load_books(app.settings)
        check_options(books, options)
        with app.store.read() as session:
            works = load_works(session, component=component, text=text)
            if not works:
                explain_empty(session, component, text)
                return []
        chains = [make_chain(work, start, end, metric, books, options) for work in works]
    found = [chain for chain in chains if chain is not None]
    if not found:
        known = ", ".join(dict.fromkeys(one.release.display for work in works for one in work.releases))
        raise UserError(
            f"{start} to {end}: expected two releases, or days, at which one config was measured with this figure's"
            f" tokens; measured: {known}"
        )
    return found


def check(file: File = None, chart: Chart = None, as_json: Json = False) -> None:
    """Check claims that somebody states.

    Do the figures agree with one another, as far as their printed digits say, and is it a claim of software, of price
    or of hardware? A TOML file holds them with their source; the guide shows how. Without a file those that ship are
    checked.
    """
    from baselines.claims import check_claim
    from tracker.cli.claims_text import describe_check, draw_checks, tell_checks
    from tracker.cli.pictures import check_picture
    from tracker.pipeline.books import load_books

    if chart is not None:
        check_picture(chart)
    claims = _read(file)
    with opened() as app:
        books = load_books(app.settings)
    found = [check_claim(claim, books) for claim in claims]
    if chart is not None:
        draw_checks(found, chart)
        note(f"wrote {chart}")
    if as_json:
        write_json({"items": [describe_check(one) for one in found], "next": None})
    else:
        tell_checks(found)


def _read(file: Path | None) -> list[Claim]:
    from baselines.claims import parse_claims

    try:
        if file is None:
            return parse_claims(resources.files("baselines.claims").joinpath(SHIPPED).read_text("utf-8"), SHIPPED)
        return parse_claims(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or '').lower()}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file}: expected UTF-8 text, found another byte at {error.start}; save it as UTF-8"
        ) from error
    except ValueError as error:
        raise UserError(str(error)) from error
