"""A client that calls the application itself, without a server in between."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tracker.app import App
from tracker.store.audit import latest
from tracker.web.server import create_web

HTML = {"accept": "text/html"}
SAME_ORIGIN = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}


def asked(app: App) -> list[tuple[str, str, str]]:
    """Return what the service was asked to change: event, subject and who asked, oldest first."""
    with app.store.read() as session:
        return [(row.event, row.subject, row.who) for row in reversed(latest(session))]


class Client:
    """Asks the pages of a service; cookies are kept, redirections are not followed."""

    def __init__(self, app: App, base_url: str = "http://127.0.0.1:8765") -> None:
        transport = httpx.ASGITransport(create_web(app), raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=base_url)
        self._runner = asyncio.Runner()
        self.cookies = self._client.cookies

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
