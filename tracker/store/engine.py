"""The database: opened on first use, brought to the present schema, read and written in short transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, OperationalError
from sqlmodel import Session, SQLModel

from tracker.errors import TryLater, UserError
from tracker.store.migrations import SCHEMA_REVISION, create, migrate

__all__ = ["Session", "Store", "in_parts", "insert_new", "open_store"]

Value = TypeVar("Value")
BUSY_TIMEOUT_MS = 15_000
MIGRATION_LOCK = 7_237_114
"""Number of the advisory lock on PostgreSQL that one migrating process holds at a time."""

MOST_NAMES = 500
"""Values that one statement names."""
PASSING = ("locked", "busy", "could not connect", "connection failed", "deadlock")


class Store:
    """The one door to the database. `read` and `write` give a session that ends with the block."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(tracker_write=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Give a session for queries; nothing it changes is kept."""
        with _plain_errors(self.engine), Session(self.engine, expire_on_commit=False, autoflush=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Give a session whose changes are kept together when the block ends well, and dropped together when not."""
        with _plain_errors(self.engine), Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def open_store(url: str) -> Store:
    """Return the store at `url`, created or brought to the present schema first; UserError when it cannot be."""
    try:
        parsed = make_url(url)
        engine = create_engine(parsed, pool_pre_ping=parsed.get_backend_name() != "sqlite")
    except (ArgumentError, ImportError) as error:
        raise UserError(f"database_url: {error}; expected sqlite:///FILE or postgresql+psycopg://...") from error
    if parsed.get_backend_name() == "sqlite":
        _prepare_folder(parsed.database)
        _set_up_sqlite(engine)
    try:
        with _plain_errors(engine):
            _bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine)


def _prepare_folder(database: str | None) -> None:
    if not database or database == ":memory:":
        return
    try:
        Path(database).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{database}: the folder for the database cannot be made: {error.strerror}") from error


def _set_up_sqlite(engine: Engine) -> None:
    """WAL, foreign keys, and transactions that say at their start whether they will write."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        for pragma in (f"busy_timeout={BUSY_TIMEOUT_MS}", "foreign_keys=ON", "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        _use_wal(connection)

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("tracker_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _use_wal(connection: Any) -> None:
    """Put the database into WAL mode; SQLite does not wait by itself where another process does the same just now."""
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _bring_up_to_date(engine: Engine) -> None:
    """Migrate when the schema is older; refuse when it is newer or not ours.

    What decides is looked at under the lock of the migration itself, since another process may be at it.
    """
    with engine.connect() as connection:
        if _schema_revision(connection) == SCHEMA_REVISION:
            return
    with engine.execution_options(tracker_write=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
        found = _schema_revision(connection)
        where = engine.url.render_as_string()
        if found is not None and found > SCHEMA_REVISION:
            raise UserError(
                f"the database {where} has schema {found}, newer than this version's {SCHEMA_REVISION};"
                " use the newer tracker, or another TRACKER_HOME"
            )
        tables = set(inspect(connection).get_table_names())
        if found is None and tables - {"alembic_version"}:
            raise UserError(f"the database {where} holds other tables; name an empty one")
        if not tables:
            create(connection)
        elif found != SCHEMA_REVISION:
            migrate(connection)


def _schema_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


@contextmanager
def _plain_errors(engine: Engine) -> Iterator[None]:
    """Turn the database's own complaints into ours: busy is TryLater, unusable is UserError, a bug stays a bug."""
    try:
        yield
    except OperationalError as error:
        said = str(error.orig)
        where = engine.url.render_as_string()
        if error.connection_invalidated or any(word in said for word in PASSING):
            raise TryLater(f"the database {where} is busy or away ({said.strip()}); try again") from error
        if "disk is full" in said or "disk I/O" in said:
            raise TryLater(f"the database {where} cannot be written ({said}); free some disk space") from error
        if "readonly" in said or "unable to open" in said:
            raise UserError(f"the database {where} cannot be used ({said}); check the folder's permissions") from error
        raise
    except (UnicodeEncodeError, DataError) as error:
        if isinstance(error, DataError) and "NUL" not in str(error.orig):
            raise
        raise UserError("a text holds half a character or NUL, which no database can keep; leave that out") from error
    except DatabaseError as error:
        if "not a database" in str(error.orig) or "malformed" in str(error.orig):
            where = engine.url.render_as_string()
            raise UserError(
                f"{where} is not a database of this service ({error.orig}); restore it or move it"
            ) from error
        raise


def in_parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Yield the values in parts that a statement can name; databases limit how many that are."""
    for start in range(0, len(values), MOST_NAMES):
        yield values[start : start + MOST_NAMES]


def insert_new(session: Session, table: type[SQLModel], rows: Sequence[dict[str, Any]]) -> int:
    """Insert the rows whose natural key is not there yet; return how many that were."""
    if not rows:
        return 0
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    added = 0
    for row in rows:
        statement = dialect.insert(table).values(**row).on_conflict_do_nothing()
        kept = {"preserve_rowcount": True}
        added += session.connection().execute(statement, execution_options=kept).rowcount
    return added
