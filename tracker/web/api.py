"""The API: the same facts as the pages, as JSON.

A list answers `{"items": [...], "next": null}`; `next` is the `cursor` of the part that follows. An error answers
`{"error": "what is wrong and what to do"}`.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field

from tracker.errors import UserError
from tracker.pipeline.environments import show_environments
from tracker.pipeline.published import to_plain
from tracker.store.views.alerts import AlertDetail, AlertItem, list_alerts
from tracker.store.views.hosts import HostDetail, HostItem, list_hosts
from tracker.store.views.plain import MAX_LIMIT, Page
from tracker.store.views.releases import ReleaseItem, list_releases, show_release
from tracker.store.views.runs import RunDetail, RunItem, list_runs
from tracker.store.views.series import SeriesDetail, SeriesItem, list_series
from tracker.web.pages.alerts import find_alert
from tracker.web.pages.hosts import find_host
from tracker.web.pages.references import find_published
from tracker.web.pages.releases import find_summaries
from tracker.web.pages.runs import find_run
from tracker.web.pages.series import find_series
from tracker.web.site import Person, SiteOf, expect

router = APIRouter(prefix="/api/v1")

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


class Queued(BaseModel):
    """The runs that were queued."""

    runs: list[str]


class Triage(BaseModel):
    """A decision about an alert."""

    model_config = ConfigDict(extra="forbid")
    state: str = Field(max_length=40)
    note: str = Field("", max_length=2000)


class Request(BaseModel):
    """A release to be measured with a suite."""

    model_config = ConfigDict(extra="forbid")
    suite: str = Field(max_length=100)
    release: str = Field(max_length=200)


@router.get("/releases", tags=["releases"])
def get_releases(
    site: SiteOf,
    component: str | None = None,
    q: str | None = None,
    measured: bool | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> Page[ReleaseItem]:
    """Releases, newest first."""
    with site.service.store.read() as session:
        return list_releases(session, component=component, text=q, measured=measured, limit=limit, cursor=cursor)


@router.get("/releases/{component}/{identity:path}/summary", tags=["releases"])
def get_summary(site: SiteOf, component: str, identity: str, against: str | None = None) -> Page[dict[str, Any]]:
    """A release against another, one item a hardware class; without `against`, against its usual reference."""
    with site.service.store.read() as session:
        found = show_release(session, component, identity, against=against)
    detail = expect(found, "release", f"{component} {identity}", "/api/v1/releases")
    return Page(items=tuple(dict(one) for one in find_summaries(site, detail, against)))


@router.get("/references", tags=["references"])
def get_references(
    site: SiteOf,
    edition: str | None = None,
    model: str | None = None,
    gpu: str | None = None,
    framework: str | None = None,
    metric: str | None = None,
    doubtful: bool = False,
    q: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> Page[dict[str, Any]]:
    """Published rows as `tracker references show --json` gives them; `own` are the series held against each."""
    found = find_published(
        site,
        edition=edition,
        model=model,
        gpu=gpu,
        framework=framework,
        metric=metric,
        doubtful=doubtful,
        text=q,
        limit=limit,
        cursor=cursor,
    )
    items = tuple({**to_plain(one.figure), "own": [own.to_plain() for own in one.own]} for one in found.page.items)
    return Page(items=items, next=found.page.next)


@router.get("/series", tags=["series"])
def get_series(
    site: SiteOf,
    component: str | None = None,
    suite: str | None = None,
    metric: str | None = None,
    gated: bool | None = None,
    q: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> Page[SeriesItem]:
    """Series with their trends, gated ones first."""
    with site.service.store.read() as session:
        return list_series(
            session,
            component=component,
            suite=suite,
            metric=metric,
            gated=gated,
            text=q,
            limit=limit,
            cursor=cursor,
        )


@router.get("/series/{fingerprint}", tags=["series"])
def get_one_series(site: SiteOf, fingerprint: str) -> SeriesDetail:
    """One series with its points, values and changes."""
    return find_series(site, fingerprint)


@router.get("/runs", tags=["runs"])
def get_runs(
    site: SiteOf,
    state: str | None = None,
    component: str | None = None,
    release: str | None = None,
    q: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> Page[RunItem]:
    """Runs, newest first."""
    with site.service.store.read() as session:
        return list_runs(
            session,
            state=state,
            component=component,
            release=release,
            text=q,
            limit=limit,
            cursor=cursor,
            now=site.service.clock.now(),
        )


@router.get("/runs/{run_id}", tags=["runs"])
def get_run(site: SiteOf, run_id: str) -> RunDetail:
    """One run with its attempts, outputs and values."""
    return show_environments(find_run(site, run_id), site.service.settings.home)


@router.post("/runs", tags=["runs"], status_code=201)
def post_run(site: SiteOf, who: Person, request: Annotated[Request, Body()]) -> Queued:
    """Queue the runs that measure a release with a suite, which is named: what runs here is not chosen from outside."""
    if request.suite.endswith(".toml"):
        raise UserError(
            f"suite: expected the name of a suite, found the path {request.suite!r}; put the file into one of"
            " suite_folders and use its name, or trigger it on the service's machine with `tracker runs trigger`"
        )
    return Queued(runs=site.service.trigger(request.suite, request.release, who))


@router.post("/runs/{run_id}/rerun", tags=["runs"], status_code=201)
def post_rerun(site: SiteOf, who: Person, run_id: str) -> Queued:
    """Queue a repeat of a run."""
    find_run(site, run_id)
    return Queued(runs=site.service.rerun(run_id, who))


@router.post("/runs/{run_id}/cancel", tags=["runs"])
def post_cancel(site: SiteOf, who: Person, run_id: str) -> RunDetail:
    """End a queued or running run."""
    find_run(site, run_id)
    site.service.cancel(run_id, who)
    return find_run(site, run_id)


@router.get("/hosts", tags=["hosts"])
def get_hosts(site: SiteOf) -> Page[HostItem]:
    """Hosts, by name: what each may take, how it was at the last look."""
    with site.service.store.read() as session:
        return Page(items=list_hosts(session, now=site.service.clock.now()))


@router.get("/hosts/{name:path}", tags=["hosts"])
def get_host(site: SiteOf, name: str) -> HostDetail:
    """One host with its health, maintenance, runs and what was done to it."""
    return find_host(site, name)


@router.get("/alerts", tags=["alerts"])
def get_alerts(
    site: SiteOf,
    state: str | None = None,
    component: str | None = None,
    release: str | None = None,
    q: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> Page[AlertItem]:
    """Alerts, newest first; the state `open` stands for those that wait for somebody."""
    with site.service.store.read() as session:
        return list_alerts(
            session, state=state, component=component, release=release, text=q, limit=limit, cursor=cursor
        )


@router.get("/alerts/{alert_id}", tags=["alerts"])
def get_alert(site: SiteOf, alert_id: str) -> AlertDetail:
    """One alert with its changes, decisions and deliveries."""
    return find_alert(site, alert_id)


@router.post("/alerts/{alert_id}/triage", tags=["alerts"])
def post_triage(site: SiteOf, who: Person, alert_id: str, decision: Annotated[Triage, Body()]) -> AlertDetail:
    """Record a decision about an alert."""
    find_alert(site, alert_id)
    site.service.triage(alert_id, decision.state, who, decision.note)
    return find_alert(site, alert_id)
