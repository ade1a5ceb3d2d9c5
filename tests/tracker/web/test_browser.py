"""One walk through the pages in a real browser."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from sqlmodel import select

from tests.tracker.seed import Seeded
from tests.tracker.web.client import asked
from tracker.app import App
from tracker.store.catalog import save_contents
from tracker.store.tables import BuildRow
from tracker.web.server import create_web

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def address(app: App) -> Iterator[str]:
    """The address of the pages, served on loopback; the chart scripts are made before."""
    web = create_web(app)
    web.state.site.bundle.build()
    server = uvicorn.Server(uvicorn.Config(web, log_level="error", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


@pytest.mark.real("chromium")
def test_a_walk_from_the_overview_to_a_rerun(address: str, app: App, seeded: Seeded) -> None:
    from playwright.sync_api import expect, sync_playwright

    problems: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_context(color_scheme="light").new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(address) else problems.append(request.url))

        page.goto(address)
        page.get_by_role("link", name="isl 128").first.click()
        expect(page.locator("#chart[data-drawn] svg")).to_be_visible()
        expect(page.locator("#chart svg")).to_contain_text("regressed")

        background = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(background)
        page.get_by_role("button", name="Switch between light and dark").click()
        assert page.evaluate(background) != light
        page.reload()
        assert page.evaluate(background) != light
        expect(page.locator("#chart[data-drawn] svg")).to_be_visible()

        page.keyboard.press("/")
        expect(page.locator("#search")).to_be_focused()
        page.locator("#search").fill("decode")
        page.keyboard.press("Enter")
        expect(page.locator("tr.row")).to_have_count(2)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("decode")

        page.locator("td.values a").first.click()
        page.get_by_role("button", name="Rerun").click()
        expect(page.locator("#state")).to_have_text("queued")
        expect(page.get_by_text("It waits for its turn")).to_be_visible()
        browser.close()
    assert problems == []
    assert asked(app)[-1][0] == "run:rerun"


@pytest.mark.real("chromium")
def test_another_axis_is_drawn_in_light_and_dark_at_its_own_address(address: str, app: App, seeded: Seeded) -> None:
    from playwright.sync_api import expect, sync_playwright

    with app.store.write() as session:
        for place, build in enumerate(session.exec(select(BuildRow.id)).all()):
            save_contents(session, build or 0, {"cuda": f"13.{place % 2}"})
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_context(color_scheme="dark").new_page()
        page.goto(f"{address}/series/{seeded.series[0]}")
        page.get_by_role("link", name="cuda", exact=True).click()
        expect(page.locator("#chart[data-drawn] svg")).to_contain_text("over the cuda inside")
        page.get_by_role("button", name="Switch between light and dark").click()
        page.reload()
        expect(page.locator("#chart[data-drawn] svg")).to_contain_text("over the cuda inside")
        assert page.url == f"{address}/series/{seeded.series[0]}?over=cuda"
        browser.close()
