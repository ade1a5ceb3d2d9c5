"""Hosts: the list with what runs on each, one host, and taking it out of service or back in."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from tracker.store import standing
from tracker.store.views.hosts import HostDetail, list_hosts, show_host
from tracker.store.views.runs import RunItem, list_runs
from tracker.web.site import Person, Site, SiteOf, expect, link

router = APIRouter()


@router.get("/hosts")
def list_all(request: Request, site: SiteOf) -> Response:
    """The list of hosts."""
    with site.service.store.read() as session:
        now = site.service.clock.now()
        hosts = list_hosts(session, now=now)
        running = list_runs(session, state="running", limit=500, now=now).items
    there: dict[str, list[RunItem]] = defaultdict(list)
    for run in running:
        there[run.host or ""].append(run)
    return site.render(request, "hosts.html", hosts=hosts, there=there)


@router.get("/hosts/{name:path}")
def show(request: Request, site: SiteOf, name: str) -> Response:
    """One host."""
    return site.render(request, "host.html", detail=find_host(site, name))


def find_host(site: Site, name: str) -> HostDetail:
    """Return a host; a 404 where there is none of that name."""
    with site.service.store.read() as session:
        found = show_host(session, name, now=site.service.clock.now())
    return expect(found, "host", name, "/hosts")


@router.post("/hosts/{name:path}/cordon")
def cordon(site: SiteOf, who: Person, name: str, why: Annotated[str, Form(max_length=500)] = "") -> Response:
    """Start nothing on a host for now."""
    return _set_state(site, name, standing.CORDONED, why.strip(), who)


@router.post("/hosts/{name:path}/uncordon")
def uncordon(site: SiteOf, who: Person, name: str) -> Response:
    """Let a host start runs again."""
    return _set_state(site, name, standing.READY, "", who)


def _set_state(site: Site, name: str, state: str, why: str, who: str) -> Response:
    find_host(site, name)
    site.service.set_host_state(name, state, who, why)
    return RedirectResponse(link("hosts", name), status_code=303)
