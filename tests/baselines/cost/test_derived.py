"""Money, energy and interactivity from what a run measured: exact, with their source, never without it."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.cost.books import BookKind, Rate, Unknown, find_rate, parse_book
from baselines.cost.derived import (
    derive_cost,
    derive_energy,
    derive_interactivity,
    joules_per_token,
    tok_s_per_mw,
    tok_s_user,
    tokens_per_gpu,
    usd_per_million,
)
from baselines.gpu_counts import count_gpus

POWER = """
kind = "power"
name = "team"
[[edition]]
name = "2026"
valid_from = 2026-01-01
source = "measured at the rack"
[edition.gpu]
H200 = { kw = 1.5 }
"""
UNKNOWN = Unknown(reason="there is no price book")
positive = st.floats(1e-3, 1e6)


def power() -> Rate:
    found = find_rate([parse_book(POWER, "team.toml")], BookKind.POWER, "H200", date(2026, 5, 1))
    assert isinstance(found, Rate)
    return found


def price(usd: str) -> Rate:
    text = POWER.replace('"power"', '"price"').replace("kw = 1.5", f"own = {usd}")
    found = find_rate([parse_book(text, "team.toml")], BookKind.PRICE, "H200", date(2026, 5, 1), "own")
    assert isinstance(found, Rate)
    return found


def test_the_formulas_equal_sums_done_by_hand() -> None:
    assert usd_per_million(Fraction("1.8"), 500) == 1
    assert float(usd_per_million(1.95, 4924.242424242424)) == pytest.approx(0.11, rel=1e-12)
    assert tok_s_per_mw(1200, Fraction("1.5")) == 800_000
    assert joules_per_token(500, 2) == 4
    assert tok_s_user(12.5) == 80


@settings(deadline=None)
@given(positive, positive, st.floats(1.01, 100))
def test_cost_falls_with_throughput_and_scales_with_the_price(usd: float, rate: float, times: float) -> None:
    assert usd_per_million(usd, rate * times) < usd_per_million(usd, rate)
    assert usd_per_million(Fraction(usd) * Fraction(times), rate) == usd_per_million(usd, rate) * Fraction(times)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_price_or_rate_that_is_no_number_above_0_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"usd_per_gpu_hour: expected a .*above 0"):
        usd_per_million(value, 1)
    with pytest.raises(ValueError, match=r"tok_s_per_gpu: expected a .*above 0"):
        usd_per_million(1, value)


def test_cost_needs_both_a_price_and_a_throughput() -> None:
    rates = tokens_per_gpu({"output_tok_s": 4000.0, "total_tok_s": 6000.0}, {"gpu_count": 8})
    costs = derive_cost(rates, price("1.8"))
    assert costs["usd_per_m_output_tokens"].value == pytest.approx(1.0, rel=1e-12)
    assert costs["usd_per_m_input_tokens"].value == pytest.approx(2.0, rel=1e-12)
    assert costs["usd_per_m_output_tokens"].editions == ("team/2026",)
    for found in (derive_cost(rates, UNKNOWN), derive_cost(tokens_per_gpu({}, {"gpu_count": 8}), price("1.8"))):
        assert all(one.value is None and one.reason for one in found.values())


def test_power_is_measured_where_that_is_valid_and_from_the_book_otherwise() -> None:
    rates = tokens_per_gpu({"output_tok_s": 1000.0}, {"gpu_count": 1})
    measured = derive_energy(rates, {"power_w": 500.0}, (), power())["j_per_output_token"]
    assert (measured.value, measured.editions) == (0.5, ())
    for values, flags in (({"power_w": 500.0}, ("snapshot",)), ({}, ())):
        booked = derive_energy(rates, values, flags, power())["j_per_output_token"]
        assert (booked.value, booked.editions) == (1.5, ("team/2026",))
    nothing = derive_energy(rates, {}, (), UNKNOWN)["j_per_output_token"]
    assert nothing.value is None
    assert "power was not measured" in nothing.reason


def test_power_of_several_gpus_is_no_power_of_one() -> None:
    rates = tokens_per_gpu({"output_tok_s": 1000.0}, {"gpu_count": 1})
    above = derive_energy(rates, {"power_w": 8000.0}, (), power())["j_per_output_token"]
    assert above.value is None
    assert "power_w is 8,000 W, expected the mean of one GPU" in above.reason
    assert derive_energy(rates, {"power_w": 8000.0}, (), UNKNOWN)["j_per_output_token"].value == 8


def test_figures_of_one_run_that_contradict_one_another_are_left_out_with_the_reason() -> None:
    fewer = tokens_per_gpu({"output_tok_s": 8000.0, "total_tok_s": 4000.0}, {"gpu_count": 8})
    assert [one.value for one in fewer.values()] == [None, None, None]
    assert "all tokens (500 tok/s/GPU) are fewer than output tokens (1000)" in fewer["output"].how
    miscounted = {"output_tok_s": 8000.0, "output_tok_s_per_gpu": 8000.0}
    found = tokens_per_gpu(miscounted, {"gpu_count": 8})["output"]
    assert found.value is None
    assert "is the number of GPUs right?" in found.how
    assert tokens_per_gpu(miscounted, {"gpu_count": 1})["output"].value == 8000
    apart = {"prefill_gpus": 4, "decode_gpus": 4, "tool": "inferencex"}
    assert tokens_per_gpu({"output_tok_s": 8000.0, "output_tok_s_per_gpu": 2000.0}, apart)["output"].value == 1000


def test_interactivity_is_as_measured_or_from_the_time_per_token() -> None:
    assert derive_interactivity({"tok_s_user": 60.0, "tpot_p50_ms": 10.0}).value == 60
    assert derive_interactivity({"tpot_p50_ms": 10.0, "tpot_mean_ms": 20.0}).value == 100
    assert derive_interactivity({}).value is None


def test_disaggregated_serving_is_divided_by_prefill_and_decode_gpus() -> None:
    labels = {"layout": "disaggregated; prefill: num_workers 2, tp 4; decode: num_workers 1, tp 8"}
    found = count_gpus(labels)
    assert (found.total, found.decode) == (16, 8)
    decode_only = tokens_per_gpu({"output_tok_s_per_gpu": 100.0}, {**labels, "tool": "inferencex"})["output"]
    assert decode_only.value == 50


@pytest.mark.parametrize(
    ("labels", "hardware", "total"),
    [({"gpu_count": 8, "tp": 4}, {}, 8), ({"tp": 4, "pp": 2}, {}, 8), ({}, {"gpu_count": 1}, 1),
     ({}, {"gpu_count": 8}, None),
     ({"tp": 2, "dp": 4}, {}, None), ({"layout": "disaggregated"}, {}, None),
     ({"layout": "disaggregated; prefill: num_workers ², tp 4"}, {}, None),
     ({"gpu_count": 9, "prefill_gpus": 4, "decode_gpus": 4}, {}, None)],
)  # fmt: skip
def test_gpus_are_counted_only_where_they_are_stated(
    labels: dict[str, str | int], hardware: dict[str, str | int], total: int | None
) -> None:
    found = count_gpus(labels, hardware)
    assert found.total == total
    assert found.how
