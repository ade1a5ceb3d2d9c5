"""Own series beside published figures: the ratio where all agrees, what differs where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baselines.references import (
    Measured,
    Near,
    Reference,
    comparable_metrics,
    group_by_model,
    match_series,
    model_key,
)
from jobs.metrics import find_metric
from jobs.names import gpu_key
from tracker.pipeline.references import Edition, find_edition, list_editions, load_figures, newest_of_each
from tracker.store import catalog
from tracker.store.engine import Session
from tracker.store.views.measured import MeasuredSeries, count_series_at, load_measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published row with the edition it stands in."""

    edition: Edition
    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A series and a published figure that agree in all but the number; the figure is in the series' metric."""

    series: MeasuredSeries
    figure: Figure
    published: float | None
    ratio: float | None
    """Measured over published; None where the page leaves the figure out or prints 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearly:
    """A series that no published figure fits, with the figures that come near."""

    series: MeasuredSeries
    near: tuple[Near, ...]
    editions: Mapping[int, str]
    """Id of a near reference -> the name of its edition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstPublished:
    """What a release measured, held against published figures."""

    component: str
    release: str
    display: str
    editions: tuple[Edition, ...]
    beside: tuple[Beside, ...]
    nearly: tuple[Nearly, ...]
    series: int
    """Series with a value at the release, of any metric and model."""
    models: tuple[str, ...]
    """Models that the editions publish."""


def load_published(session: Session, named: str | None = None) -> list[Figure]:
    """Return the figures of one edition; without a name those of the newest edition of each source."""
    editions = list_editions(session)
    chosen = [find_edition(editions, named)] if named else newest_of_each(editions)
    return [Figure(edition=one, reference=row) for one in chosen for row in load_figures(session, one)]


def choose_figures(
    figures: Sequence[Figure],
    *,
    model: str | None = None,
    gpu: str | None = None,
    framework: str | None = None,
    metric: str | None = None,
    text: str | None = None,
    doubtful: bool = False,
) -> list[Figure]:
    """Return the figures that match all that is asked; names may be any of a model's, GPU's or metric's names.

    A framework is named with its version or without; each word of `text` must stand in the row.
    """
    wanted_metric = find_metric(metric).name if metric else None
    words = [word.casefold() for word in (text or "").split()]
    return [
        one
        for one in figures
        if (not model or (one.reference.model and model_key(one.reference.model) == model_key(model)))
        and (not gpu or (one.reference.gpu and gpu_key(one.reference.gpu) == gpu_key(gpu)))
        and (not framework or _is_framework(one.reference.printed.framework, framework))
        and (not wanted_metric or (one.reference.canonical and one.reference.canonical.metric == wanted_metric))
        and (not doubtful or one.reference.flags)
        and all(word in _searched(one.reference) for word in words)
    ]


def _is_framework(printed: str | None, wanted: str) -> bool:
    if printed is None:
        return False
    name, _, _ = printed.rpartition(" ")
    return wanted.strip().casefold() in (printed.casefold(), name.casefold())


def _searched(one: Reference) -> str:
    printed = one.printed
    told = (
        one.model, printed.model, one.gpu, printed.scenario, printed.system, printed.parallelism, printed.precision,
        printed.framework, printed.container, printed.dataset, printed.unit,
    )  # fmt: skip
    return " ".join(part for part in told if part).casefold()


def describe_workload(one: Reference) -> str:
    """Return what a published row measures: `offline`, `ISL 1000 OSL 1000`, `batch 128`."""
    printed = one.printed
    parts = [printed.scenario or ""]
    if printed.isl is not None or printed.osl is not None:
        parts.append(f"ISL {printed.isl} OSL {printed.osl}")
    if printed.batch is not None:
        parts.append(f"batch {printed.batch}")
    return " ".join(part for part in parts if part)


def describe_gpus(one: Reference) -> str:
    """Return the GPUs of a published row: `8x B300`."""
    count = one.printed.gpus
    return " ".join(part for part in (f"{count}x" if count else "", one.gpu or "") if part)


def describe_figure(one: Reference) -> str:
    """Return a figure as printed, with separators: `2,494,310 tokens/sec`; words where the page leaves it out."""
    if one.value is None:
        return "no figure"
    return f"{one.value:,} {one.printed.unit or ''}".rstrip()


def compare_release(
    session: Session, release: str, *, component: str | None = None, edition: str | None = None
) -> AgainstPublished:
    """Return the series of a release beside the published figures that fit them; UserError for an unknown release."""
    found, row = catalog.find_release(session, release, component)
    figures = load_published(session, edition)
    references = [one.reference for one in figures]
    groups = group_by_model(references)
    measured = load_measured(
        session,
        metrics=comparable_metrics(references),
        is_wanted=lambda name: model_key(name) in groups,
        component=found.slug,
        release_id=row.id,
        release=row.identity,
    )
    beside, nearly = _match(measured, figures, groups)
    return AgainstPublished(
        component=found.slug,
        release=row.identity,
        display=row.display,
        editions=tuple({one.edition.name: one.edition for one in figures}.values()),
        beside=tuple(beside),
        nearly=tuple(nearly),
        series=count_series_at(session, row.id or 0),
        models=tuple(sorted({one.model for one in references if one.model})),
    )


def find_own(session: Session, figures: Sequence[Figure]) -> dict[int, list[Beside]]:
    """Return id of a reference -> the series that fit it, each at its newest measured release."""
    references = [one.reference for one in figures]
    groups = group_by_model(references)
    measured = load_measured(
        session, metrics=comparable_metrics(references), is_wanted=lambda name: model_key(name) in groups
    )
    own: dict[int, list[Beside]] = {}
    for one in _match(measured, figures, groups)[0]:
        own.setdefault(id(one.figure.reference), []).append(one)
    return own


def _match(
    measured: Sequence[MeasuredSeries], figures: Sequence[Figure], groups: Mapping[str, Sequence[Reference]]
) -> tuple[list[Beside], list[Nearly]]:
    by_reference = {id(one.reference): one for one in figures}
    beside: list[Beside] = []
    nearly: list[Nearly] = []
    for series in measured:
        matches = match_series(describe(series), groups[model_key(str(series.labels["model"]))])
        for one in matches.exact:
            figure = by_reference[id(one.reference)]
            beside.append(Beside(series=series, figure=figure, published=one.published, ratio=one.ratio))
        if matches.near:
            names = {id(one.reference): by_reference[id(one.reference)].edition.name for one in matches.near}
            nearly.append(Nearly(series=series, near=matches.near, editions=names))
    order = {reference: place for place, reference in enumerate(by_reference)}
    beside.sort(key=lambda one: (order[id(one.figure.reference)], one.series.name, one.series.metric))
    return beside, nearly


def describe(series: MeasuredSeries) -> Measured:
    """Return a series as matching takes it; the GPU is that of its hardware class."""
    gpu, gpus = series.hardware_labels.get("gpu"), series.hardware_labels.get("gpu_count")
    return Measured(
        labels=series.labels,
        metric=series.metric,
        value=series.level.level,
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=gpus if isinstance(gpus, int) and not isinstance(gpus, bool) else None,
    )
