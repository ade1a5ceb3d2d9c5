"""frontier: throughput against interactivity, two releases side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Component, Json, Words, examples
from tracker.cli.output import note, write, write_json
from tracker.errors import UserError

if TYPE_CHECKING:
    from tracker.pipeline.sweeps import Sweep

FILE_ENDINGS = (".csv", ".tsv", ".txt", ".json")

Names = Annotated[
    list[str] | None,
    typer.Argument(help="[FILE] [EARLIER LATER]", show_default="what was measured; the newest two releases"),
]
At = Annotated[str | None, typer.Option(help="Interactivities to read, in tok/s/user: 20,50,100.")]
TokenKind = Annotated[str | None, typer.Option("--tokens", help="output or total.", show_default="output where known")]
History = Annotated[
    bool, typer.Option("--history", help="Follow the values at --at over all releases, and find their changes.")
]
Chart = Annotated[Path | None, typer.Option(help="Write the chart: FILE.png, FILE.svg or FILE.html.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    shown = (
        "tracker frontier 1.2.0 1.3.0 --component tensorrt-llm",
        "tracker frontier --text 'fp4 1024' --at 20,50,100",
        "tracker frontier sweep.csv --chart frontier.png",
        "tracker frontier sweep.csv 1.2.0 1.3.0 --json",
        "tracker frontier --history --at 50 --chart trend.svg",
    )
    app.command(epilog=examples(*shown))(frontier)


def frontier(
    names: Names = None,
    component: Component = None,
    text: Words = None,
    at: At = None,
    tokens: TokenKind = None,
    history: History = False,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Compare the Pareto fronts of two releases.

    A front is what no other config of the release beats: more tokens a second per GPU, or more per user. Configs that
    differ only in load and parallelism make one sweep. Between points a front is read by monotone interpolation,
    outside its coverage it says nothing. Gain and loss are shares of the area under the earlier front over what both
    cover; their intervals come from the repeats.

    A file (CSV or JSON) has the columns release, tok/s/gpu, tok/s/user (or tpot_p50_ms), repeat, and one that tells
    the points of a sweep apart, such as concurrency.
    """
    from tracker.cli.frontier_text import compare_sweep, describe, draw, tell
    from tracker.cli.pictures import check_picture

    if chart is not None:
        check_picture(chart)
    wanted = _read_at(at)
    kind = _read_tokens(tokens)
    file, pair = _split(names or [])
    if file is not None:
        from tracker.cli.frontier_file import read_sweeps

        sweeps = read_sweeps(file, kind)
    else:
        sweeps = _stored(component, text, kind)
    if history:
        from tracker.cli.frontier_history import show_history

        if pair:
            raise UserError(f"--history follows all releases; leave out {' and '.join(pair)}")
        show_history(sweeps, wanted, chart, as_json=as_json)
        return
    chosen = [(sweep, *_choose(sweep, pair)) for sweep in sweeps if _holds(sweep, pair)]
    if sweeps and not chosen:
        known = ", ".join(dict.fromkeys(name for sweep in sweeps for name in sweep.releases))
        raise UserError(f"{' and '.join(pair)}: expected two releases of one sweep; known: {known}")
    found = [compare_sweep(sweep, before, after, wanted) for sweep, before, after in chosen]
    if chart is not None and found:
        draw(found[0], chart)
        note(f"wrote {chart}" + (f" of the first of {len(found)} sweeps; --text chooses" if len(found) > 1 else ""))
    if as_json:
        write_json({"items": [describe(one) for one in found], "next": None})
        return
    for place, one in enumerate(found):
        write(("\n" if place else "") + "\n".join(tell(one)))


def _split(names: list[str]) -> tuple[str | None, list[str]]:
    """Return the file, if one is named, and the releases."""
    file = names[0] if names and (names[0] == "-" or names[0].lower().endswith(FILE_ENDINGS)) else None
    pair = names[1:] if file else names
    if len(pair) not in (0, 2):
        found = " ".join(pair)
        raise UserError(f"expected two releases, the earlier first, or none for the newest two; found {found}")
    if pair and pair[0] == pair[1]:
        raise UserError(f"expected two different releases, found {pair[0]} twice")
    return file, pair


def _read_at(text: str | None) -> tuple[float, ...]:
    found = []
    for part in (text or "").split(","):
        if not part.strip():
            continue
        try:
            value = float(part)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise UserError(f"--at: expected numbers above 0 with commas, such as 20,50,100; found {part.strip()!r}")
        found.append(value)
    return tuple(found)


def _read_tokens(tokens: str | None) -> Any:
    if tokens not in (None, "output", "total"):
        raise UserError(f"--tokens: expected output or total, found {tokens!r}")
    return tokens


def _stored(component: str | None, text: str | None, kind: Any) -> list[Sweep]:
    with opened() as app:
        from tracker.cli.throughput import explain_empty
        from tracker.pipeline.sweeps import gather_sweeps
        from tracker.pipeline.works import load_works

        with app.store.read() as session:
            works = load_works(session, component=component, text=text)
            if not works:
                explain_empty(session, component, text)
                return []
        sweeps = gather_sweeps(works, kind)
    two = [sweep for sweep in sweeps if len(sweep.releases) > 1]
    if not two:
        _explain_none(len(works), sweeps)
    return two


def _explain_none(configs: int, sweeps: list[Sweep]) -> None:
    """Say why there is no front to compare."""
    reasons = list(dict.fromkeys(reason for sweep in sweeps for reason in sweep.left_out))
    if not sweeps:
        note(f"no sweep: no two of the {configs} configs with a throughput differ in load or parallelism alone")
    elif reasons and not any(sweep.releases for sweep in sweeps):
        note(f"no point of a sweep can be placed: {'; '.join(reasons)}")
    else:
        note("no sweep was measured at two releases yet")
    note("measure two releases at several concurrencies, with tok/s/user or TPOT, or name a file of points")


def _find(sweep: Sweep, named: str) -> str | None:
    """Return the release of a sweep that is meant, by its name or with its component before it."""
    return next((name for name in sweep.releases if named in (name, f"{sweep.component}/{name}")), None)


def _holds(sweep: Sweep, pair: list[str]) -> bool:
    return len(sweep.releases) > 1 and all(_find(sweep, one) for one in pair)


def _choose(sweep: Sweep, pair: list[str]) -> tuple[str, str]:
    """Return the two releases to compare: those named, else the newest two."""
    if pair:
        first, second = (_find(sweep, one) or one for one in pair)
        return first, second
    names = list(sweep.releases)
    return names[-2], names[-1]
