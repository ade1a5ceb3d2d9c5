"""ingest: keep results that were measured elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, examples
from tracker.cli.output import Column, note, write, write_json, write_table
from tracker.cli.parse import FailOn, Paths, Tool, end_by_outcome, read_outcomes

if TYPE_CHECKING:
    from jobs.intake import Arrival
    from tracker.pipeline.deposit import Deposited


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    shown = (
        "tracker ingest results/ --component tensorrt-llm --release 1.2.0 --host b200-01 --label gpu='NVIDIA B200'",
        "tracker ingest nightly.zip --component vllm --release 0.11.0 --label isl=1024 --label osl=1024",
        "kubectl logs bench | tracker ingest - --component vllm --release 0.11.0 --at 2026-11-30T08:00:00Z",
    )
    app.command(epilog=examples(*shown))(ingest)


def ingest(
    paths: Paths,
    component: Annotated[str, typer.Option(help="What was measured, such as tensorrt-llm or vllm.")],
    release: Annotated[str, typer.Option(help="Its release, as it was published: 1.2.0rc2, 26.02-py3.")],
    image: Annotated[str | None, typer.Option(help="Digest of the container image: sha256:...")] = None,
    host: Annotated[str | None, typer.Option(help="The host it was measured on.", show_default="unknown")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="What the files do not say, as name=value; may be given several times.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="When it was measured, with its zone: 2026-11-30T08:00:00Z.", show_default="unknown"),
    ] = None,
    tool: Tool = "auto",
    replace: Annotated[bool, typer.Option("--replace", help="Let files replace stored ones of the same name.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Old results: changes among them are shown, and sent to nobody.")
    ] = False,
    fail_on: FailOn = "",
    as_json: Json = False,
) -> None:
    """Keep results that were measured elsewhere.

    Files, folders, patterns, archives and standard input are read. The same content again changes nothing. Other
    content under the same name, release and host is refused, unless it replaces what is stored. Exit code 2 when a
    file was refused.
    """
    from jobs.intake import arrivals, find_files
    from jobs.reading import AUTO, parser_of
    from tracker.app import whoami
    from tracker.pipeline.deposit import deposit
    from tracker.pipeline.origins import read_origin

    bad = read_outcomes(fail_on)
    if tool != AUTO:
        parser_of(tool)
    origin = read_origin(component, release, image, host, label or [], at, history=history)
    files = find_files(paths)
    with opened() as app, closing(arrivals(files, sys.stdin.buffer)) as found:
        arriving = _counted(found, len(files))
        answers = list(deposit(app.context, origin, arriving, who=whoami(), tool=tool, replace=replace))
        running = app.daemon_state()["running"]
    if as_json:
        write_json({"items": answers, "next": None})
    else:
        _show(answers)
        if not running and any(answer.values for answer in answers):
            note("stored; no daemon is running, `tracker serve` looks for changes")
    statuses = {answer.status for answer in answers}
    if "conflict" in statuses:
        raise typer.Exit(2)
    end_by_outcome(["refused" if a.status == "refused" else a.outcome for a in answers], bad)


def _counted(arriving: Iterator[Arrival], files: int) -> Iterator[Arrival]:
    """Yield what arrives and say now and then how much has."""
    live = sys.stderr.isatty()
    number = 0
    for number, arrival in enumerate(arriving, start=1):
        if live and files > 1 and number % 20 == 0:
            print(f"\rreading {number} of {max(files, number)} ...", end="", file=sys.stderr, flush=True)
        elif not live and number % 1000 == 0:
            note(f"read {number} of {max(files, number)}")
        yield arrival
    if live and number >= 20:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _show(answers: list[Deposited]) -> None:
    if len(answers) <= 20:
        shown: list[Deposited] = answers
    else:
        shown = [answer for answer in answers if answer.status not in ("stored", "unchanged") or answer.set_aside]
    rows: list[tuple[Any, ...]] = [
        (a.name, a.status, a.tool, a.outcome, a.values, a.set_aside or "", a.reason) for a in shown[:200]
    ]
    if rows:
        columns = (Column(title="file", give=True), Column(title="status"), Column(title="tool", drop=True))
        counts = (Column(title="values", right=True), Column(title="set aside", right=True, drop=True))
        write_table((*columns, Column(title="outcome"), *counts, Column(title="why", give=True)), rows, empty="")
    counted = Counter(answer.status for answer in answers)
    values, aside = sum(a.values for a in answers), sum(a.set_aside for a in answers)
    parts = [f"{number} {status}" for status, number in sorted(counted.items())]
    write(f"{len(answers)} files: {', '.join(parts)}; {values} values in series, {aside} set aside")
    if unnamed := sum(answer.unnamed for answer in answers):
        note(f"{unnamed} results name no model or benchmark, so different ones meet in a series: --label model=NAME")
    if aside:
        note("`tracker quarantine list` shows what was set aside, and why")
