"""Alerts: the list, and one alert with what was decided about it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from alerts.message import AlertState
from tracker.store.views.alerts import AlertDetail, list_alerts, show_alert
from tracker.web.site import Person, Site, SiteOf, expect, link

router = APIRouter()

CHOICES = tuple(state for state in AlertState if state is not AlertState.RECOVERED)
"""What people may decide; `recovered` is set by the service."""


@router.get("/alerts")
def list_all(
    request: Request,
    site: SiteOf,
    state: str | None = None,
    component: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
) -> Response:
    """The list of alerts."""
    with site.service.store.read() as session:
        page = list_alerts(session, state=state, component=component, text=q, cursor=cursor)
    return site.render(request, "alerts.html", page=page, state=state, states=tuple(AlertState))


@router.get("/alerts/{alert_id}")
def show(request: Request, site: SiteOf, alert_id: str) -> Response:
    """One alert."""
    return site.render(request, "alert.html", detail=find_alert(site, alert_id), choices=CHOICES)


def find_alert(site: Site, alert_id: str) -> AlertDetail:
    """Return an alert; a 404 where there is none of that id."""
    with site.service.store.read() as session:
        found = show_alert(session, alert_id)
    return expect(found, "alert", alert_id, "/alerts")


@router.post("/alerts/{alert_id}/triage")
def triage(
    site: SiteOf,
    who: Person,
    alert_id: str,
    state: Annotated[str, Form(max_length=40)],
    note: Annotated[str, Form(max_length=2000)] = "",
    name: Annotated[str, Form(max_length=80)] = "",
) -> Response:
    """Record a decision about an alert; at this machine, people may say who they are."""
    find_alert(site, alert_id)
    said = f"{name.strip()} ({who})" if name.strip() else who
    site.service.triage(alert_id, state, said, note.strip())
    return RedirectResponse(link("alerts", alert_id), status_code=303)
