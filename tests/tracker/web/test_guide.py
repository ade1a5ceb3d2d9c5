"""The guide's files as pages."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

import pytest

from tests.tracker.web.client import HTML, Client
from tracker.web.pages.guide import FOLDER, render_markdown

PAGES = sorted(str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.rglob("*.md"))


def test_the_guide_begins_at_its_first_page(beginner: Client) -> None:
    assert beginner.get("/guide").headers["location"] == "/guide/index"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_served_and_its_links_lead_to_pages(beginner: Client, name: str) -> None:
    answer = beginner.get(f"/guide/{name}", headers=HTML)
    assert answer.status_code == 200
    article = answer.text.split("<article>")[1].split("</article>")[0]
    for link in re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', article):
        target = normpath(join("/guide", dirname(name), link))
        assert target.startswith("/guide/"), f"{name} links to {link}, which no page of the guide is"
        assert beginner.get(target, headers=HTML).status_code == 200, f"{name} links to {link}, which is not there"


@pytest.mark.parametrize("name", ["nope", "..%2findex", "..%2f..%2fREADME", "%2e%2e/%2e%2e/README", "a/b/c", ".hidden"])
def test_no_name_leads_out_of_the_guide(beginner: Client, name: str) -> None:
    assert beginner.get(f"/guide/{name}", headers=HTML).status_code == 404


def test_html_in_markdown_is_shown_not_obeyed() -> None:
    page = render_markdown("<script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)>")
    assert "<script>" not in page
    assert "<img" not in page
    assert "href" not in page


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_of_a_page_is_served(beginner: Client, name: str) -> None:
    for source in re.findall(r'<img src="([^"]+)"', beginner.get(f"/guide/{name}", headers=HTML).text):
        answer = beginner.get(normpath(join("/guide", dirname(name), source)))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        assert answer.content.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["nobody", "..%2Findex", "Step"])
def test_no_name_of_a_picture_leads_elsewhere(beginner: Client, name: str) -> None:
    assert beginner.get(f"/guide/pictures/{name}.png").status_code == 404
