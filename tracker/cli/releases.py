"""releases: what is published, asked, entered by hand, and put in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Component, Json, Limit, Release, SuiteNames, Words, examples
from tracker.cli.output import Column, note, write, write_json, write_table

if TYPE_CHECKING:
    from jobs.releases import TagOrder
    from tracker.app import App
    from tracker.pipeline.watch import Watched
    from tracker.store.views.builds import Build
    from tracker.store.views.releases import ReleaseItem
    from tracker.store.views.runs import RunItem

Measured = Annotated[bool | None, typer.Option("--measured/--unmeasured", help="Only with, or without, runs.")]

BUILD_COLUMNS = (
    Column(title="build"),
    Column(title="tag"),
    Column(title="platform", drop=True),
    Column(title="published", drop=True),
    Column(title="state", give=True),
    Column(title="digest", give=True),
)
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
    group.command(epilog=examples("tracker releases show onnxruntime/1.28.0", "tracker releases show 1.3.0rc4 --json"))(
        show
    )
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
    """Ask the release sources now and plan what is new.

    Asked are the sources of the suites, and those of the settings, and for release notes, unless suites are named.

    JSON: `items`, one for each `suite` or `source`: `new_builds`, `planned_runs`, `left_out` and `unreadable` (`name`,
    `reason`); `release_notes`, one for each `component`: `notes`, `new` and `problem`, null where there was none.
    """
    with opened(suites=suite or None) as app:
        from jobs.suite import load_suite
        from tracker.cli.access import note_queued
        from tracker.cli.release_notes import ask_publishers, tell_of_notes
        from tracker.pipeline.plan import plan
        from tracker.pipeline.watch import source_of, watched_sources

        found: list[dict[str, Any]] = []
        for source in [] if suite else watched_sources(app.context):
            note(f"{source.component}: asking {source.kind} ...")
            found.append({"suite": None, **_ask(app, source), "planned_runs": None})
        for name in app.settings.suites:
            note(f"{name}: asking its source ...")
            asked = _ask(app, source_of(load_suite(app.find_suite(name))))
            found.append({"suite": name, **asked, "planned_runs": plan(app.context, name)})
        if any(one["planned_runs"] for one in found):
            note_queued(app)
        if not as_json:
            _show_asked(found)
        notes, wrong = ([], None) if suite else ask_publishers(app)
    if as_json:
        write_json({"items": found, "release_notes": notes, "next": None})
    else:
        tell_of_notes(notes)
    if wrong is not None:
        raise wrong


def _show_asked(found: Sequence[Mapping[str, Any]]) -> None:
    columns = (
        Column(title="suite or source", give=True),
        Column(title="builds", right=True),
        Column(title="new", right=True),
        Column(title="planned runs", right=True),
    )
    rows = [(one["suite"] or one["source"], one["builds"], one["new_builds"], one["planned_runs"]) for one in found]
    write_table(columns, rows, empty="no suite and no source is set up; name one with --suite")
    for one in found:
        _note_others(one)


def _ask(app: App, source: Watched) -> dict[str, Any]:
    """Return what came of asking a source now."""
    from tracker.pipeline.watch import ask_source

    look = ask_source(app.context, source, force=True)
    names = {"left_out": look.left_out, "unreadable": look.unreadable}
    others = {key: [{"name": name, "reason": reason} for name, reason in pairs] for key, pairs in names.items()}
    return {"source": source.shown, "builds": look.builds, "new_builds": look.new_builds, **others}


def _note_others(asked: Mapping[str, Any]) -> None:
    """Say which published names were not looked at or not understood, one line a reason."""
    for key, words in (("left_out", "left out"), ("unreadable", "not understood")):
        names_of: dict[str, list[str]] = {}
        for one in asked[key]:
            names_of.setdefault(one["reason"], []).append(one["name"])
        for reason, names in names_of.items():
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            note(f"{words}: {', '.join(names[:3])}{more}: {reason}")


def show(release: Release, component: Component = None, as_json: Json = False) -> None:
    """Show what was published of a release, and how its runs stand.

    JSON: `release`, `runs` (state to number), `failure` (why the newest failed run failed, or null), `builds` with
    `kind`, `tag`, `digest`, `platform`, `variant`, `published_at`, `size_bytes`, `yanked`, `misfit`, `superseded`,
    `replaces`, `facts`, `contains`, and `notes` with `url`, `title`, `tag`, `prerelease`, `published_at`, `excerpt`,
    or null where none are known.
    """
    with opened() as app:
        from tracker.store import catalog
        from tracker.store.views.builds import load_builds
        from tracker.store.views.release_notes import find_notes
        from tracker.store.views.runs import count_states, list_runs

        with app.store.read() as session:
            owner, row = catalog.find_release(session, release, component)
            states = count_states(session, release_id=row.id or 0)
            failed = list_runs(session, state="failed", component=owner.slug, release=row.identity, limit=1).items
            builds = load_builds(session, row.id or 0)
            notes = find_notes(session, owner.slug, row.identity)
    name = f"{owner.slug}/{row.display}"
    if as_json:
        failure = failed[0].reason if failed else None
        write_json({"release": name, "runs": states, "failure": failure, "builds": builds, "notes": notes})
        return
    write(name + (f": {row.no_place_reason}" if row.no_place_reason else ""))
    rows = [(b.kind, b.tag, b.platform, b.published_at, _standing(b), b.digest) for b in builds]
    write_table(BUILD_COLUMNS, rows, empty="nothing was published of it")
    for build in builds:
        if build.contains and not build.superseded:
            note(f"inside {build.tag}: " + ", ".join(f"{name} {version}" for name, version in build.contains.items()))
    _tell_runs(states, failed)
    if notes:
        day = f", {notes.published_at:%Y-%m-%d}" if notes.published_at else ""
        note(f"release notes: {notes.url} ({notes.title}{day})")


def _tell_runs(states: Mapping[str, int], failed: Sequence[RunItem]) -> None:
    """Say how many runs there are in each state, and why the newest failed one failed."""
    from tracker.cli.names import shorten

    told = [f"{number} {state}" for state, number in states.items() if number]
    note("runs: " + (", ".join(told) or "none"))
    for run in failed:
        note(f"the newest that failed: {run.reason}; tracker runs show {shorten(run.id)}")


def _standing(build: Build) -> str:
    """Return what became of a build, in few words."""
    if build.superseded:
        return "superseded"
    if build.yanked or build.misfit:
        return build.yanked or build.misfit or ""
    return "pushed again" if build.replaces else ""


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
