"""The web application: guard, pages, API, files and errors put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException

import alerts.errors
import jobs.errors
from tracker.errors import TryLater, UserError
from tracker.logs import EventLog
from tracker.web import api, uploads
from tracker.web.guard import Guard, Refusal
from tracker.web.pages import alerts as alert_pages
from tracker.web.pages import guide, hosts, overview, references, releases, runs, series
from tracker.web.service import WebService
from tracker.web.site import FOLDER, Site, SiteOf

log = EventLog("tracker.web")

_USER_ERRORS = (UserError, jobs.errors.UserError, alerts.errors.UserError)
_LATER_ERRORS = (TryLater, jobs.errors.TryLater, alerts.errors.TryLater)
_TITLES = {400: "That cannot be done", 401: "Sign in first", 403: "Refused", 404: "Not found", 503: "Try again later"}


def create_web(service: WebService) -> FastAPI:
    """Return the application that serves pages and API of the service."""
    site = Site(service)
    app = FastAPI(
        title="Release regression tracker",
        version=version("release-regression-tracker"),
        docs_url=None,
        redoc_url=None,
        lifespan=_make_chart_scripts,
    )
    app.state.site = site
    for part in (overview, releases, series, runs, hosts, alert_pages, references, guide):
        app.include_router(part.router, include_in_schema=False)
    app.include_router(api.router)
    app.include_router(uploads.router)
    _serve_files(app)
    _explain_errors(app)
    app.add_middleware(
        Guard,
        settings=service.settings,
        verify_token=service.verify_token,
        refuse=lambda request, refusal: _refuse(site, request, refusal),
    )
    return app


@asynccontextmanager
async def _make_chart_scripts(app: FastAPI) -> AsyncIterator[None]:
    app.state.site.bundle.start()
    yield


def _serve_files(app: FastAPI) -> None:
    """Add our own style and scripts, the chart scripts once they are made, and the sign of life."""
    names = frozenset(path.name for path in (FOLDER / "static").iterdir())

    @app.get("/static/{name}", include_in_schema=False)
    def serve_static(name: str) -> Response:
        if name not in names:
            raise HTTPException(404, f"there is no file {name[:100]!r}")
        return FileResponse(FOLDER / "static" / name, headers={"Cache-Control": "public, max-age=86400"})

    @app.get("/chart-scripts.js", include_in_schema=False)
    def serve_chart_scripts(site: SiteOf) -> Response:
        if not site.bundle.path.exists():
            raise HTTPException(404, "the chart scripts are still being made; pages show a picture instead")
        return FileResponse(site.bundle.path, media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @app.get("/healthz", tags=["service"])
    def tell_health(site: SiteOf) -> dict[str, Any]:
        """Whether the service answers and its database can be read."""
        with site.service.store.read() as session:
            session.connection()
        return {"status": "ok", **site.service.daemon_state()}


def _refuse(site: Site, request: Request, refusal: Refusal) -> Response:
    return _answer(site, request, refusal.status, refusal.reason)


def _answer(site: Site, request: Request, status: int, reason: str) -> Response:
    """Return an error as JSON to programs and as a page to people."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"error": reason}, status_code=status)
    return site.render(request, "error.html", status=status, title=_TITLES.get(status, "Error"), reason=reason)


def _explain_errors(app: FastAPI) -> None:
    """Have every error answered in plain words; what is a bug is logged with its traceback."""

    def on(kinds: tuple[type[Exception], ...], status: int | None, word: Callable[[Any], str]) -> None:
        async def handle(request: Request, error: Exception) -> Response:
            code = status if status is not None else getattr(error, "status_code", 500)
            return _answer(app.state.site, request, code, word(error))

        for kind in kinds:
            app.add_exception_handler(kind, handle)

    on(_USER_ERRORS, 400, str)
    on(_LATER_ERRORS, 503, str)
    on((AnyHTTPException,), None, lambda error: str(error.detail))
    on((RequestValidationError,), 422, _word_validation)
    on((Exception,), 500, lambda error: "a bug in this service; its log has the details. Nothing was changed.")


def _word_validation(error: RequestValidationError) -> str:
    """Return `limit: Input should be ..., found 'x'` for each part of the request that does not fit."""
    parts = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"][1:]) or "body"
        parts.append(f"{where}: {problem['msg']}, found {str(problem.get('input'))[:60]!r}")
    return "; ".join(parts)
