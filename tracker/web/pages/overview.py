"""The first page, and signing in where a token is needed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from tracker.store.views.overview import show_overview
from tracker.store.views.sightings import look_at_running
from tracker.web.guard import SIGN_IN_PATH, TOKEN_COOKIE
from tracker.web.site import SiteOf

router = APIRouter()


@router.get("/")
def show(request: Request, site: SiteOf) -> Response:
    """The overview."""
    with site.service.store.read() as session:
        overview = show_overview(session)
        sightings = look_at_running(session, now=site.service.clock.now())
    settings = site.service.settings
    return site.render(request, "overview.html", overview=overview, settings=settings, sightings=sightings)


@router.get(SIGN_IN_PATH)
def ask_token(request: Request, site: SiteOf) -> Response:
    """The form that takes an API token."""
    return site.render(request, "sign_in.html", problem=None)


@router.post(SIGN_IN_PATH)
def sign_in(request: Request, site: SiteOf, token: Annotated[str, Form(max_length=200)]) -> Response:
    """Keep a valid token in a cookie that only our own pages send."""
    if site.service.verify_token(token.strip()) is None:
        return site.render(request, "sign_in.html", status=401, problem="This token is not valid, or was revoked.")
    answer = RedirectResponse("/", status_code=303)
    secure = request.url.scheme == "https"
    answer.set_cookie(TOKEN_COOKIE, token.strip(), httponly=True, samesite="strict", secure=secure, max_age=30 * 86_400)
    return answer
