"""What every page is made with: the service, the templates, the chart scripts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from alerts.wording import format_interval
from tracker.web.charts import ScriptBundle
from tracker.web.guard import TOKEN_COOKIE, is_loopback
from tracker.web.service import WebService
from tracker.web.sparklines import draw_sparkline
from tracker.web.wording import FILTERS, describe_release, draw_mark, format_age

FOLDER = Path(str(resources.files("tracker.web")))
Found = TypeVar("Found")


class Site:
    """The pages' own state; one for each app."""

    def __init__(self, service: WebService) -> None:
        self.service = service
        self.bundle = ScriptBundle(service.settings.home / "cache" / "web")
        self._templates = load_templates()

    def render(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page; what every page shows is added to the values."""
        now = self.service.clock.now()
        shared = {
            "path": request.url.path,
            "query": dict(request.query_params),
            "daemon": self.service.daemon_state(),
            "now": now,
            "age": lambda moment: format_age(moment, now),
            "needs_sign_in": not is_loopback(self.service.settings.host) and TOKEN_COOKIE not in request.cookies,
        }
        return HTMLResponse(self._templates.get_template(template).render(**shared, **values), status_code=status)


def find_site(request: Request) -> Site:
    """Return the site of the app that serves the request."""
    site: Site = request.app.state.site
    return site


def find_person(request: Request) -> str:
    """Return who asks for a change, as the guard found it; no change gets here without."""
    who: str | None = request.state.who
    if who is None:
        raise HTTPException(403, "the guard did not let this request change anything")
    return who


SiteOf = Annotated[Site, Depends(find_site)]
Person = Annotated[str, Depends(find_person)]


def expect(found: Found | None, kind: str, named: str, listed_at: str) -> Found:
    """Return what was found; a 404 that says where the list is when nothing was."""
    if found is None:
        raise HTTPException(404, f"there is no {kind} {named[:100]!r}; {listed_at} lists what there is")
    return found


def link(*parts: str, **query: str | None) -> str:
    """Return the address of a page: each part quoted, empty query values left out."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    kept = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def follow(path: str, query: Mapping[str, str], **changed: str | None) -> str:
    """Return the address of the same page with some of its query changed."""
    kept = {key: value for key, value in ({**query, **changed}).items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


@cache
def static_link(name: str) -> str:
    """Return the address of a file of ours with a mark of its content, so that browsers may keep it."""
    mark = hashlib.sha256((FOLDER / "static" / name).read_bytes()).hexdigest()[:10]
    return f"/static/{name}?v={mark}"


@cache
def load_templates() -> Environment:
    """Return the templates with their filters and functions; they hold nothing of any one site."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    helpers: dict[str, Callable[..., Any]] = {
        "link": link,
        "follow": follow,
        "static": static_link,
        "spark": draw_sparkline,
        "mark": draw_mark,
        "interval": format_interval,
        "describe": describe_release,
    }
    environment.globals.update(helpers)
    return environment
