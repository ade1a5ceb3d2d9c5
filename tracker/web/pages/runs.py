"""Runs: the list, one run with its log, its files, and asking for a rerun or an end."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from tracker.pipeline.environments import show_environments
from tracker.store.views.hosts import why_waiting
from tracker.store.views.plain import to_plain
from tracker.store.views.runs import RunDetail, count_states, list_runs, show_run
from tracker.store.views.sightings import look_at_running
from tracker.web.logtails import find_log, read_tail, resolve_output
from tracker.web.site import Person, Site, SiteOf, expect, link

router = APIRouter()


@router.get("/runs")
def list_all(
    request: Request,
    site: SiteOf,
    state: str | None = None,
    component: str | None = None,
    release: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
) -> Response:
    """The list of runs."""
    with site.service.store.read() as session:
        now = site.service.clock.now()
        page = list_runs(session, state=state, component=component, release=release, text=q, cursor=cursor, now=now)
        states, sightings = count_states(session), look_at_running(session, now=now)
    return site.render(request, "runs.html", page=page, states=states, state=state, sightings=sightings)


@router.get("/runs/{run_id}")
def show(request: Request, site: SiteOf, run_id: str) -> Response:
    """One run."""
    detail = show_environments(find_run(site, run_id), site.service.settings.home)
    file = find_log(detail, site.service.settings.home)
    with site.service.store.read() as session:
        waits = why_waiting(session, detail.run, now=site.service.clock.now())
    return site.render(request, "run.html", detail=detail, log=read_tail(file, None) if file else None, waits=waits)


def find_run(site: Site, run_id: str) -> RunDetail:
    """Return a run; a 404 where there is none of that id."""
    with site.service.store.read() as session:
        found = show_run(session, run_id, now=site.service.clock.now())
    return expect(found, "run", run_id, "/runs")


@router.get("/runs/{run_id}/log")
def follow_log(site: SiteOf, run_id: str, name: str = "", start: int = 0) -> dict[str, Any]:
    """The part of the log that was written since `start`; from its beginning where it is another file than `name`."""
    detail = find_run(site, run_id)
    file = find_log(detail, site.service.settings.home)
    tail = read_tail(file, max(0, start) if file.name == name else 0) if file else None
    return {"state": detail.run.state, "unseen": detail.run.unseen is not None, "log": to_plain(tail)}


@router.get("/runs/{run_id}/outputs/{output_id}")
def download(site: SiteOf, run_id: str, output_id: int) -> Response:
    """One file that an attempt left, to be kept, never shown."""
    detail = find_run(site, run_id)
    outputs = [output for attempt in detail.attempts for output in attempt.outputs if output.id == output_id]
    if not outputs:
        raise HTTPException(404, f"run {run_id} left no file {output_id}; its page lists what it left")
    file = resolve_output(site.service.settings.home, outputs[0].path)
    if file is None:
        raise HTTPException(404, f"the file {outputs[0].name!r} is no longer there; `tracker prune` may have taken it")
    return FileResponse(file, media_type="application/octet-stream", filename=outputs[0].name)


@router.post("/runs/{run_id}/rerun")
def rerun(site: SiteOf, who: Person, run_id: str) -> Response:
    """Queue a repeat of a run."""
    find_run(site, run_id)
    queued = site.service.rerun(run_id, who)
    return RedirectResponse(link("runs", queued[0]) if len(queued) == 1 else "/runs?state=queued", status_code=303)


@router.post("/runs/{run_id}/cancel")
def cancel(site: SiteOf, who: Person, run_id: str) -> Response:
    """End a queued or running run."""
    find_run(site, run_id)
    site.service.cancel(run_id, who)
    return RedirectResponse(link("runs", run_id), status_code=303)
