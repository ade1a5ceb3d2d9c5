"""A real registry and the daemon's own look: a new tag is found within one poll, with no hand on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from tests.fakes.registry import Registry, make_image, serve_registry
from tests.tracker.pipeline.kit import Clock
from tracker.app import App
from tracker.daemon import Daemon
from tracker.settings import load_settings
from tracker.store.tables import BuildRow
from tracker.store.views.builds import load_builds
from tracker.store.views.releases import list_releases

pytestmark = pytest.mark.real("container registry")
REPOSITORY = "nvidia/thing"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with serve_registry(tmp_path / "registry") as running:
        yield running


def push(registry: Registry, folder: Path, content: str, *tags: str) -> None:
    image = make_image(folder / "images", {"etc/content": content}, env={"CUDA_VERSION": "13.0.1"}, shell=False)
    for tag in tags:
        registry.push(image, REPOSITORY, tag)


def test_a_new_tag_is_found_within_one_poll_pushed_again_it_is_a_second_build_and_latest_is_none(
    registry: Registry, tmp_path: Path
):
    options = {"repository": f"{registry.address}/{REPOSITORY}", "platforms": ["linux/amd64"]}
    sources = [{"component": "thing", "kind": "oci_registry", **options}]
    clock = Clock()
    app = App(load_settings(suites=[], sources=sources, watch_every_s=60), clock)
    daemon = Daemon(app)

    def poll() -> dict[str, int]:
        """Look once; return tag -> number of its builds."""
        clock.advance(60)
        daemon.look()
        with app.store.read() as session:
            return dict(Counter(session.exec(select(BuildRow.tag)).all()))

    push(registry, tmp_path, "one", "1.0.0", "latest")
    assert poll() == {"1.0.0": 1}
    push(registry, tmp_path, "two", "1.1.0", "latest")
    assert poll() == {"1.0.0": 1, "1.1.0": 1}
    push(registry, tmp_path, "three", "1.1.0")
    assert poll() == {"1.0.0": 1, "1.1.0": 2}
    push(registry, tmp_path, "four", "latest")
    assert poll() == {"1.0.0": 1, "1.1.0": 2}

    with app.store.read() as session:
        assert [one.identity for one in list_releases(session).items] == ["1.1.0", "1.0.0"]
        older, newer = load_builds(session, 2)
    assert (older.superseded, newer.superseded, newer.replaces) == (True, False, older.digest)
    assert newer.contains == {"cuda": "13.0.1"}
    app.close()
