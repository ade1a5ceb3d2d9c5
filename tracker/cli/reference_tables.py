"""Published figures as tables and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from baselines.references import EditionChange, Reference, as_json
from tracker.cli.output import Column, note, write, write_table
from tracker.pipeline.beside_published import describe_series
from tracker.pipeline.published import describe_figure, describe_gpus, describe_workload, to_plain
from tracker.pipeline.references import Edition, count_kinds

if TYPE_CHECKING:
    from tracker.pipeline.beside_published import AgainstPublished, Beside, Nearly
    from tracker.pipeline.published import Figure

MOST_NEARLY = 10
"""Series without a fit that are told of on a terminal."""
_KINDS = {
    "figure": ("figure changed", "figures changed"),
    "labels": ("row changed its labels", "rows changed their labels"),
    "added": ("row added", "rows added"),
    "removed": ("row gone", "rows gone"),
}


def word_counts(changes: Sequence[EditionChange]) -> str:
    """Return how many rows changed in which way, in words."""
    counted = count_kinds(changes)
    parts = [f"{counted[kind]} {words[counted[kind] != 1]}" for kind, words in _KINDS.items() if kind in counted]
    return ", ".join(parts) or "nothing changed"


# --- editions ---


def edition_json(one: Edition, newest: bool) -> Mapping[str, Any]:
    """Return an edition as `tracker references list --json` shows it."""
    names = ("name", "source", "title", "address", "note", "tables", "figures", "shipped", "imported_at", "imported_by")
    return {**{name: getattr(one, name) for name in names}, "dated": one.dated.isoformat(), "newest": newest}


def write_editions(editions: Sequence[Edition], newest: Collection[str]) -> None:
    """Print the editions as a table."""
    columns = (
        Column(title="edition"),
        Column(title="rows", right=True),
        Column(title="tables", right=True, drop=True),
        Column(title="used"),
        Column(title="from"),
        Column(title="what", give=True, drop=True),
    )
    rows = [
        (one.name, one.figures, one.tables, "newest" if one.name in newest else "", _origin(one), _what(one))
        for one in editions
    ]
    write_table(columns, rows, empty="no edition")


def _origin(one: Edition) -> str:
    return "shipped" if one.imported_at is None else f"{one.imported_by}, {one.imported_at:%Y-%m-%d}"


def _what(one: Edition) -> str:
    return "; ".join(part for part in (one.title, one.address, one.note) if part)


# --- rows ---


def write_figures(figures: Sequence[Figure], among: Sequence[Figure]) -> None:
    """Print published rows, then the reasons of their doubts; where there are none, what there is instead."""
    columns = (
        Column(title="line", right=True),
        Column(title="model", give=True),
        Column(title="GPUs"),
        Column(title="workload"),
        Column(title="parallel", drop=True),
        Column(title="precision", drop=True),
        Column(title="figure", right=True),
        Column(title="per GPU", right=True, drop=True),
        Column(title="framework", drop=True),
        Column(title="doubts", give=True),
    )
    write_table(columns, [_row(one.reference) for one in figures], empty="no row matches")
    if not figures:
        note(f"models: {_names(one.reference.model for one in among)}")
        note(f"GPUs: {_names(one.reference.gpu for one in among)}")
        note(f"metrics: {_names(one.reference.canonical.metric for one in among if one.reference.canonical)}")
    doubts = [(one.reference, flag) for one in figures for flag in one.reference.flags]
    if doubts:
        write("\nDoubts:")
    for reference, flag in doubts:
        write(f"  line {reference.printed.line}, {flag.code}: {flag.reason}")


def _row(one: Reference) -> tuple[object, ...]:
    printed = one.printed
    per_gpu = (
        ""
        if one.value_per_gpu is None
        else f"{one.value_per_gpu:,.4g}"
        if one.value_per_gpu < 1000
        else f"{one.value_per_gpu:,.0f}"
    )
    return (
        printed.line, one.model or "not named", describe_gpus(one), describe_workload(one), printed.parallelism,
        printed.precision, describe_figure(one), per_gpu, printed.framework, ", ".join(flag.code for flag in one.flags),
    )  # fmt: skip


def _names(names: Any) -> str:
    return ", ".join(sorted({name for name in names if name}))


# --- changes ---


def change_json(change: EditionChange) -> Mapping[str, Any]:
    """Return what became of a row as `tracker references diff --json` shows it."""
    return {
        "kind": change.kind.value,
        "ratio": change.ratio,
        "labels": [{"name": one.name, "before": one.before, "after": one.after} for one in change.labels],
        "before": as_json(change.before) if change.before else None,
        "after": as_json(change.after) if change.after else None,
    }


def write_changes(changes: Sequence[EditionChange], pair: tuple[Edition, Edition]) -> None:
    """Print what a vendor changed."""
    write(f"{pair[0].name} -> {pair[1].name}: {word_counts(changes)}")
    columns = (
        Column(title="change"),
        Column(title="line", right=True),
        Column(title="model", give=True),
        Column(title="GPUs"),
        Column(title="workload"),
        Column(title="before", right=True),
        Column(title="after", right=True),
        Column(title="ratio", right=True),
        Column(title="labels", give=True),
    )
    if changes:
        write_table(columns, [_change_row(one) for one in changes], empty="")


def _change_row(change: EditionChange) -> tuple[object, ...]:
    one = change.after or change.before
    assert one is not None
    figures = [describe_figure(side) if side else "" for side in (change.before, change.after)]
    labels = "; ".join(f"{part.name} {_said(part.before)} -> {_said(part.after)}" for part in change.labels)
    ratio = "" if change.ratio is None else f"{change.ratio:.3g}"
    return (
        change.kind.value,
        one.printed.line,
        one.model,
        describe_gpus(one),
        describe_workload(one),
        *figures,
        ratio,
        labels,
    )


def _said(value: object) -> str:
    return "not stated" if value is None else str(value)


# --- own series beside published figures ---


def comparison_json(found: AgainstPublished) -> Mapping[str, Any]:
    """Return a comparison as `tracker references compare --json` shows it."""
    return {
        "component": found.component,
        "release": found.release,
        "editions": [one.name for one in found.editions],
        "series": found.series,
        "items": [_beside_json(one) for one in found.beside],
        "near": [_nearly_json(one) for one in found.nearly],
        "next": None,
    }


def _beside_json(one: Beside) -> dict[str, Any]:
    return {**one.to_plain(), "reference": to_plain(one.figure)}


def _nearly_json(one: Nearly) -> dict[str, Any]:
    near = [
        {
            "edition": one.editions[id(close.reference)],
            "line": close.reference.printed.line,
            "model": close.reference.model,
            "differences": [
                {"name": part.name, "measured": part.measured, "published": part.published}
                for part in close.differences
            ],
            "cure": close.cure,
        }
        for close in one.near
    ]
    return {**describe_series(one.series), "near": near}


def write_comparison(found: AgainstPublished) -> None:
    """Print the ratios, then what the nearest rows differ in for series that none fits."""
    write(f"{found.component} {found.display} against {', '.join(one.name for one in found.editions)}")
    if found.beside:
        columns = (
            Column(title="series", give=True),
            Column(title="metric"),
            Column(title="measured", right=True),
            Column(title="published", right=True),
            Column(title="ratio", right=True),
            Column(title="better", drop=True),
            Column(title="published with", drop=True),
            Column(title="line", right=True),
            *([Column(title="edition", drop=True)] if len(found.editions) > 1 else []),
            Column(title="doubts", give=True),
        )
        write_table(columns, [_beside_row(one, len(found.editions) > 1) for one in found.beside], empty="")
    else:
        write(_nothing_fits(found))
    for one in found.nearly[:MOST_NEARLY]:
        close = one.near[0]
        line = f"line {close.reference.printed.line}"
        if len(found.editions) > 1:
            line += f" of {one.editions[id(close.reference)]}"
        write(f"\n{one.series.name} {one.series.metric}: nearest is {line}, which differs:")
        write("\n".join(f"  {difference}" for difference in close.differences))
        write(f"  to compare: {close.cure}")
    if len(found.nearly) > MOST_NEARLY:
        note(f"and {len(found.nearly) - MOST_NEARLY} series more; --json has them all")


def _beside_row(one: Beside, with_edition: bool) -> tuple[object, ...]:
    from alerts.wording import format_value

    series, printed = one.series, one.figure.reference.printed
    return (
        series.name, series.metric, format_value(series.level.level, series.unit),
        format_value(one.published, series.unit), "" if one.ratio is None else f"{one.ratio:.3f}", series.direction,
        printed.framework or ("MLPerf" if printed.mlperf else ""), printed.line,
        *([one.figure.edition.name] if with_edition else []),
        ", ".join(flag.code for flag in one.figure.reference.flags),
    )  # fmt: skip


def _nothing_fits(found: AgainstPublished) -> str:
    from alerts.wording import count

    if not found.series:
        return (
            f"nothing was measured at {found.display}: `tracker runs list --component {found.component}"
            f" --release {found.release}` shows why"
        )
    if found.nearly:
        return f"no published figure fits one of {count(found.series, 'series', 'series')} in all; the nearest:"
    return (
        f"none of {count(found.series, 'series', 'series')} is of a published model and metric."
        f" Published are {', '.join(found.models)}; the label `model` names a series' model, in any of its spellings"
    )
