"""What the database itself refuses: a second row of one thing, a row that points nowhere, a time without a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint, insert
from sqlalchemy.exc import IntegrityError, StatementError

from tracker.store.engine import Store, insert_new
from tracker.store.tables import AuditRow, ComponentRow, HostRow, MeasurementRow, metadata

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
APPEND_ONLY = {"audit", "triage"}


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_every_table_that_is_not_append_only_has_a_natural_key(name: str):
    table = metadata.tables[name]
    keys = {tuple(c.name for c in one.columns) for one in table.constraints if isinstance(one, UniqueConstraint)}
    keys |= {tuple(c.name for c in one.columns) for one in table.constraints if isinstance(one, PrimaryKeyConstraint)}
    keys |= {tuple(c.name for c in one.columns) for one in table.indexes if one.unique}

    assert keys - {("id",), ("public_id",)} or name in APPEND_ONLY


def test_a_second_row_of_the_same_natural_key_is_refused(store: Store):
    with store.write() as session:
        session.add(ComponentRow(slug="thing"))

    with pytest.raises(IntegrityError), store.write() as session:
        session.add(ComponentRow(slug="thing"))


def test_a_row_that_points_to_nothing_is_refused(store: Store):
    with pytest.raises(IntegrityError), store.write() as session:
        session.add(HostRow(slug="host", hardware_class_id=404, seen_at=NOW))


def test_insert_new_adds_what_is_not_there_and_counts_it(store: Store):
    with store.write() as session:
        added = [insert_new(session, ComponentRow, [{"slug": slug} for slug in slugs]) for slugs in ("ab", "bcc", "")]

    assert added == [2, 1, 0]


def test_insert_new_does_not_hide_other_faults(store: Store):
    row = {"series_id": 1, "run_id": 1, "release_id": 1, "host_id": 1, "value": None}

    with pytest.raises(IntegrityError), store.write() as session:
        insert_new(session, MeasurementRow, [row])


def test_a_time_without_a_zone_is_refused(store: Store):
    with pytest.raises(StatementError, match="needs a zone"), store.write() as session:
        session.add(AuditRow(at=datetime(2026, 12, 1), who="w", event="e", subject="s"))  # noqa: DTZ001


def test_times_come_back_as_the_same_moment_in_utc(store: Store):
    elsewhere = datetime(2026, 12, 1, 21, 0, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
    with store.write() as session:
        session.add(AuditRow(at=elsewhere, who="w", event="e", subject="s"))

    with store.read() as session:
        (found,) = session.execute(metadata.tables["audit"].select()).all()

    assert found.at == elsewhere
    assert found.at.utcoffset() == timedelta(0)


def test_what_fails_in_the_middle_of_a_block_leaves_nothing_of_it(store: Store):
    def fail() -> None:
        with store.write() as session:
            session.execute(insert(ComponentRow).values(slug="half"))
            raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        fail()

    with store.read() as session:
        assert session.execute(metadata.tables["component"].select()).all() == []


def test_what_a_reader_changes_is_not_kept(store: Store):
    with store.read() as session:
        session.add(ComponentRow(slug="thing"))

    with store.read() as session:
        assert session.execute(metadata.tables["component"].select()).all() == []
