from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.pipeline.kit import FAST, OLD, Service
from tracker.store.engine import open_store


@pytest.fixture
def make_service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Make services, each in a folder of its own."""
    made: list[Service] = []

    def make(**settings: Any) -> Service:
        home = tmp_path / f"home-{len(made)}"
        service = Service(home, open_store(f"sqlite:///{home / 'tracker.db'}"), settings)
        made.append(service)
        return service

    yield make
    for service in made:
        service.store.close()


@pytest.fixture
def service(make_service: Callable[..., Service]) -> Service:
    return make_service()


@pytest.fixture(scope="session")
def measured_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a service that has measured six releases, all alike; copied for every test."""
    home = tmp_path_factory.mktemp("measured") / "home"
    service = Service(home, open_store(f"sqlite:///{home / 'tracker.db'}"))
    service.publish(*OLD, level=FAST)
    service.go()
    assert service.alerts() == []
    service.store.close()
    return home


@pytest.fixture
def seasoned(measured_home: Path, tmp_path: Path) -> Iterator[Service]:
    """A service that has measured six releases, all alike."""
    home = shutil.copytree(measured_home, tmp_path / "seasoned")
    service = Service(home, open_store(f"sqlite:///{home / 'tracker.db'}"))
    service.publish(*OLD, level=FAST)
    yield service
    service.store.close()
