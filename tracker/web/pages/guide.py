"""The guide: Markdown files of `tracker/guide` as pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from tracker.web.site import SiteOf, expect

router = APIRouter()

FOLDER = Path(str(resources.files("tracker"))) / "guide"
FIRST = "index"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidePage:
    """A page of the guide."""

    name: str
    title: str
    body: Markup


@router.get("/guide")
def show_first(request: Request, site: SiteOf) -> Response:
    """The guide's first page, or its list of pages."""
    return site.render(request, "guide.html", page=read_page(FIRST), titles=list_titles())


@router.get("/guide/{name}")
def show(request: Request, site: SiteOf, name: str) -> Response:
    """One page of the guide."""
    page = expect(read_page(name.removesuffix(".md")), "page of the guide", name, "/guide")
    return site.render(request, "guide.html", page=page, titles=list_titles())


@cache
def list_titles() -> dict[str, str]:
    """Return name -> title of the guide's pages, in the order of their names."""
    names = sorted(file.stem for file in FOLDER.glob("*.md") if file.stem != FIRST)
    return {page.name: page.title for page in map(read_page, names) if page is not None}


@cache
def read_page(name: str) -> GuidePage | None:
    """Return a page as HTML; HTML written in the Markdown is shown, not obeyed. None for an unknown name."""
    from markdown_it import MarkdownIt

    file = FOLDER / f"{name}.md"
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name) or not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    title = heading[1].strip() if heading else name.replace("-", " ").replace("_", " ")
    return GuidePage(name=name, title=title, body=Markup(body))
