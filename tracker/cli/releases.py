"""releases: what is published, asked, entered by hand, and put in order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Component, Json, Limit, SuiteNames, Words, examples
from tracker.cli.output import Column, note, write, write_json, write_table

if TYPE_CHECKING:
    from jobs.releases import TagOrder
    from tracker.store.views.releases import ReleaseItem

Measured = Annotated[bool | None, typer.Option("--measured/--unmeasured", help="Only with, or without, runs.")]

COLUMNS = (
    Column(title="release"),
    Column(title="track", drop=True),
    Column(title="published", drop=True),
    Column(title="runs"),
    Column(title="result", give=True),
)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="What is published, and in which order.", no_args_is_help=True, rich_markup_mode=None)
    group.command(
        "list", epilog=examples("tracker releases list", "tracker releases list --component onnxruntime --json")
    )(list_)
    group.command(epilog=examples("tracker releases check", "tracker releases check --suite onnxruntime"))(check)
    group.command(
        epilog=examples(
            "tracker releases add onnxruntime 1.99.0 --file onnxruntime-1.99.0-cp311-cp311-linux_x86_64.whl",
            "tracker releases add tensorrt-llm 1.3.0rc4 --image registry.example/trtllm:1.3.0rc4 --digest sha256:...",
        )
    )(add)
    group.command(
        epilog=examples(
            "tracker releases order --component tensorrt-llm tags.txt",
            "printf '26.02-py3\\n25.12-py3\\n' | tracker releases order - --json",
        )
    )(order)
    app.add_typer(group, name="releases")


def list_(
    component: Component = None,
    text: Words = None,
    measured: Measured = None,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """Show the known releases, newest first."""
    with opened() as app:
        from tracker.store import catalog
        from tracker.store.views.releases import list_releases

        with app.store.read() as session:
            if component:
                catalog.find_component(session, component)
            page = list_releases(session, component=component, text=text, measured=measured, limit=limit)
    if as_json:
        write_json(page)
        return
    rows = [
        (f"{one.component}/{one.display}", one.track, _day(one), _runs(one), word_release(one)) for one in page.items
    ]
    write_table(COLUMNS, rows, empty="no release is known yet; `tracker releases check` asks for them")
    if page.next:
        note(f"the newest {limit}; --limit shows more")


def _day(item: ReleaseItem) -> str:
    return f"{item.published_at:%Y-%m-%d}" if item.published_at else ""


def _runs(item: ReleaseItem) -> str:
    return ", ".join(f"{number} {state}" for state, number in item.runs.items())


def word_release(item: ReleaseItem) -> str:
    """Return what is known of a release in few words: why it is not measured, or how its gated series did."""
    from alerts.summary import RowVerdict

    if item.no_place_reason or item.obstacle:
        return item.no_place_reason or item.obstacle or ""
    if item.runs.get("done") and not item.verdicts:
        return "not compared"
    return ", ".join(f"{number} {RowVerdict(word).words}" for word, number in item.verdicts.items())


def check(suite: SuiteNames = None, as_json: Json = False) -> None:
    """Ask the release sources now and plan what is new: those of the suites, and those of the settings.

    JSON: `items`, one for each `suite` or `source`: `new_builds`, `planned_runs`.
    """
    with opened(suites=suite or None) as app:
        from tracker.cli.access import note_queued
        from tracker.pipeline.plan import plan
        from tracker.pipeline.watch import ask_source, watch, watched_sources

        found: list[dict[str, Any]] = []
        for source in [] if suite else watched_sources(app.context):
            note(f"{source.component}: asking {source.kind} ...")
            new = ask_source(app.context, source, force=True)
            found.append({"suite": None, "source": source.name, "new_builds": new, "planned_runs": None})
        for name in app.settings.suites:
            note(f"{name}: asking its source ...")
            new = watch(app.context, name, force=True)
            planned = plan(app.context, name)
            found.append({"suite": name, "source": None, "new_builds": new, "planned_runs": planned})
        if any(one["planned_runs"] for one in found):
            note_queued(app)
    if as_json:
        write_json({"items": found, "next": None})
        return
    asked = Column(title="suite or source", give=True)
    columns = (asked, Column(title="new builds", right=True), Column(title="planned runs", right=True))
    rows = [(one["suite"] or one["source"], one["new_builds"], one["planned_runs"]) for one in found]
    write_table(columns, rows, empty="no suite and no source is set up; name one with --suite")


def add(
    component: Annotated[str, typer.Argument(help="Component, such as onnxruntime.")],
    version: Annotated[str, typer.Argument(help="The release's name, as it was published.")],
    file: Annotated[Path | None, typer.Option(help="A wheel, or a folder with the release.")] = None,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    digest: Annotated[str | None, typer.Option(help="The image's digest: sha256:...")] = None,
    as_json: Json = False,
) -> None:
    """Enter a release by hand: a wheel, a folder or an image."""
    from tracker.cli.entries import enter_release, make_build

    build = make_build(version, file=file, image=image, digest=digest)
    with opened() as app:
        name, is_new = enter_release(app, component, build)
    if as_json:
        write_json({"release": name, "new": is_new, "digest": build.digest})
    else:
        write(f"{name}: entered" if is_new else f"{name}: known already")


def order(
    file: Annotated[Path, typer.Argument(help="File with one tag a line; `-` for standard input.")],
    component: Annotated[str | None, typer.Option(help="The software the tags belong to, known or not.")] = None,
    as_json: Json = False,
) -> None:
    """Put published names in release order, oldest first.

    Names without a place in it are listed with the reason.

    JSON: `order` and `nightlies` (lists of tags that tie), `excluded` (`tag`, `reason`), `tags` (tag -> `version`,
    `track`, `variant`).
    """
    from jobs.releases import order_tags
    from tracker.cli.entries import read_lines

    found = order_tags(read_lines(file), component)
    if as_json:
        write_json(found.to_json())
        return
    columns = (
        Column(title="place", right=True),
        Column(title="tags", give=True),
        Column(title="release, or why not", give=True),
        Column(title="track"),
    )
    write_table(columns, _order_rows(found), empty="no tag in it")


def _order_rows(found: TagOrder) -> list[tuple[object, ...]]:
    """Return the releases, then what stands apart from them and why."""
    rows: list[tuple[object, ...]] = [
        (place, ", ".join(tags), found.tags[tags[0]].display, found.tags[tags[0]].track)
        for place, tags in enumerate(found.order, start=1)
    ]
    rows += [("nightly", ", ".join(tags), found.tags[tags[0]].display, "nightly") for tags in found.nightlies]
    return rows + [("none", tag, reason, found.tags[tag].track) for tag, reason in found.excluded]
