"""Releases: the list, one release against its reference, and any two compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from tracker.store.views.releases import ReleaseDetail, list_measured, list_releases, load_summaries, show_release
from tracker.web.site import Site, SiteOf, expect, link

router = APIRouter()


@router.get("/releases")
def list_all(
    request: Request,
    site: SiteOf,
    component: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
) -> Response:
    """The list of releases."""
    with site.service.store.read() as session:
        page = list_releases(session, component=component, text=q, cursor=cursor)
    return site.render(request, "releases.html", page=page)


@router.get("/releases/{component}/{identity:path}")
def show(request: Request, site: SiteOf, component: str, identity: str, against: str | None = None) -> Response:
    """One release."""
    with site.service.store.read() as session:
        found = show_release(session, component, identity, against=against)
    detail = expect(found, "release", f"{component} {identity}", "/releases")
    return site.render(request, "release.html", detail=detail, summaries=find_summaries(site, detail, against))


def find_summaries(site: Site, detail: ReleaseDetail, against: str | None) -> Sequence[Mapping[str, Any]]:
    """Return the stored summaries; ones made now where none is stored for this pair."""
    if detail.summaries:
        return detail.summaries
    return site.service.summarize(detail.release.component, detail.release.identity, against)


@router.get("/compare")
def compare(
    request: Request, site: SiteOf, component: str | None = None, a: str | None = None, b: str | None = None
) -> Response:
    """Release `b` against release `a`."""
    with site.service.store.read() as session:
        choices = list_measured(session)
        found = load_summaries(session, component, b, against=a) if component and a and b else ()
    if component is None and choices:
        return RedirectResponse(link("compare", component=next(iter(choices))), status_code=303)
    summaries: Sequence[Mapping[str, Any]] = found
    if component and a and b and not found:
        summaries = site.service.summarize(component, b, a)
    return site.render(
        request, "compare.html", choices=choices, component=component, before=a, after=b, summaries=summaries
    )
