"""Series: the list, one series with its chart, its exports, and asking for another measurement."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from tracker.store.views.axes import list_inside, place_inside
from tracker.store.views.plain import defuse, to_plain
from tracker.store.views.series import SeriesDetail, list_series, show_series
from tracker.web.charts import draw_inside, draw_trend
from tracker.web.service import ChartFormat
from tracker.web.site import Person, Site, SiteOf, expect, link

router = APIRouter()

_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}
_COLUMNS = (
    "component", "series", "metric", "unit", "release", "published_at",
    "run", "repeat", "value", "samples", "spread", "measured_at", "host", "contended",
)  # fmt: skip


@router.get("/series")
def list_all(
    request: Request,
    site: SiteOf,
    component: str | None = None,
    suite: str | None = None,
    metric: str | None = None,
    gated: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
) -> Response:
    """The list of series."""
    with site.service.store.read() as session:
        page = list_series(
            session,
            component=component,
            suite=suite,
            metric=metric,
            gated=True if gated == "1" else None,
            text=q,
            cursor=cursor,
        )
    return site.render(request, "series_list.html", page=page)


@router.get("/series/{fingerprint}")
def show(request: Request, site: SiteOf, fingerprint: str, over: str | None = None) -> Response:
    """One series, over its releases or over the versions of a component inside."""
    detail = find_series(site, fingerprint)
    with site.service.store.read() as session:
        inside = list_inside(session, fingerprint)
        places = place_inside(session, detail, over) if over else ()
    return site.render(request, "series.html", detail=detail, inside=inside, over=over or None, places=places)


def find_series(site: Site, fingerprint: str) -> SeriesDetail:
    """Return a series; a 404 where there is none of that name."""
    with site.service.store.read() as session:
        found = show_series(session, fingerprint)
    return expect(found, "series", fingerprint, "/series")


@router.get("/series/{fingerprint}/chart.json")
def show_spec(site: SiteOf, fingerprint: str, over: str | None = None, dark: bool = False) -> dict[str, Any]:
    """The chart's Vega-Lite specification."""
    detail = find_series(site, fingerprint)
    if not over:
        return draw_trend(detail, dark=dark)
    with site.service.store.read() as session:
        return draw_inside(detail, over, place_inside(session, detail, over), dark=dark)


@router.get("/series/{fingerprint}/chart.svg")
def show_svg(site: SiteOf, fingerprint: str, over: str | None = None, dark: bool = False) -> Response:
    """The chart as an SVG picture."""
    return _draw_picture(site, show_spec(site, fingerprint, over, dark), "svg")


@router.get("/series/{fingerprint}/chart.png")
def show_png(site: SiteOf, fingerprint: str, over: str | None = None, dark: bool = False) -> Response:
    """The chart as a PNG picture."""
    return _draw_picture(site, show_spec(site, fingerprint, over, dark), "png")


def _draw_picture(site: Site, spec: Mapping[str, Any], format: ChartFormat) -> Response:
    picture = site.service.render_chart(spec, format)
    # A picture may be opened by itself: whatever stands in a name must not run there.
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    return Response(picture, media_type=_MEDIA[format], headers=headers)


@router.get("/series/{fingerprint}/export.json")
def export_json(site: SiteOf, fingerprint: str) -> Response:
    """Everything that is known of a series."""
    detail = find_series(site, fingerprint)
    return JSONResponse(to_plain(detail), headers=_attach(detail, "json"))


@router.get("/series/{fingerprint}/export.csv")
def export_csv(site: SiteOf, fingerprint: str) -> Response:
    """One line for each measurement."""
    detail = find_series(site, fingerprint)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([defuse(cell) for cell in row] for row in _list_rows(detail))
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=_attach(detail, "csv"))


def _attach(detail: SeriesDetail, ending: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="series-{detail.series.fingerprint}.{ending}"'}


def _list_rows(detail: SeriesDetail) -> Iterator[tuple[Any, ...]]:
    series = detail.series
    for point in detail.points:
        for one in point.values:
            start = (series.component, series.name, series.metric, series.unit, point.release.display)
            times = (to_plain(point.published_at), to_plain(one.measured_at))
            found = (one.value, one.samples, one.spread, times[1], one.host, one.contended)
            yield (*start, times[0], one.run, one.repeat, *found)


@router.post("/series/{fingerprint}/exclude")
def exclude(
    site: SiteOf,
    who: Person,
    fingerprint: str,
    release: Annotated[str, Form(max_length=200)],
    why: Annotated[str, Form(max_length=500)],
) -> Response:
    """Leave a release of a series out of every judgement."""
    find_series(site, fingerprint)
    site.service.exclude(fingerprint, release, who, why)
    return RedirectResponse(link("series", fingerprint), status_code=303)


@router.post("/series/{fingerprint}/include")
def include(site: SiteOf, who: Person, fingerprint: str, release: Annotated[str, Form(max_length=200)]) -> Response:
    """Have a release that was left out judged again."""
    find_series(site, fingerprint)
    site.service.include(fingerprint, release, who)
    return RedirectResponse(link("series", fingerprint), status_code=303)


@router.post("/series/{fingerprint}/rerun")
def rerun(site: SiteOf, who: Person, fingerprint: str, release: Annotated[str, Form(max_length=200)]) -> Response:
    """Queue another measurement of one release of a series."""
    find_series(site, fingerprint)
    queued = site.service.rerun_series(fingerprint, release, who)
    return RedirectResponse(link("runs", queued[0]) if len(queued) == 1 else "/runs?state=queued", status_code=303)
