"""Own series beside published figures: the ratio where all agrees, what differs where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baselines.references import (
    Measured,
    Near,
    Reference,
    comparable_metrics,
    group_by_model,
    match_series,
    model_key,
)
from tracker.pipeline.published import Figure, load_published
from tracker.pipeline.references import Edition
from tracker.store import catalog
from tracker.store.engine import Session
from tracker.store.views.measured import MeasuredSeries, count_series_at, load_measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A series and a published figure that agree in all but the number; the figure is in the series' metric."""

    series: MeasuredSeries
    figure: Figure
    published: float | None
    ratio: float | None
    """Measured over published; None where the page leaves the figure out or prints 0."""

    def to_plain(self) -> dict[str, Any]:
        """Return series, release and ratio as JSON shows them, the published row left out."""
        return {**describe_series(self.series), "published": self.published, "ratio": self.ratio}


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
    for one in _match(measured, figures, groups, near_too=False)[0]:
        own.setdefault(id(one.figure.reference), []).append(one)
    return own


def _match(
    measured: Sequence[MeasuredSeries],
    figures: Sequence[Figure],
    groups: Mapping[str, Sequence[Reference]],
    *,
    near_too: bool = True,
) -> tuple[list[Beside], list[Nearly]]:
    by_reference = {id(one.reference): one for one in figures}
    beside: list[Beside] = []
    nearly: list[Nearly] = []
    for series in measured:
        rows = groups[model_key(str(series.labels["model"]))]
        matches = match_series(as_measured(series), rows, near_too=near_too)
        for one in matches.exact:
            figure = by_reference[id(one.reference)]
            beside.append(Beside(series=series, figure=figure, published=one.published, ratio=one.ratio))
        if matches.near:
            names = {id(one.reference): by_reference[id(one.reference)].edition.name for one in matches.near}
            nearly.append(Nearly(series=series, near=matches.near, editions=names))
    order = {reference: place for place, reference in enumerate(by_reference)}
    beside.sort(key=lambda one: (order[id(one.figure.reference)], one.series.name, one.series.metric))
    return beside, nearly


def describe_series(series: MeasuredSeries) -> dict[str, Any]:
    """Return a series and its level as JSON shows them."""
    return {
        "series": series.fingerprint,
        "name": series.name,
        "component": series.component,
        "release": series.level.release.identity,
        "hardware": series.hardware,
        "metric": series.metric,
        "unit": series.unit,
        "direction": series.direction,
        "measured": series.level.level,
        "repeats": series.level.n,
    }


def as_measured(series: MeasuredSeries) -> Measured:
    """Return a series as matching takes it; the GPU is that of its hardware class."""
    gpu, gpus = series.hardware_labels.get("gpu"), series.hardware_labels.get("gpu_count")
    return Measured(
        labels=series.labels,
        metric=series.metric,
        value=series.level.level,
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=gpus if isinstance(gpus, int) and not isinstance(gpus, bool) else None,
    )
