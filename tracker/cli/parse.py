"""parse and parsers: what result files hold, and which tools are read; nothing is stored."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from tracker.cli.options import Json, examples
from tracker.cli.output import Column, has_colors, note, paint, write, write_json, write_table

OUTCOMES = ("ok", "partial", "failed", "invalid", "refused")
Paths = Annotated[list[str], typer.Argument(help="Files, folders, patterns, .gz and .zip; - is standard input.")]


def complete_tools(incomplete: str) -> list[str]:
    """Return the tools' ids that begin so."""
    from jobs.reading import all_parsers

    return sorted(t for parser in all_parsers().values() for t in parser.tools if t.startswith(incomplete))


Tool = Annotated[
    str, typer.Option(help="The tool that wrote them; found from the content if auto.", autocompletion=complete_tools)
]
FailOn = Annotated[
    str, typer.Option(help="Exit with 1 when a file has one of these outcomes, separated by commas: failed,invalid.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    shown = ("tracker parse report.json", "tracker parse results/ --json", "zcat run.log.gz | tracker parse -")
    app.command(epilog=examples(*shown, "tracker parse nightly.zip --fail-on failed,invalid"))(parse)
    group = typer.Typer(help="Which result files are read.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list", epilog=examples("tracker parsers list", "tracker parsers list --keys aiperf"))(list_)
    group.command(epilog=examples("tracker parsers check my-cases/"))(check)
    app.add_typer(group, name="parsers")


def parse(paths: Paths, tool: Tool = "auto", fail_on: FailOn = "", as_json: Json = False) -> None:
    """Show what result files hold, and store nothing. Exit code 2 when a file was refused."""
    from jobs.intake import arrivals, find_files
    from jobs.reading import AUTO, parser_of, read_result, refused, result_json

    bad = read_outcomes(fail_on)
    if tool != AUTO:
        parser_of(tool)
    files = find_files(paths)
    results = []
    with closing(arrivals(files, sys.stdin.buffer)) as arriving:
        for number, arrival in enumerate(arriving, start=1):
            found = refused(arrival.problem) if arrival.content is None else read_result(arrival.content, tool)
            results.append(result_json(arrival.shown, found))
            if len(files) > 1 and not as_json and sys.stderr.isatty() and number % 50 == 0:
                note(f"read {number} files ...")
    if as_json:
        write_json(results)
    else:
        for result in results:
            _show(result)
    end_by_outcome([result["outcome"] for result in results], bad)


def read_outcomes(text: str) -> frozenset[str]:
    """Return the outcomes named; UserError for an unknown one."""
    from tracker.errors import UserError

    named = [word.strip() for word in text.split(",") if word.strip()]
    for word in named:
        if word not in OUTCOMES:
            raise UserError(f"--fail-on: unknown outcome {word!r}; known: {', '.join(OUTCOMES)}")
    return frozenset(named)


def end_by_outcome(outcomes: list[str], bad: frozenset[str]) -> None:
    """End with 2 when a file was refused, with 1 when one has an outcome that was asked for."""
    if "refused" in outcomes:
        raise typer.Exit(2)
    if bad & set(outcomes):
        raise typer.Exit(1)


def _show(result: dict[str, Any]) -> None:
    version = f" {result['version']}" if result["version"] else ""
    reason = f": {result['reason']}" if result["reason"] else ""
    tool = f"{result['tool']}, " if result["tool"] else ""
    write(paint(result["path"], "bold", has_colors()))
    write(f"  {tool}{result['outcome']}{version and f', version{version}'}{reason}")
    for number, run in enumerate(result["runs"], start=1):
        labels = " ".join(f"{key}={value}" for key, value in run["labels"].items()) or "no labels"
        flags = f"  [{', '.join(run['flags'])}]" if run["flags"] else ""
        write(f"  run {number}: {labels}{flags}")
        rows = [(name, _number(m), m["unit"], m["key"] or "") for name, m in run["metrics"].items()]
        columns = (Column(title="metric"), Column(title="value", right=True), Column(title="unit"))
        if rows:
            write_table((*columns, Column(title="the tool's own key", drop=True)), rows, empty="")
        for one in run["quarantined"]:
            write(f"    set aside: {one['key']} = {one['raw']}: {one['reason']}")
    write("")


def _number(metric: dict[str, Any]) -> str:
    return f"{metric['value']:.6g}"


def list_(
    keys: Annotated[str | None, typer.Option(help="Show this tool's own keys and what they mean.")] = None,
    as_json: Json = False,
) -> None:
    """Show which tools and versions are read."""
    from jobs.reading import all_parsers, parser_of

    if keys is not None:
        _list_keys(keys, parser_of(keys).keys, as_json)
        return
    items = [
        {"parser": name, "tool": tool, "reads": parser.reads}
        for name, parser in all_parsers().items()
        for tool in parser.tools
    ]
    if as_json:
        write_json({"items": items, "next": None})
        return
    columns = (Column(title="tool"), Column(title="parser", drop=True), Column(title="reads", give=True))
    write_table(columns, [(i["tool"], i["parser"], i["reads"]) for i in items], empty="no parser")


def _list_keys(tool: str, keys: Any, as_json: bool) -> None:
    from jobs.metrics import find_metric

    wanted = {tool: keys[tool]} if tool in keys else keys
    items = [
        {"tool": one, "key": own, "unit": key.unit, "metric": key.metric, "better": find_metric(key.metric).direction}
        for one, own_keys in wanted.items()
        for own, key in own_keys.items()
    ]
    if as_json:
        write_json({"items": items, "next": None})
        return
    columns = (Column(title="its own key"), Column(title="in"), Column(title="metric"), Column(title="better"))
    rows = [(i["key"], i["unit"], i["metric"], i["better"]) for i in items]
    write_table(columns, rows, empty=f"{tool} uses the catalogue's own names")


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of cases: each a folder with input and expected.json.")],
    as_json: Json = False,
) -> None:
    """Run a folder of cases against the parsers. Exit code 1 when one differs."""
    from jobs.conformance import check_folder

    cases = list(check_folder(folder))
    if as_json:
        write_json({"items": [{"name": c.name, "differences": list(c.differences)} for c in cases], "next": None})
    else:
        for case in cases:
            write("\n".join([f"{case.name}: {'differs' if case.differences else 'as expected'}"]))
            for difference in case.differences:
                write(f"  {difference}")
    if any(case.differences for case in cases):
        raise typer.Exit(1)
