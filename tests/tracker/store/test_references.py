"""Editions of published figures are kept once, in order, and as they were printed, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from sqlmodel import select

from baselines.references import from_record, read_page, to_record
from tests.tracker.published_page import PAGE
from tests.tracker.store.conftest import NOW
from tracker.store.engine import Store
from tracker.store.references import ImportedEdition, list_editions, records_of, save_edition
from tracker.store.tables import ReferenceFigureRow

EDITION = ImportedEdition(
    source="vendor",
    dated=date(2026, 11, 1),
    content="c1",
    file="page.txt",
    tables=1,
    figures=3,
    imported_at=NOW,
    imported_by="mira",
)
FIGURES = read_page(PAGE).references


def save(store: Store, edition: ImportedEdition) -> bool:
    with store.write() as session:
        return save_edition(session, edition, [to_record(one) for one in FIGURES])


def test_the_same_edition_is_kept_once(store: Store) -> None:
    assert save(store, EDITION)
    assert not save(store, EDITION)
    with store.read() as session:
        assert len(list_editions(session)) == 1
        assert len(session.exec(select(ReferenceFigureRow)).all()) == len(FIGURES)


def test_other_rows_another_day_or_another_source_are_another_edition(store: Store) -> None:
    others = [{"content": "c2"}, {"dated": date(2026, 11, 2)}, {"source": "other"}]
    assert all(save(store, one) for one in [EDITION, *(replace(EDITION, **other) for other in others)])
    with store.read() as session:
        told = [(one.source, one.dated, one.content) for one in list_editions(session)]
    assert told == [
        ("other", "2026-11-01", "c1"),
        ("vendor", "2026-11-01", "c1"),
        ("vendor", "2026-11-01", "c2"),
        ("vendor", "2026-11-02", "c1"),
    ]


def test_rows_come_back_in_their_order_with_their_doubts(store: Store) -> None:
    save(store, EDITION)
    with store.read() as session:
        (row,) = list_editions(session)
        found = tuple(from_record(record) for record in records_of(session, row.id or 0))
    assert found == FIGURES
    assert [flag.code for flag in found[2].flags] == ["figure_missing", "gpu_contradicts_system"]
    assert row.imported_at == NOW
