"""Two views of cost: a price moves the one, only the software moves the other."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.cost.books import BookKind, Rate, Unknown, parse_book
from baselines.cost.releases import CostOptions, Setup, Work, cost_releases, editions_of, list_book_changes

BOOK = """
kind = "price"
name = "list"
[[edition]]
name = "spring"
valid_from = 2026-01-01
source = "list price"
[edition.gpu]
H200 = { own = 1.80, rental = 3.60 }
"""
AUTUMN = """
[[edition]]
name = "autumn"
valid_from = 2026-09-01
source = "contract 15"
[edition.gpu]
H200 = { own = 0.90 }
"""
POWER = BOOK.replace('"price"', '"power"').replace("own = 1.80, rental = 3.60", "kw = 1.5")
SETUP = Setup(gpu="H200", labels={"gpu_count": 8}, hardware={})
OUTPUT = "usd_per_m_output_tokens"


def work(release: str, day: date | None, output: float = 4000.0, **more: float) -> Work:
    return Work(release=release, day=day, values={"output_tok_s": output, "total_tok_s": 1.5 * output, **more})


WORKS = [work("1.0", date(2026, 8, 1)), work("1.1", date(2026, 10, 1)), work("1.2", date(2026, 11, 1), 8000.0)]


def test_figures_equal_sums_done_by_hand() -> None:
    books = [parse_book(BOOK, "list.toml"), parse_book(POWER, "power.toml")]
    found = cost_releases([work("1.0", date(2026, 8, 1), tpot_p50_ms=12.5)], SETUP, books)[0].as_priced.figures
    by_hand = {
        OUTPUT: 1.80 / (500 * 3600 / 1e6),
        "usd_per_m_total_tokens": 1.80 / (750 * 3600 / 1e6),
        "usd_per_m_input_tokens": 1.80 / (250 * 3600 / 1e6),
        "output_tok_s_per_mw": 500 * 1000 / 1.5,
        "j_per_total_token": 1.5 * 1000 / 750,
        "interactivity_tok_s_user": 80.0,
    }
    assert {name: found[name].value for name in by_hand} == pytest.approx(by_hand, rel=1e-12)


def test_an_edited_book_moves_as_priced_only_and_says_since_when() -> None:
    before = cost_releases(WORKS, SETUP, [parse_book(BOOK, "list.toml")])
    after = cost_releases(WORKS, SETUP, [parse_book(BOOK + AUTUMN, "list.toml")])
    assert [one.software_only for one in after] == [one.software_only for one in before]
    values = [one.as_priced.figures[OUTPUT].value for one in after]
    assert values == pytest.approx([1.0, 0.5, 0.25], rel=1e-12)
    assert list_book_changes(before) == []
    (said,) = list_book_changes(after)
    moved = "$1.8/GPU-hour, own, list/spring -> $0.9/GPU-hour, own, list/autumn"
    assert said == f"as priced, from 1.1: {moved}, valid since 2026-09-01"
    assert {name for _, name in editions_of(after)} == {"list/spring", "list/autumn"}


def test_a_book_of_ones_own_prices_and_never_holds() -> None:
    own = parse_book(BOOK.replace('"list"', '"team"').replace("1.80", "9.00"), "team.toml", own=True)
    found = cost_releases(WORKS, SETUP, [own, parse_book(BOOK, "list.toml")])[0]
    assert isinstance(found.as_priced.price, Rate)
    assert isinstance(found.software_only.price, Rate)
    assert (found.as_priced.price.edition.id, found.software_only.price.edition.id) == ("team/spring", "list/spring")


def test_the_held_edition_can_be_named() -> None:
    books = [parse_book(BOOK + AUTUMN, "list.toml")]
    found = cost_releases(WORKS, SETUP, books, CostOptions(held_price="autumn"))
    assert [one.software_only.figures[OUTPUT].value for one in found] == pytest.approx([0.5, 0.5, 0.25], rel=1e-12)


@pytest.mark.parametrize(
    ("given", "setup", "tier"),
    [(work("1.0", None), SETUP, "own"), (WORKS[0], Setup(gpu=None, labels={"gpu_count": 8}, hardware={}), "own"),
     (WORKS[0], Setup(gpu="H200", labels={}, hardware={}), "own"), (WORKS[0], SETUP, "spot"),
     (Work(release="1.0", day=date(2026, 8, 1), values={"ttft_p50_ms": 3.0}), SETUP, "own")],
)  # fmt: skip
def test_what_cannot_be_priced_has_a_reason_and_no_number(given: Work, setup: Setup, tier: str) -> None:
    figure = cost_releases([given], setup, [parse_book(BOOK, "list.toml")], CostOptions(tier=tier))[0].as_priced.figures
    assert figure[OUTPUT].value is None
    assert figure[OUTPUT].reason


def test_a_host_without_a_gpu_is_priced_as_one_host() -> None:
    book = parse_book(BOOK.replace("H200 =", '"xeon-8-cores" ='), "host.toml")
    setup = Setup(gpu="xeon-8-cores", labels={}, hardware={"cpu": "Xeon", "cores": 8})
    figures = cost_releases([work("1.0", date(2026, 8, 1), 500.0)], setup, [book])[0].as_priced.figures
    assert figures[OUTPUT].value == pytest.approx(1.0, rel=1e-12)
    assert "1 host, which has no GPU" in figures[OUTPUT].how


def test_prompt_tokens_of_a_prefill_benchmark_are_input() -> None:
    given = Work(release="1.0", day=date(2026, 8, 1), values={"prompt_tok_s": 4000.0})
    figures = cost_releases([given], SETUP, [parse_book(BOOK, "list.toml")])[0].as_priced.figures
    assert figures["usd_per_m_input_tokens"].value == pytest.approx(1.0, rel=1e-12)
    assert figures[OUTPUT].value is None


@settings(deadline=None)
@given(st.floats(1, 1e6), st.floats(1.001, 50))
def test_as_priced_falls_when_throughput_rises(output: float, times: float) -> None:
    days = [work("1.0", date(2026, 8, 1), output), work("1.1", date(2026, 8, 2), output * times)]
    slow, fast = cost_releases(days, SETUP, [parse_book(BOOK, "list.toml")])
    assert (slow.as_priced.figures[OUTPUT].value or 0) > (fast.as_priced.figures[OUTPUT].value or 0) > 0


def test_unknown_power_is_unknown() -> None:
    found = cost_releases(WORKS, SETUP, [parse_book(BOOK, "list.toml")])[0]
    assert isinstance(found.as_priced.power, Unknown)
    assert found.as_priced.figures["j_per_output_token"].value is None
    assert BookKind.POWER not in {kind for kind, _ in editions_of([found])}


prices = st.lists(st.decimals("0.01", "99", places=2), min_size=1, max_size=6)


@settings(deadline=None, max_examples=50)
@given(prices, st.lists(st.floats(10, 1e6), min_size=2, max_size=8))
def test_no_book_of_ones_own_moves_what_only_the_software_does(own: list[Decimal], rates: list[float]) -> None:
    shipped = parse_book(BOOK, "list.toml")
    editions = "".join(
        f'[[edition]]\nname = "e{place}"\nvalid_from = 2026-{place + 1:02d}-01\nsource = "made up"\n'
        f"[edition.gpu]\nH200 = {{ own = {price} }}\n"
        for place, price in enumerate(own)
    )
    team = parse_book(f'kind = "price"\nname = "team"\n{editions}', "team.toml", own=True)
    works = [work(f"1.{place}", date(2026, 1 + place, 15), rate) for place, rate in enumerate(rates)]
    alone = [one.software_only for one in cost_releases(works, SETUP, [shipped])]
    assert [one.software_only for one in cost_releases(works, SETUP, [team, shipped])] == alone
    costs = [one.figures[OUTPUT].value or 0 for one in alone]
    for rate, cost in zip(rates, costs, strict=True):
        assert cost / costs[0] == pytest.approx(rates[0] / rate, rel=1e-12)
