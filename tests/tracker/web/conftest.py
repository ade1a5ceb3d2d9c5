"""A service with a seeded store, and a client of its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.seed import NOW, Seeded, copy_store, make_template
from tests.tracker.web.client import Client
from tracker.app import App
from tracker.settings import Settings
from tracker.store.tokens import create_token


@dataclass(frozen=True)
class FixedClock:
    """Always the same moment."""

    moment: datetime = NOW

    def now(self) -> datetime:
        return self.moment


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The folders of an empty and of a seeded store, and what is in the seeded one."""
    empty, full = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("full")
    make_template(empty, empty=True)
    return {"empty": empty, "full": full, "seeded": make_template(full)}


@pytest.fixture(scope="session")
def shared(templates: dict[str, Any]) -> Iterator[App]:
    """A seeded service for tests that change nothing."""
    app = App(Settings(home=templates["full"]), FixedClock())
    yield app
    app.close()


@pytest.fixture(scope="session")
def reader(shared: App) -> Iterator[Client]:
    """A client of the seeded service that all tests share; use `client` to change something."""
    client = Client(shared)
    yield client
    client.close()


@pytest.fixture(scope="session")
def beginner(templates: dict[str, Any]) -> Iterator[Client]:
    """A client of a service that knows nothing yet."""
    app = App(Settings(home=templates["empty"]), FixedClock())
    client = Client(app)
    yield client
    client.close()
    app.close()


@pytest.fixture
def make_app(tmp_path: Path, templates: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Callable[..., App]]:
    """Makes a service over a store that is empty unless the test asks for `seeded`, with the settings given."""
    copy_store(templates["full" if "seeded" in request.fixturenames else "empty"], tmp_path).close()
    apps: list[App] = []

    def make(**settings: Any) -> App:
        apps.append(App(Settings(home=tmp_path, **settings), FixedClock()))
        return apps[-1]

    yield make
    for app in apps:
        app.close()


@pytest.fixture
def make_client() -> Iterator[Callable[..., Client]]:
    """Makes a client of a service, by the address given."""
    clients: list[Client] = []

    def make(app: App, base_url: str = "http://127.0.0.1:8765") -> Client:
        clients.append(Client(app, base_url))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app()


@pytest.fixture(scope="session")
def seeded(templates: dict[str, Any]) -> Seeded:
    """What is in the store; asking for it fills the store."""
    seeded: Seeded = templates["seeded"]
    return seeded


@pytest.fixture
def client(app: App, make_client: Callable[..., Client]) -> Client:
    return make_client(app)


@pytest.fixture
def token(app: App) -> str:
    """An API token named `ci`."""
    with app.store.write() as session:
        return create_token(session, "ci", now=NOW)
