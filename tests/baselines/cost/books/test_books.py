"""Prices and power come from dated editions with a source; what no edition says is unknown, with the reason."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from importlib import resources

import pytest

from baselines.cost.books import BookKind, Rate, Unknown, doubt_book, find_rate, held_rate, parse_book

BOOK = """
kind = "price"
name = "team"
title = "What the team pays"
[[edition]]
name = "spring"
valid_from = 2026-03-01
source = "contract 12"
[edition.gpu]
H200 = { own = 1.50 }
[[edition]]
name = "autumn"
valid_from = 2026-09-01
source = "contract 15"
[edition.gpu]
H200 = { own = 1.20 }
"""


@pytest.mark.parametrize(("written", "doubted"), [("1.50", False), ("4.5", False), ("12", True), ("0.15", True)])
def test_a_figure_far_from_what_other_books_say_of_the_gpu_is_doubted(written: str, doubted: bool) -> None:
    other = parse_book(BOOK.replace('"team"', '"other"'), "other.toml")
    book = parse_book(BOOK.replace("own = 1.50", f"own = {written}"), "team.toml")
    assert [line.partition(" is ")[0] for line in doubt_book(book, [other, book])] == (
        ["team/spring: H200.own"] if doubted else []
    )


@pytest.mark.parametrize(("kind", "figure"), [("power", "kw = 700"), ("price", "own = 1300")])
def test_watts_for_kilowatts_and_months_for_hours_are_refused(kind: str, figure: str) -> None:
    text = BOOK.replace('"price"', f'"{kind}"').replace("own = 1.20", figure)
    with pytest.raises(ValueError, match="expected a number above 0 up to"):
        parse_book(text.replace("own = 1.50", "kw = 0.7") if kind == "power" else text, "team.toml")


def test_the_edition_of_the_day_gives_the_price_exactly() -> None:
    book = parse_book(BOOK, "team.toml")
    found = find_rate([book], BookKind.PRICE, "NVIDIA H200", date(2026, 9, 1), "own")
    assert isinstance(found, Rate)
    assert found.value == Fraction(6, 5)
    assert found.edition.id == "team/autumn"


def test_a_held_price_stays_with_the_oldest_edition() -> None:
    found = held_rate([parse_book(BOOK, "team.toml")], BookKind.PRICE, "H200", "own")
    assert isinstance(found, Rate)
    assert found.value == Fraction(3, 2)


@pytest.mark.parametrize(
    ("gpu", "day", "tier"),
    [("H200", date(2026, 2, 28), "own"), ("L4", date(2026, 9, 1), "own"), ("H200", date(2026, 9, 1), "rental"),
     (None, date(2026, 9, 1), "own"), ("H200", None, "own")],
)  # fmt: skip
def test_what_no_edition_says_is_unknown_with_the_reason(gpu: str | None, day: date | None, tier: str) -> None:
    found = find_rate([parse_book(BOOK, "team.toml")], BookKind.PRICE, gpu, day, tier)
    assert isinstance(found, Unknown)
    assert found.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [("own = 1.50", "own = 0"), ("own = 1.50", "own = -1"), ("own = 1.50", "own = nan"), ("own = 1.50", 'own = "1"'),
     ('source = "contract 12"', ""), ("2026-03-01", '"soon"'), ('kind = "price"', 'kind = "prize"'),
     ('name = "autumn"', 'name = "spring"'), ("valid_from = 2026-09-01", "valid_from = 2026-03-01"), ("[[", "[")],
)  # fmt: skip
def test_a_malformed_book_is_refused_by_its_name(old: str, new: str) -> None:
    with pytest.raises(ValueError, match=r"team\.toml"):
        parse_book(BOOK.replace(old, new), "team.toml")


@pytest.mark.parametrize("name", ["inferencex-prices.toml", "inferencex-power.toml"])
def test_the_books_that_ship_are_read(name: str) -> None:
    book = parse_book(resources.files("baselines.cost.books").joinpath(name).read_text(), name)
    assert book.editions
