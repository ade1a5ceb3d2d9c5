"""suites: what is measured, checked and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, SuiteName, complete_suites, examples
from tracker.cli.output import Column, write, write_json, write_table

if TYPE_CHECKING:
    from tracker.setting_tables import Choice

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Suites, by name or as paths.", autocompletion=complete_suites, show_default="all known"),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="What is measured and how.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list", epilog=examples("tracker suites list", "tracker suites list --json"))(list_)
    group.command(epilog=examples("tracker suites check", "tracker suites check ./my-suite.toml"))(check)
    group.command(epilog=examples("tracker suites plan onnxruntime", "tracker suites plan llamacpp --json"))(plan)
    app.add_typer(group, name="suites")


def list_(as_json: Json = False) -> None:
    """Show your own suites, the shipped ones and the examples."""
    with opened() as app:
        items = [_describe(path, kind, app.settings.suites) for path, kind in _known(app.settings.suite_folders)]
    if as_json:
        write_json({"items": items, "next": None})
        return
    columns = (
        Column(title="suite"),
        Column(title="kind", drop=True),
        Column(title="component", drop=True),
        Column(title="runs"),
    )
    rows = [(i["name"], i["kind"], i["component"], "daemon" if i["chosen"] else "", i["title"]) for i in items]
    write_table((*columns, Column(title="title", give=True)), rows, empty="no suite")


def _known(folders: list[Path]) -> list[tuple[Path, str]]:
    """Return the suite files that a name can mean, each name once, with where they come from."""
    from jobs.suite import example_suites, shipped_suites, suites_in

    known = [(path, "own") for folder in folders for path in suites_in(folder)]
    known += [(path, "shipped") for path in shipped_suites()] + [(path, "example") for path in example_suites()]
    first: dict[str, tuple[Path, str]] = {}
    for path, kind in known:
        first.setdefault(path.stem, (path, kind))
    return list(first.values())


def _describe(path: Path, kind: str, chosen: list[str]) -> dict[str, Any]:
    """Return what a list says of a suite; one with mistakes is listed with them."""
    from jobs.errors import UserError
    from jobs.suite import load_suite

    item = {"name": path.stem, "kind": kind, "file": str(path), "chosen": path.stem in chosen}
    try:
        suite = load_suite(path)
    except UserError as error:
        return item | {"component": None, "title": f"has mistakes: {error}", "error": str(error)}
    return item | {"component": suite.component, "title": suite.title, "error": None}


def check(names: Names = None, as_json: Json = False) -> None:
    """Read suites and say every mistake, with file, key and cure."""
    from tracker.errors import UserError

    with opened() as app:
        paths = [app.find_suite(name) for name in names or []] or [p for p, _ in _known(app.settings.suite_folders)]
        chosen = {name: choice for name, choice in app.settings.choices.items() if not names or name in names}
        checked = [_check_file(path) for path in paths] + list(_check_choices(app.find_suite, chosen))
    if as_json:
        write_json({"items": checked, "next": None})
    else:
        for one in checked:
            if one["error"] is None:
                write("\n".join([f"{one['file']}: good", *(f"  {limit}" for limit in one["limits"])]))
    problems = [one["error"] for one in checked if one["error"]]
    if problems:
        raise UserError("\n".join(problems))


def _check_file(path: Path) -> dict[str, Any]:
    """Return what is wrong with a suite file, and what keeps a sound one from running here."""
    from jobs.errors import UserError
    from jobs.suite import limits_of, load_suite

    try:
        return {"file": str(path), "error": None, "limits": list(limits_of(load_suite(path)))}
    except UserError as error:
        return {"file": str(path), "error": str(error), "limits": []}


def _check_choices(find: Callable[[str], Path], choices: Mapping[str, Choice]) -> Iterator[dict[str, Any]]:
    """Yield the choices of the settings that mean nothing."""
    from jobs.errors import UserError
    from jobs.suite import choose, expand, load_suite
    from tracker.pipeline.suites import PYTHON_MINOR
    from tracker.settings import settings_file

    for name, choice in choices.items():
        try:
            choose(expand(load_suite(find(name)), python_minor=PYTHON_MINOR), choice, name)
        except UserError as error:
            said = str(error) if str(error).startswith("choices.") else f"choices.{name}: {error}"
            yield {"file": str(settings_file()), "error": f"settings: {said}", "limits": []}


def plan(suite: SuiteName, as_json: Json = False) -> None:
    """Show what measuring one release takes, and which come first."""
    from jobs.suite import load_suite
    from jobs.suite import plan as plan_suite
    from tracker.cli.starting import describe_size
    from tracker.cli.wanted import wanted_releases
    from tracker.pipeline.plan import configs_somewhere
    from tracker.pipeline.suites import PYTHON_MINOR

    with opened() as app:
        read = load_suite(app.find_suite(suite))
        work = plan_suite(read, python_minor=PYTHON_MINOR, choice=app.settings.choices.get(read.name, {}))
        here = configs_somewhere(app.context, read)
        elsewhere = len(work.configs) - len(here)
        releases = wanted_releases(app, read)
    if as_json:
        write_json(
            {
                "suite": read.name,
                "configs": [config.labels for config in work.configs],
                "configs_elsewhere": elsewhere,
                "repeats": work.repeats,
                "runs_per_release_here": len(here) * work.repeats,
                "runs_per_release": work.runs,
                "estimate_s": work.estimate_s,
                "releases": releases,
            }
        )
        return
    shown = here or work.configs
    write(f"{read.title}\n{describe_size(read, len(shown))}\n")
    if elsewhere:
        what = "they are left out" if here else "nothing is measured here"
        write(f"{elsewhere} of the configs need more GPUs than this machine has: {what}\n")
    labels = [" ".join(f"{key}={value}" for key, value in config.labels.items()) for config in shown]
    write_table((Column(title="config"),), [(label,) for label in labels], empty="no config")
    write("")
    rows = [(one["release"], one["priority"], one["obstacle"]) for one in releases]
    columns = (Column(title="release"), Column(title="priority", right=True), Column(title="why not", give=True))
    write_table(columns, rows, empty="no release is known yet; `tracker releases check` asks for them")
