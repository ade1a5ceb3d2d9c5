"""references: what vendors publish, imported, shown, compared between editions and with own series."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.options import Json, Limit, complete_releases, examples
from tracker.cli.output import note, write, write_json

if TYPE_CHECKING:
    from baselines.references import Page
    from tracker.app import App
    from tracker.pipeline.references import Imported

Source = Annotated[str | None, typer.Option(help="Only of this source, such as nvidia-inference-performance.")]
Of = Annotated[str | None, typer.Option("--edition", help="Edition.", show_default="the newest of each source")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    text = "What vendors publish, beside what is measured here."
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    read = ("tracker references import page.html", "tracker references import page.txt --date 2026-07-01 --dry-run")
    group.command("import", epilog=examples(*read, "tracker references import page.txt --json"))(import_)
    group.command("list", epilog=examples("tracker references list", "tracker references list --json"))(list_)
    shown = ("tracker references show --model gpt-oss-120b --gpu B200", "tracker references show --doubtful")
    group.command(epilog=examples(*shown))(show)
    changed = "tracker references diff nvidia-inference-performance/2026-04-30 nvidia-inference-performance/2026-07-01"
    group.command(epilog=examples("tracker references diff", changed))(diff)
    compared = ("tracker references compare --release tensorrt-llm/1.2.0", "tracker references compare --release 1.2.0")
    group.command(epilog=examples(compared[0], f"{compared[1]} --component tensorrt-llm --json"))(compare)
    app.add_typer(group, name="references")


def import_(
    file: Annotated[str, typer.Argument(help="The saved page: text, Markdown or HTML; - for standard input.")],
    source: Annotated[
        str | None,
        typer.Option(
            help="Whose page it is.", show_default="the known page it resembles, its address or its file's name"
        ),
    ] = None,
    date_: Annotated[
        str | None, typer.Option("--date", help="The day the copy was saved: 2026-04-30.", show_default="today")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be kept.")] = False,
    as_json: Json = False,
) -> None:
    """Read a page of published figures and keep it as an edition.

    What is doubtful is kept as printed and flagged with the reason. The same page again changes nothing; a newer copy
    is a new edition, and older ones stay. JSON: `rows`, one a published row.
    """
    from baselines.references import as_json as row_json
    from tracker.cli.saved_pages import read_saved_page
    from tracker.pipeline.references import check_date, check_source, read_text

    with opened() as app:
        wanted, day = check_source(source), check_date(date_, app.clock.now().date())
        page = read_text(read_saved_page(file), file)
        if as_json:
            write_json({"rows": [row_json(one) for one in page.references]})
        found = _weigh(app, page, file, wanted, day) if dry_run else _keep(app, page, file, wanted, day)
    for line in _tell(found, dry_run):
        (note if as_json else write)(line)


def _keep(app: App, page: Page, file: str, source: str | None, day: date | None) -> Imported:
    from tracker.app import whoami
    from tracker.pipeline.references import import_page

    return import_page(app.context, page, file=_shown(file), source=source, dated=day, who=whoami())


def _weigh(app: App, page: Page, file: str, source: str | None, day: date | None) -> Imported:
    """Return what would be kept; where there is no store yet, none is made."""
    from tracker.pipeline.references import weigh_page
    from tracker.store.engine import open_store

    there = app.settings.database_url or (app.settings.home / "tracker.db").exists()
    store = app.store if there else open_store("sqlite://")
    try:
        with store.read() as session:
            today = app.clock.now().date()
            return weigh_page(session, page, file=_shown(file), source=source, dated=day, today=today)[0]
    finally:
        if not there:
            store.close()


def _shown(file: str) -> str:
    return "page" if file == "-" else file


def _tell(found: Imported, dry_run: bool) -> list[str]:
    """Return what became of a page, in sentences."""
    from alerts.wording import count
    from tracker.cli.reference_tables import word_counts

    rows = found.page.references
    missing, doubtful = sum(one.value is None for one in rows), sum(bool(one.flags) for one in rows)
    size = f"{count(len(rows), 'row')} in {count(found.page.tables, 'table')}"
    size += f", {missing} without a figure" if missing else ""
    passed_over = [
        f"line {line}: a table with figures is not read, its header names no model and throughput: {header}"
        for line, header in found.page.passed_over
    ]
    if not found.new:
        known = f"{found.edition}, which ships with the service," if found.shipped else found.edition
        return [f"unchanged: {known} says the same already ({size})", *passed_over]
    lines = [f"{'would be kept' if dry_run else 'kept'} as {found.edition}: {size}"]
    if doubtful:
        where = "" if dry_run else f"; `tracker references show {found.edition} --doubtful` says why"
        lines.append(f"{count(doubtful, 'row is', 'rows are')} doubtful{where}")
    if found.against:
        where = "" if dry_run or not found.changes else f"; `tracker references diff {found.against} {found.edition}`"
        lines.append(f"against {found.against}: {word_counts(found.changes)}{where}")
    return lines + passed_over


def list_(as_json: Json = False) -> None:
    """Show the editions that ship and those imported.

    By source, the newest last.
    """
    from tracker.cli.reference_tables import edition_json, write_editions

    with opened() as app:
        from tracker.pipeline.references import list_editions, newest_of_each

        with app.store.read() as session:
            editions = list_editions(session)
    newest = {one.name for one in newest_of_each(editions)}
    if as_json:
        write_json({"items": [edition_json(one, one.name in newest) for one in editions], "next": None})
    else:
        write_editions(editions, newest)


def show(
    edition: Annotated[str | None, typer.Argument(help="Edition.", show_default="the newest of each source")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this model, by any of its names.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Only on this GPU, by any of its names.")] = None,
    framework: Annotated[
        str | None, typer.Option(help="Only with this framework: TensorRT-LLM, or with its version.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Only of this metric, such as output_tok_s_per_gpu.")] = None,
    text: Annotated[str | None, typer.Option(help="Only where each of these words is found.")] = None,
    doubtful: Annotated[bool, typer.Option("--doubtful", help="Only what may be doubted, with the reasons.")] = False,
    limit: Limit = 300,
    as_json: Json = False,
) -> None:
    """Show published rows as printed, with their doubts.

    JSON: `items` with the fields of `import --json`, `edition`, and `notes` where a row needs an explanation.
    """
    from tracker.cli.reference_tables import write_figures

    with opened() as app:
        from tracker.pipeline.published import choose_figures, load_published, to_plain

        with app.store.read() as session:
            figures = load_published(session, edition)
    asked: dict[str, Any] = {"model": model, "gpu": gpu, "framework": framework, "metric": metric, "text": text}
    chosen = choose_figures(figures, **asked, doubtful=doubtful)
    if as_json:
        page = chosen[:limit]
        write_json({"items": [to_plain(one) for one in page], "next": str(limit) if len(chosen) > limit else None})
        return
    write_figures(chosen[:limit], figures)
    if len(chosen) > limit:
        note(f"the first {limit} of {len(chosen)}; --limit shows more")


def diff(
    old: Annotated[str | None, typer.Argument(help="The older edition.", show_default="the newest but one")] = None,
    new: Annotated[str | None, typer.Argument(help="The newer one.", show_default="the newest")] = None,
    source: Source = None,
    as_json: Json = False,
) -> None:
    """Show what a vendor changed between two editions.

    Figures, labels, rows that came and went.
    """
    from baselines.references import compare_editions
    from tracker.cli.reference_tables import change_json, write_changes

    with opened() as app:
        from tracker.pipeline.references import choose_pair, list_editions, load_figures

        with app.store.read() as session:
            pair = choose_pair(list_editions(session), old, new, source)
            sides = [load_figures(session, one) for one in pair] if pair else []
    changes = compare_editions(*sides) if pair else []
    names = [one.name for one in pair] if pair else [None, None]
    if as_json:
        items = [change_json(change) for change in changes]
        write_json({"before": names[0], "after": names[1], "items": items, "next": None})
    elif pair is None:
        note("no source has two editions yet; `tracker references import` keeps a newer copy as one")
    else:
        write_changes(changes, pair)


def compare(
    release: Annotated[
        str,
        typer.Option(help="Release: 1.2.0 or tensorrt-llm/1.2.0.", autocompletion=complete_releases),
    ],
    component: Annotated[str | None, typer.Option(help="Its component, where several have such a release.")] = None,
    edition: Of = None,
    as_json: Json = False,
) -> None:
    """Hold a release against published figures, row by row.

    The ratio of measured to published, only where model, workload, precision, parallelism, GPU and count agree. For the
    other series it is said what the nearest rows differ in, and what to do.
    """
    from tracker.cli.reference_tables import comparison_json, write_comparison

    with opened() as app:
        from tracker.pipeline.beside_published import compare_release

        with app.store.read() as session:
            found = compare_release(session, release, component=component, edition=edition)
    if as_json:
        write_json(comparison_json(found))
    else:
        write_comparison(found)
