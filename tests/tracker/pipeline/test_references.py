"""Pages of published figures become editions: each once, under the right source, none lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from baselines.references import compare_editions
from tests.tracker.pipeline.kit import Service
from tests.tracker.published_page import NEWER, PAGE, as_html
from tracker.errors import UserError
from tracker.pipeline.published import choose_figures, load_published
from tracker.pipeline.references import (
    Edition,
    Imported,
    choose_pair,
    find_edition,
    import_page,
    list_editions,
    load_figures,
    newest_of_each,
    read_text,
)
from tracker.store import audit
from tracker.store.engine import Store, open_store

SHIPPED = "nvidia-inference-performance/2026-04-30"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'tracker.db'}")
    yield opened
    opened.close()


@pytest.fixture
def service(tmp_path: Path, store: Store) -> Service:
    return Service(tmp_path, store)


def take(
    service: Service, text: str, *, file: str = "vendor.txt", source: str | None = None, day: str | None = None
) -> Imported:
    dated = date.fromisoformat(day) if day else None
    return import_page(service.context, read_text(text, file), file=file, source=source, dated=dated, who="mira")


def editions(service: Service) -> list[Edition]:
    with service.context.store.read() as session:
        return list_editions(session)


def names(service: Service) -> list[str]:
    return [one.name for one in editions(service)]


def test_a_new_installation_has_what_ships(service: Service) -> None:
    (shipped,) = editions(service)
    assert (shipped.name, shipped.figures, shipped.tables, shipped.shipped) == (SHIPPED, 214, 16, True)
    with service.context.store.read() as session:
        figures = load_published(session)
    assert len(figures) == 214


def test_the_same_page_again_changes_nothing_in_whatever_form(service: Service) -> None:
    first = take(service, PAGE)
    assert (first.new, first.edition) == (True, "vendor/2026-12-01")
    for again in (PAGE, as_html(PAGE), PAGE.replace("| Borealis 70B", "| **Borealis  70B**"), "words before\n" + PAGE):
        assert (take(service, again).new, take(service, again).edition) == (False, "vendor/2026-12-01")
    assert names(service) == [SHIPPED, "vendor/2026-12-01"]
    with service.context.store.read() as session:
        events = [(row.event, row.subject, row.who) for row in audit.latest(session)]
    assert events == [("reference:imported", "vendor/2026-12-01", "mira")]


def test_a_page_whose_rows_are_all_known_is_a_copy_of_what_ships(service: Service) -> None:
    with service.context.store.read() as session:
        shipped = [one.reference for one in load_published(session)]
    rows = [one.printed for one in shipped if one.printed.parallelism]
    lines = [
        f"| {r.model} | {r.parallelism} | {r.isl} | {r.osl} | {r.number or ''} {r.unit} | {r.gpus}x {r.gpu}"
        f" | {r.system} | {r.precision} | {r.framework} | {r.gpu_version} |"
        for r in rows
    ]
    head = "Model | Parallelism | Input Length | Output Length | Throughput | GPU | Server | Precision | Framework"
    found = take(service, f"| {head} | GPU Version |\n{'|---' * 10}|\n" + "\n".join(lines), file="part.txt")
    assert found.edition == "nvidia-inference-performance/2026-12-01"
    assert {change.kind for change in found.changes} == {"removed"}
    assert len(found.changes) == len(shipped) - len(rows)


def test_a_newer_copy_is_another_edition_of_the_page_it_resembles(service: Service) -> None:
    take(service, PAGE, day="2026-11-01")
    newer = take(service, NEWER, file="saved-again.txt")
    assert (newer.new, newer.edition, newer.against) == (True, "vendor/2026-12-01", "vendor/2026-11-01")
    assert [(one.kind, one.ratio) for one in newer.changes] == [("figure", pytest.approx(1.2)), ("labels", None)]
    assert [one.figures for one in editions(service)] == [214, 3, 3]
    with service.context.store.read() as session:
        before, after = (load_figures(session, one) for one in editions(service)[1:])
    assert [one.value for one in before] == [4200, 640, None]
    assert [one.value for one in after] == [5040, 640, None]
    assert len(compare_editions(before, after)) == 2


def test_an_older_copy_takes_its_place_before_the_newer_one(service: Service) -> None:
    take(service, NEWER, day="2026-11-20")
    older = take(service, PAGE, day="2026-11-01")
    assert (older.new, older.against) == (True, None)
    assert names(service) == [SHIPPED, "vendor/2026-11-01", "vendor/2026-11-20"]
    assert newest_of_each(editions(service))[1].name == "vendor/2026-11-20"


def test_a_vendor_who_goes_back_is_kept_where_a_later_day_is_named(service: Service) -> None:
    take(service, PAGE, day="2026-11-01")
    take(service, NEWER, day="2026-11-10")
    assert take(service, PAGE).new is False
    assert take(service, PAGE, day="2026-11-05").new is False
    back = take(service, PAGE, day="2026-11-20")
    assert (back.new, back.against) == (True, "vendor/2026-11-10")
    assert take(service, PAGE, day="2026-11-20").new is False


def test_two_copies_of_one_day_have_names_that_differ(service: Service) -> None:
    take(service, PAGE)
    assert take(service, NEWER).edition == "vendor/2026-12-01.2"
    assert names(service)[1:] == ["vendor/2026-12-01", "vendor/2026-12-01.2"]


@pytest.mark.parametrize(
    ("text", "file", "source"),
    [
        (PAGE, "Their Page (1).txt", "their-page-1"),
        (as_html(PAGE), "x.html", "example.test-inference-figures"),
        (PAGE, "数字.txt", "page"),
    ],
)
def test_an_unknown_page_is_named_by_its_address_or_its_file(
    service: Service, text: str, file: str, source: str
) -> None:
    assert take(service, text, file=file).edition == f"{source}/2026-12-01"


def test_a_named_source_is_taken_at_its_word(service: Service) -> None:
    take(service, PAGE)
    assert take(service, PAGE, source="another").edition == "another/2026-12-01"


def test_editions_are_found_by_name_source_or_day(service: Service) -> None:
    take(service, PAGE, day="2026-11-01")
    take(service, NEWER, day="2026-11-20")
    known = editions(service)
    assert find_edition(known, "vendor").name == "vendor/2026-11-20"
    assert find_edition(known, "2026-04").name == SHIPPED
    assert find_edition(known, "vendor/2026-11-01").name == "vendor/2026-11-01"
    with pytest.raises(UserError, match="is said of 2 editions: vendor/2026-11-01, vendor/2026-11-20"):
        find_edition(known, "2026-11")
    with pytest.raises(UserError, match="no edition 'nobody'; known: nvidia"):
        find_edition(known, "nobody")


def test_the_pair_to_compare_is_the_newest_two_unless_named(service: Service) -> None:
    assert choose_pair(editions(service), None, None, None) is None
    for text, day in ((PAGE, "2026-10-01"), (NEWER, "2026-11-01"), (PAGE.replace("640", "700"), "2026-11-20")):
        take(service, text, day=day)
    known = editions(service)

    def pair(*named: str | None) -> list[str]:
        return [one.name[-5:] for one in choose_pair(known, *named) or ()]

    assert pair(None, None, None) == ["11-01", "11-20"]
    assert pair("2026-10-01", None, None) == ["10-01", "11-20"]
    assert pair("2026-10-01", "2026-11-01", None) == ["10-01", "11-01"]
    with pytest.raises(UserError, match="are one edition"):
        pair("vendor", None, None)
    with pytest.raises(UserError, match="no source 'x'"):
        pair(None, None, "x")


def test_rows_are_chosen_by_any_name(service: Service) -> None:
    with service.context.store.read() as session:
        figures = load_published(session)

    def lines(**asked: str | bool) -> list[int]:
        return [one.reference.printed.line for one in choose_figures(figures, **asked)]  # type: ignore[arg-type]

    assert lines(model="openai/gpt-oss-20b", gpu="H100-SXM5-80GB") == [175, 176, 177, 178]
    assert lines(gpu="B200", model="DeepSeek R1") == [10, 44]
    assert len(lines(model="qwen3")) == len(lines(model="Qwen3-235B-A22B")) + len(lines(model="Qwen3-30B-A3B")) + 8
    assert lines(framework="tensorrt", gpu="L40S") == [*range(279, 286)]
    assert lines(framework="TensorRT-LLM 0.21.0", text="scout tp4") == [186, 187]
    assert lines(metric="latency_p90_ms") == [63, 64, 65, 66]
    assert len(lines(doubtful=True)) == 16
    assert lines(model="nobody's") == []
