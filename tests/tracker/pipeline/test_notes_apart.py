"""The daemon and a GitHub that hangs: the registry is watched as if there were none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from tests.fakes.github import serve_github
from tests.fakes.odd_registry import Reply, serve_odd_registry
from tracker.app import App
from tracker.daemon import Daemon
from tracker.settings import Settings
from tracker.store.tables import BuildRow, CursorRow


def rows(app: App, column: object) -> list[object]:
    with app.store.read() as session:
        return list(session.exec(select(column)).all())  # type: ignore[call-overload]


def test_a_github_that_hangs_does_not_hold_up_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    asked, over, found = threading.Event(), threading.Event(), threading.Event()

    def hang() -> Iterator[bytes]:
        asked.set()
        over.wait(60)
        yield b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n"

    with serve_odd_registry() as registry, serve_github() as github:
        github.replies["GET /repos/owner/thing/releases"] = Reply(raw=hang())
        notes = [{"component": "thing", "repository": "owner/thing", "api": github.api}]
        sources = [{"component": "thing", "kind": "oci_registry", "repository": registry.name}]
        app = App(Settings(home=tmp_path / "home", suites=[], sources=sources, release_notes=notes))
        daemon = Daemon(app)
        monkeypatch.setattr("tracker.daemon.LOOK_EVERY_S", 0.2)
        monkeypatch.setattr("tracker.pipeline.watch.RETRY_AFTER", app.clock.now() - app.clock.now())
        daemon.start()
        try:
            assert asked.wait(30)
            registry.add_image("1.0.0")
            for _ in range(600):
                if found.is_set() or rows(app, BuildRow.tag) == ["1.0.0"]:
                    break
                found.wait(0.05)
            assert rows(app, BuildRow.tag) == ["1.0.0"]
            assert not over.is_set()
        finally:
            over.set()
            daemon.stop()
        assert "GitHub 127.0.0.1: answered HTTP 503" in rows(app, CursorRow.problem)
        app.close()
