"""The guide: Markdown files of `tracker/guide` as pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from markupsafe import Markup

from tracker.web.site import SiteOf, expect

router = APIRouter()

FOLDER = Path(str(resources.files("tracker"))) / "guide"
FIRST = "index"
_PICTURE = re.compile(r"[a-z0-9_-]+")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidePage:
    """A page of the guide; `name` is its file's path without the ending."""

    name: str
    title: str
    body: Markup


@router.get("/guide")
def show_first(site: SiteOf) -> Response:
    """The guide's first page, at an address from which the links in the files lead to the other pages."""
    return RedirectResponse(f"/guide/{FIRST}", status_code=303)


@router.get("/guide/pictures/{name}.png")
def show_picture(name: str) -> Response:
    """One of the guide's pictures."""
    file = FOLDER / "pictures" / f"{name}.png"
    found = file if _PICTURE.fullmatch(name) and file.is_file() else None
    return FileResponse(expect(found, "picture", name, "/guide"), media_type="image/png")


@router.get("/guide/{name:path}")
def show(request: Request, site: SiteOf, name: str) -> Response:
    """One page of the guide."""
    page = expect(read_page(name.removesuffix(".md")), "page of the guide", name, "/guide")
    return site.render(request, "guide.html", page=page, titles=list_titles())


@cache
def list_titles() -> dict[str, str]:
    """Return name -> title of the pages that the guide's contents list: in the order in which the first page links."""
    first = (FOLDER / f"{FIRST}.md").read_text(encoding="utf-8")
    names = [FIRST, *re.findall(r"\]\(([a-z0-9/_-]+)\.md\)", first)]
    pages = [page for page in map(read_page, dict.fromkeys(names)) if page is not None]
    return {page.name: page.title for page in pages}


@cache
def read_page(name: str) -> GuidePage | None:
    """Return a page as HTML; None for an unknown name."""
    file = FOLDER / f"{name}.md"
    if not _NAME.fullmatch(name) or not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return GuidePage(name=name, title=heading[1].strip() if heading else name, body=render_markdown(text))


def render_markdown(text: str) -> Markup:
    """Return Markdown as HTML; HTML in it is shown, not obeyed."""
    from markdown_it import MarkdownIt

    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
