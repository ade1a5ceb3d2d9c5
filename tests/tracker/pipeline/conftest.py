from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.pipeline.kit import Service
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
