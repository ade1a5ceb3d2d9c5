"""An empty place becomes the present schema, whoever comes first; what is not ours is left alone."""

from __future__ import annotations

import multiprocessing
import sqlite3
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool

from tracker.errors import UserError
from tracker.store import migrations
from tracker.store.engine import open_store
from tracker.store.migrations import SCHEMA_REVISION
from tracker.store.tables import metadata


def alembic(url: str | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    if url:
        config.cmd_opts = type("Options", (), {"x": [f"url={url}"]})()
    return config


def run_alembic(url: str, what: str, *arguments: str) -> None:
    """Run an Alembic command on a connection of its own, kept at the end."""
    engine = create_engine(url)
    config = alembic()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        getattr(command, what)(config, *arguments)
    engine.dispose()


def schema_of(file: Path) -> dict[str, str]:
    """Return what a SQLite file says of each of its tables and indexes, white space and order of constraints aside."""
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {
        name: " ".join(sorted(sql.replace(",", " ").replace(")", " ").replace("(", " ").split())) for name, sql in rows
    }


def test_the_named_schema_revision_is_the_last_migration():
    assert ScriptDirectory.from_config(alembic()).get_current_head() == SCHEMA_REVISION


def test_an_empty_database_gets_every_table(url: str):
    store = open_store(url)
    found = set(inspect(store.engine).get_table_names())
    store.close()

    assert found == {*metadata.tables, "alembic_version"}


def test_migrations_and_tables_say_the_same(url: str):
    open_store(url).close()
    run_alembic(url, "downgrade", "base")
    run_alembic(url, "upgrade", "head")

    run_alembic(url, "check")


def test_a_store_made_at_once_is_what_the_migrations_make(url: str, tmp_path: Path):
    open_store(url).close()
    run_alembic(url, "check")

    made, migrated = tmp_path / "made.db", tmp_path / "migrated.db"
    open_store(f"sqlite:///{made}").close()
    run_alembic(f"sqlite:///{migrated}", "upgrade", "head")
    assert schema_of(made) == schema_of(migrated)


def test_going_back_leaves_nothing_but_the_note_of_the_revision(url: str):
    open_store(url).close()

    run_alembic(url, "downgrade", "base")

    engine = create_engine(url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_after_going_back_the_store_opens_again(url: str):
    open_store(url).close()
    run_alembic(url, "downgrade", "base")

    store = open_store(url)
    assert inspect(store.engine).has_table("run")
    store.close()


def open_with_others(url: str, together: Barrier) -> None:
    together.wait()
    open_store(url).close()


def test_processes_that_open_an_empty_database_at_once_all_succeed(url: str):
    processes = multiprocessing.get_context("fork")
    together = processes.Barrier(3)

    openers = [processes.Process(target=open_with_others, args=(url, together)) for _ in range(3)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(60)

    assert [opener.exitcode for opener in openers] == [0, 0, 0]


def test_a_newer_schema_is_refused_with_both_revisions(url: str):
    store = open_store(url)
    with store.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()

    with pytest.raises(UserError, match=f"schema 9999, newer than this version's {SCHEMA_REVISION}"):
        open_store(url)


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(url: str, tmp_path: Path):
    (tmp_path / "home").mkdir()
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE theirs (id INTEGER)"))

    with pytest.raises(UserError, match="holds other tables"):
        open_store(url)

    assert inspect(engine).get_table_names() == ["theirs"]
    engine.dispose()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path):
    file = tmp_path / "tracker.db"
    file.write_text("shopping list, " * 500)

    with pytest.raises(UserError, match="not a database"):
        open_store(f"sqlite:///{file}")

    assert file.read_text().startswith("shopping list")


def test_an_address_that_names_no_known_database_says_what_is_expected():
    with pytest.raises(UserError, match="expected sqlite:///FILE or postgresql"):
        open_store("nosuch://somewhere")


def test_a_password_in_the_address_is_not_shown(tmp_path: Path):
    from tracker.errors import TryLater

    with pytest.raises(TryLater) as caught:
        open_store("postgresql+psycopg://someone:hunter2@127.0.0.1:9/nothing")

    assert "hunter2" not in str(caught.value)


def test_measurements_are_clustered_by_series_on_sqlite(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'tracker.db'}"
    open_store(url).close()

    made = sqlite3.connect(tmp_path / "tracker.db")
    sql = made.execute("SELECT sql FROM sqlite_master WHERE name = 'measurement'").fetchone()[0]
    made.close()

    assert "WITHOUT ROWID" in sql
