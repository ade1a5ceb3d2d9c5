"""Published references: the rows of a page beside what was measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from tracker.pipeline.beside_published import Beside, find_own
from tracker.pipeline.published import (
    Figure,
    choose_figures,
    describe_figure,
    describe_gpus,
    describe_workload,
    load_published,
)
from tracker.pipeline.references import Edition, list_editions, newest_of_each
from tracker.store.views.plain import Page, slice_page
from tracker.web.site import Site, SiteOf

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One published row as the page shows it, with the own series that it may be held against."""

    figure: Figure
    gpus: str
    workload: str
    printed: str
    own: tuple[Beside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Part of the published rows that match, with what is known of all of them."""

    page: Page[FigureLine]
    matching: int
    doubtful: int
    beside: int
    """Matching rows that an own series fits."""
    editions: tuple[Edition, ...]
    shown: tuple[Edition, ...]
    """The editions that the rows are of."""


def find_published(
    site: Site,
    *,
    edition: str | None,
    model: str | None,
    gpu: str | None,
    framework: str | None,
    metric: str | None,
    doubtful: bool,
    text: str | None,
    limit: int = 100,
    cursor: str | None,
) -> Published:
    """Return the rows that match, each with the own series at its newest measured release."""
    with site.service.store.read() as session:
        editions = list_editions(session)
        figures = load_published(session, edition)
        chosen = choose_figures(
            figures, model=model, gpu=gpu, framework=framework, metric=metric, text=text, doubtful=doubtful
        )
        own = find_own(session, chosen)
    names = {one.edition.name for one in figures}
    page = slice_page(chosen, limit, cursor)
    return Published(
        page=Page(items=tuple(_make_line(one, own.get(id(one.reference), ())) for one in page.items), next=page.next),
        matching=len(chosen),
        doubtful=sum(bool(one.reference.flags) for one in chosen),
        beside=len(own),
        editions=tuple(editions),
        shown=tuple(one for one in editions if one.name in names),
    )


def _make_line(one: Figure, own: Sequence[Beside]) -> FigureLine:
    return FigureLine(
        figure=one,
        gpus=describe_gpus(one.reference),
        workload=describe_workload(one.reference),
        printed=describe_figure(one.reference),
        own=tuple(own),
    )


@router.get("/references")
def list_all(
    request: Request,
    site: SiteOf,
    edition: str | None = None,
    model: str | None = None,
    gpu: str | None = None,
    framework: str | None = None,
    metric: str | None = None,
    doubtful: bool = False,
    q: str | None = None,
    cursor: str | None = None,
) -> Response:
    """The published rows, those of the newest edition of each source unless one is named."""
    found = find_published(
        site,
        edition=edition,
        model=model,
        gpu=gpu,
        framework=framework,
        metric=metric,
        doubtful=doubtful,
        text=q,
        cursor=cursor,
    )
    newest = {one.name for one in newest_of_each(found.editions)}
    return site.render(request, "references.html", found=found, page=found.page, newest=newest)
