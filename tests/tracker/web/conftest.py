"""A seeded service and a client of its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.seed import NOW, Seeded, copy_store, make_template
from tests.tracker.web.client import Client
from tests.tracker.web.desk import Desk, FixedClock
from tracker.settings import Settings


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The folders of an empty and of a seeded store, and what is in the seeded one."""
    empty, full = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("full")
    make_template(empty, empty=True)
    return {"empty": empty, "full": full, "seeded": make_template(full)}


@pytest.fixture
def make_desk(
    tmp_path: Path, templates: dict[str, Any], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Desk]]:
    """Makes a service over a store that is empty unless the test asks for `seeded`, with the settings given."""
    desks: list[Desk] = []
    template = templates["full" if "seeded" in request.fixturenames else "empty"]

    def make(**settings: Any) -> Desk:
        store = copy_store(template, tmp_path)
        desk = Desk(store=store, settings=Settings(home=tmp_path, **settings), clock=FixedClock(NOW))
        desks.append(desk)
        return desk

    yield make
    for desk in desks:
        desk.store.close()


@pytest.fixture
def make_client() -> Iterator[Callable[..., Client]]:
    """Makes a client of a service, by the address given."""
    clients: list[Client] = []

    def make(desk: Desk, base_url: str = "http://127.0.0.1:8765") -> Client:
        clients.append(Client(desk, base_url))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()


@pytest.fixture
def seeded(templates: dict[str, Any]) -> Seeded:
    """What is in the store; asking for it fills the store."""
    seeded: Seeded = templates["seeded"]
    return seeded


@pytest.fixture
def client(desk: Desk, make_client: Callable[..., Client]) -> Client:
    return make_client(desk)
