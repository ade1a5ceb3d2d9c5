"""Claims: what is software, what is price, what is hardware, and what printed digits allow."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.claims import ClaimCheck, MeasuredClaim, Step, check_claim, measure_claim, parse_claims
from baselines.claims.document import read_ratio
from baselines.claims.entered import Ratio
from baselines.cost.books import Book, parse_book
from baselines.cost.releases import Setup, Work, cost_releases

OUTPUT = "usd_per_m_output_tokens"
BOOK = """
kind = "price"
name = "list"
[[edition]]
name = "spring"
valid_from = 2026-01-01
source = "list price"
[edition.gpu]
H200 = { own = 1.80 }
[[edition]]
name = "autumn"
valid_from = 2026-09-01
source = "list price"
[edition.gpu]
H200 = { own = 1.20 }
"""
CLAIM = """
[[claim]]
name = "case"
says = "cheaper"
source = "made up"
kind = "software"
stated = { usd_per_m_tokens = "1/5.5" }
before = { gpu = "B200", usd_per_m_tokens = 0.11 }
after = { gpu = "B200", usd_per_m_tokens = 0.02 }
"""


def shipped() -> dict[str, ClaimCheck]:
    folder = resources.files("baselines.cost.books")
    books = [parse_book((folder / f"inferencex-{name}.toml").read_text(), name) for name in ("prices", "power")]
    text = (resources.files("baselines.claims") / "published.toml").read_text()
    return {claim.name: check_claim(claim, books) for claim in parse_claims(text, "published.toml")}


def check(text: str, books: tuple[Book, ...] = ()) -> ClaimCheck:
    return check_claim(parse_claims(text, "claims.toml")[0], books)


def part(found: ClaimCheck | MeasuredClaim, source: str) -> float | None:
    (one,) = [one for one in found.parts if one.source == source]
    if isinstance(found, MeasuredClaim):
        return one.ratio  # type: ignore[union-attr]
    return float(one.times.value) if one.times else None  # type: ignore[union-attr]


def test_b200_at_a_fifth_of_the_cost_is_5_5_times_and_software_only_with_the_price_held() -> None:
    found = shipped()["b200-gpt-oss-120b-cost"]
    cost = found.ratios["usd_per_m_tokens"]
    assert float(1 / cost.value) == pytest.approx(5.5, rel=1e-12)
    assert (float(1 / cost.high), float(1 / cost.low)) == pytest.approx((4.2, 7.6666666666666667))
    assert (found.outcome, found.kind) == ("holds if the price is held", "software")
    assert part(found, "software") == pytest.approx(5.5, rel=1e-12)
    assert part(found, "price") is None
    held = check(CLAIM.replace('kind = "software"', 'kind = "software"\nheld = ["price"]'))
    assert (held.outcome, part(held, "software"), part(held, "price")) == ("holds", pytest.approx(5.5), 1.0)


def test_with_the_price_stated_its_part_is_taken_out_and_the_pure_software_claim_fails() -> None:
    priced = CLAIM.replace("usd_per_m_tokens = 0.11", "usd_per_m_tokens = 0.11, usd_per_gpu_hour = 1.95")
    found = check(priced.replace("usd_per_m_tokens = 0.02", "usd_per_m_tokens = 0.02, usd_per_gpu_hour = 1.73"))
    assert (found.outcome, found.kind) == ("does not hold", "software and price")
    assert part(found, "software") == pytest.approx(5.5 * 1.73 / 1.95, rel=1e-12)
    assert part(found, "price") == pytest.approx(1.95 / 1.73, rel=1e-12)


def test_gb200_with_four_times_the_tokens_costs_a_quarter_per_token() -> None:
    found = shipped()["gb200-tokens-4x"]
    assert (found.outcome, found.kind) == ("holds", "software")
    assert part(found, "software") == 4
    implied = check(
        '[[claim]]\nname="a"\nsays="b"\nsource="c"\nheld=["price"]\nstated={tok_s_per_gpu=4}\n'
        'before={gpu="GB200"}\nafter={gpu="GB200 NVL72"}\n'
    )
    assert implied.ratios["usd_per_m_tokens"].value == Fraction(1, 4)


def test_gb300_at_116_tokens_a_second_per_user_is_a_level_and_says_what_it_needs() -> None:
    found = shipped()["gb300-level"]
    assert (found.outcome, found.kind, found.parts) == ("cannot be told", "level", ())
    needed = 2.31 / (0.123 * 3600 / 1e6)
    assert f"needs {needed:,.0f} tok/s/GPU at 116 tok/s/user by $2.31/GPU-hour, own, inferencex/2026-07" in str(
        found.findings
    )


def test_gb300_against_hopper_is_hardware_and_told_apart_from_software() -> None:
    found = shipped()["gb300-against-hopper"]
    assert (found.outcome, found.kind) == ("holds", "hardware")
    assert [one.source for one in found.parts] == ["hardware", "price", "power"]
    assert float(found.ratios["tok_s_per_mw"].value) == 50
    assert found.ratios["usd_per_m_tokens"].value == Fraction(1, 35)
    assert "another GPU, so no claim of software" in found.findings[0]
    by_cost, by_power = 35 * 2.31 / 1.17, 50 * 2.12 / 1.37
    assert f"{(by_power / by_cost - 1) * 100:.0f} % apart" in found.findings[-1]


def test_a_software_claim_across_two_gpus_does_not_hold() -> None:
    found = check(CLAIM.replace('before = { gpu = "B200"', 'before = { gpu = "H100"'))
    assert (found.outcome, found.kind) == ("does not hold", "hardware")


def test_figures_that_contradict_the_statement_do_not_hold() -> None:
    found = check(CLAIM.replace('"1/5.5"', '"1/12.0"'))
    assert found.outcome == "does not hold"
    assert found.findings[0].startswith("usd_per_m_tokens: the figures give 1/5.5 (1/7.667 to 1/4.2 by the printed")
    tokens = CLAIM.replace('usd_per_m_tokens = "1/5.5"', "tok_s_per_gpu = 2.0").replace(
        "stated", 'held = ["price"]\nstated'
    )
    assert check(tokens).outcome == "does not hold"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [("tok_s_per_gpu = 100, usd_per_gpu_hour = 2.00, usd_per_m_tokens = 0.20", "tok_s_per_gpu = 200",
      "before: usd_per_gpu_hour 2 and tok_s_per_gpu 100 give usd_per_m_tokens 5.556, which contradicts the stated 0.2"),
     ("tok_s_per_gpu = 100", "tok_s_per_gpu = 200, kw_per_gpu = 2.0, j_per_token = 2.0",
      "after: kw_per_gpu 2 and tok_s_per_gpu 200 give j_per_token 10, which contradicts the stated 2"),
     ("tok_s_per_gpu = 100, kw_per_gpu = 2.0, tok_s_per_mw = 900", "tok_s_per_gpu = 200",
      "give tok_s_per_mw 5e+04, which contradicts the stated 900"),
     ("usd_per_gpu_hour = 2.00, usd_per_m_tokens = 0.20", "usd_per_gpu_hour = 1.00, usd_per_m_tokens = 0.10",
      "the price is said to be held, but usd_per_gpu_hour moves")],
)  # fmt: skip
def test_figures_of_one_side_that_contradict_one_another_do_not_hold(before: str, after: str, said: str) -> None:
    sides = f'before = {{ gpu = "B200", {before} }}\nafter = {{ gpu = "B200", {after} }}\nheld = ["price"]\n'
    found = check(CLAIM.partition("stated")[0] + sides)
    assert found.outcome == "does not hold"
    assert any(said in finding for finding in found.findings), found.findings


def test_a_claim_of_a_price_alone_holds_where_only_the_price_moved() -> None:
    text = CLAIM.partition("kind")[0] + 'kind = "price"\n'
    before, after = "usd_per_gpu_hour = 2.00", "usd_per_gpu_hour = 1.00"
    only = f'{text}before = {{ gpu = "B200", {before} }}\nafter = {{ gpu = "B200", {after} }}\n'
    assert (check(only).kind, check(only).outcome, part(check(only), "price")) == ("price", "holds", 2.0)
    same = only.replace(" }", ", tok_s_per_gpu = 500 }")
    assert (check(same).kind, check(same).outcome) == ("price", "holds")
    faster = same.replace("500 }\nafter", "250 }\nafter")
    assert (check(faster).kind, check(faster).outcome) == ("software and price", "does not hold")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [('gpu = "B200", usd_per_m_tokens = 0.11', "usd_per_m_tokens = 0.11", "unknown"),
     ('before = { gpu = "B200"', 'before = { model = "a", gpu = "B200"', "software"),
     ("usd_per_m_tokens = 0.02", 'usd_per_m_tokens = 0.02, workload = "1k/8k"', "workload")],
)  # fmt: skip
def test_what_is_not_the_same_on_both_sides_is_no_software_claim(old: str, new: str, kind: str) -> None:
    assert check(CLAIM.replace(old, new)).kind == kind


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [('name = "case"', "", "claim[1].name: expected a name of letters"), ("0.11", "0", "a number above 0, found 0"),
     ("0.11", "nan", "expected a number above 0"), ("0.11", '"cheap"', "expected a number above 0, found 'cheap'"),
     ('"1/5.5"', '"5.5 times"', 'or a share such as "1/35"'),
     ('kind = "software"', 'kind = "magic"', "one of software"),
     ("says", "say", "did you mean 'says'?"),
     ("stated", 'held = ["weather"]\nstated', "a list of price, power, workload"),
     ('source = "made up"', "", "claim[1].source: expected a text"), ("[[claim]]", "[claim]", "one [[claim]] table"),
     ("before = {", "before = 3 # {", 'expected a table such as { gpu = "B200"'), ("[[", "[", "the whole file"),
     ("usd_per_m_tokens = 0.02", "usd_per_m_token = 0.02", "did you mean 'usd_per_m_tokens'?"),
     ("0.11", "1e999999", "expected a number above 0"), ("0.11", "true", "expected a number above 0")],
)  # fmt: skip
def test_a_malformed_claim_is_refused_with_its_key(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"claims\.toml: ") as error:
        parse_claims(CLAIM.replace(old, new), "claims.toml")
    assert said in str(error.value)


def test_a_claim_whose_after_is_before_its_before_is_refused() -> None:
    dated = CLAIM.replace("0.11", "0.11, date = 2026-05-01").replace("0.02", '0.02, date = "2026-04-01"')
    with pytest.raises(ValueError, match=r"after\.date: expected a day from before\.date \(2026-05-01\) on"):
        parse_claims(dated, "claims.toml")
    assert parse_claims(dated.replace("2026-04-01", "spring of 2026"), "claims.toml")[0].after.texts["date"]


def test_printed_digits_say_how_exact_a_number_is() -> None:
    assert read_ratio("1/35") == Ratio(value=Fraction(1, 35), low=Fraction(2, 71), high=Fraction(2, 69))
    assert read_ratio(4) == Ratio(value=Fraction(4), low=Fraction(7, 2), high=Fraction(9, 2))
    assert [read_ratio(one) for one in ("4", "0/3", "1/0", "1/2/3", None, True, -1)] == [None] * 7


def steps(*given: tuple[str, date, tuple[float, ...]]) -> list[Step]:
    works = [
        Work(release=release, day=day, values={"output_tok_s_per_gpu": sorted(rates)[len(rates) // 2]})
        for release, day, rates in given
    ]
    setup = Setup(gpu="H200", labels={"gpu_count": 8}, hardware={})
    costs = cost_releases(works, setup, [parse_book(BOOK, "list.toml")])
    return [Step(release=one[0], rates=one[2], cost=cost) for one, cost in zip(given, costs, strict=True)]


SPRING, AUTUMN = date(2026, 3, 1), date(2026, 10, 1)
CHAIN = steps(
    ("1.0", SPRING, (498.0, 500.0, 502.0)),
    ("1.1", SPRING, (499.0, 501.0, 503.0)),
    ("1.2", AUTUMN, (745.0, 750.0, 755.0)),
    ("1.3", AUTUMN, (995.0, 1000.0, 1005.0)),
)


def test_a_measured_change_is_the_product_of_its_parts() -> None:
    found = measure_claim(CHAIN, OUTPUT)
    assert found.ratio == pytest.approx(3.0, rel=1e-12)
    assert (part(found, "software"), part(found, "price")) == (pytest.approx(2.0), pytest.approx(1.5, rel=1e-12))
    assert part(found, "workload") == 1
    assert found.held_before is not None
    assert found.held_after is not None
    assert found.held_before / found.held_after == pytest.approx(2.0, rel=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert 2.8 < found.low < 3.0 < found.high < 3.2
    assert not found.is_software_only


def test_the_chain_names_the_releases_that_brought_it() -> None:
    found = measure_claim(CHAIN, OUTPUT)
    assert [link.release for link in found.contributing] == ["1.2", "1.3"]
    assert sum(link.share or 0 for link in found.links) == pytest.approx(1)


def test_with_the_price_unmoved_it_is_software_alone() -> None:
    found = measure_claim(CHAIN[:2], OUTPUT)
    assert found.is_software_only
    assert not measure_claim(CHAIN[:2], OUTPUT, confounded_by="another driver").is_software_only


def test_without_a_price_the_software_part_is_still_told() -> None:
    found = measure_claim(steps(("1.0", date(2025, 1, 1), (500.0,)), ("1.1", AUTUMN, (750.0,))), OUTPUT)
    assert found.ratio is None
    assert "no price edition with H200 is valid on 2025-01-01" in found.reason
    assert part(found, "software") == pytest.approx(1.5)
    assert found.parts[0].low is None


def test_fewer_than_two_releases_or_an_unknown_metric_are_refused() -> None:
    with pytest.raises(ValueError, match="two releases or more"):
        measure_claim(CHAIN[:1], OUTPUT)
    with pytest.raises(ValueError, match="expected a derived metric"):
        measure_claim(CHAIN, "output_tok_s")
    with pytest.raises(ValueError, match="expected tokens a second above 0"):
        Step(release="1.0", rates=(), cost=CHAIN[0].cost)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(10, 1e5), min_size=2, max_size=6))
def test_links_multiply_to_the_software_part(rates: list[float]) -> None:
    found = measure_claim(steps(*((f"1.{place}", SPRING, (rate,)) for place, rate in enumerate(rates))), OUTPUT)
    product = 1.0
    for link in found.links:
        product *= link.ratio
    assert product == pytest.approx(found.parts[0].ratio, rel=1e-9)
    assert found.ratio == pytest.approx(product, rel=1e-9)
