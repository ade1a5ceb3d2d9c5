"""A database that is locked, read-only or out of room gives a plain error and stays whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tracker.errors import TryLater, UserError
from tracker.store import engine
from tracker.store.engine import Store, open_store
from tracker.store.tables import ComponentRow


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "tracker.db"


@pytest.fixture
def store(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 20)
    opened = open_store(f"sqlite:///{file}")
    yield opened
    opened.close()


def check_whole(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def write(store: Store, *slugs: str, pragma: str = "foreign_keys = ON") -> None:
    with store.write() as session:
        session.execute(text(f"PRAGMA {pragma}"))
        session.add_all(ComponentRow(slug=slug) for slug in slugs)


def test_a_locked_database_says_try_again_and_works_afterwards(store: Store, file: Path):
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(TryLater, match="busy or away"):
        write(store, "a")
    with store.read() as session:
        session.execute(text("SELECT count(*) FROM component"))

    other.execute("ROLLBACK")
    other.close()
    write(store, "b")
    check_whole(file)


@pytest.mark.parametrize("slug", ["half \ud800", "a file's name \udcff"])
def test_a_text_that_no_database_can_keep_is_the_input_s_fault(store: Store, file: Path, slug: str):
    with pytest.raises(UserError, match="half a character or NUL"):
        write(store, slug)
    write(store, "whole")
    check_whole(file)


def test_the_folder_of_a_new_database_is_its_owner_s_alone(store: Store, file: Path):
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_full_disk_says_so_and_leaves_the_store_whole(store: Store, file: Path):
    with store.read() as session:
        pages = session.execute(text("PRAGMA page_count")).scalar()

    with pytest.raises(TryLater, match="free some disk space"):
        write(store, *(f"{number}" * 500 for number in range(100)), pragma=f"max_page_count = {pages}")

    store.close()
    write(store, "b")
    with store.read() as session:
        assert session.execute(text("SELECT slug FROM component")).all() == [("b",)]
    check_whole(file)


def test_a_read_only_database_names_the_cure(store: Store, file: Path):
    with pytest.raises(UserError, match="check the folder's permissions"):
        write(store, "a", pragma="query_only = ON")
    check_whole(file)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError, match="folder for the database cannot be made"):
        open_store(f"sqlite:///{tmp_path / 'file' / 'home' / 'tracker.db'}")


def test_a_folder_in_the_place_of_the_database_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="cannot be used"):
        open_store(f"sqlite:///{tmp_path}")


def test_a_damaged_database_is_not_written_to(store: Store, file: Path):
    write(store, "a")
    store.close()
    damaged = file.read_bytes()[:1024] + b"\0" * 8192
    file.write_bytes(damaged)

    with pytest.raises(UserError, match="not a database of this service"):
        open_store(f"sqlite:///{file}")

    assert file.read_bytes() == damaged


@pytest.mark.real("postgresql")
def test_a_server_that_ends_the_connection_is_away_for_a_moment(migrated: str):
    opened, other = open_store(migrated), open_store(migrated)

    def lose_the_connection() -> None:
        with opened.write() as session:
            number = session.execute(text("SELECT pg_backend_pid()")).scalar()
            with other.write() as killer:
                killer.execute(text(f"SELECT pg_terminate_backend({number})"))
            session.execute(text("SELECT 1"))

    with pytest.raises(TryLater, match="busy or away"):
        lose_the_connection()

    with opened.read() as session:
        assert session.execute(text("SELECT 1")).scalar() == 1
    opened.close()
    other.close()
