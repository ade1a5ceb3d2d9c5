from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.units import UNITS, convert, find_unit

finite = st.floats(min_value=1e-200, max_value=1e200)


@pytest.mark.parametrize(
    ("value", "unit", "into", "expected"),
    [
        (0.0056, "s", "ms", 5.6),
        ("0.0000056", "s", "us", 5.6),
        (5_600_000, "ns", "ms", 5.6),
        (1, "GiB", "GB", 1.073741824),
        (1, "MiB", "GB", 0.001048576),
        (99.5, "%", "fraction", 0.995),
        (2, "MJ", "J", 2_000_000.0),
        (2, "mJ", "J", 0.002),
        (7, "tokens/sec", "tok/s", 7.0),
        (Decimal("0.1"), "s", "ms", 100.0),
    ],
)
def test_a_conversion_is_exact(value: object, unit: str, into: str, expected: float) -> None:
    assert convert(value, unit, into) == expected  # type: ignore[arg-type]


@given(finite)
def test_a_conversion_is_the_float_nearest_to_the_printed_digits(value: float) -> None:
    assert convert(value, "s", "ms") == float(Fraction(Decimal(repr(value))) * 1000)


@given(finite, st.sampled_from(UNITS), st.sampled_from(UNITS))
def test_there_and_back_gives_the_same_number_within_one_ulp(value: float, one: object, other: object) -> None:
    if one.dimension != other.dimension:  # type: ignore[attr-defined]
        return
    there = convert(value, one.symbol, other.symbol)  # type: ignore[attr-defined]
    back = convert(there, other.symbol, one.symbol)  # type: ignore[attr-defined]
    assert abs(back - value) <= math.ulp(value)


def test_case_counts_and_an_unknown_unit_names_the_near_ones() -> None:
    assert find_unit("mJ").factor != find_unit("MJ").factor
    with pytest.raises(UserError, match=r"unknown unit 'MS'.*Use one of: .*MB"):
        find_unit("MS")


def test_no_name_means_two_units() -> None:
    names = [name for unit in UNITS for name in (unit.symbol, *unit.aliases)]
    assert len(names) == len(set(names))


def test_different_dimensions_do_not_convert() -> None:
    with pytest.raises(UserError, match=r"cannot turn tok/s \(token rate\) into ms \(time\)"):
        convert(1, "tok/s", "ms")


@pytest.mark.parametrize("value", ["", "five", "NaN", "inf", "-Infinity", "9" * 5000, "1e999999999", "1e401"])
def test_what_is_not_a_finite_number_is_a_user_error(value: object) -> None:
    with pytest.raises(UserError, match="number in s"):
        convert(value, "s", "s")  # type: ignore[arg-type]


def test_an_integer_too_long_to_print_is_a_user_error() -> None:
    with pytest.raises(UserError, match="number in s"):
        convert(10**5000, "s", "s")


def test_a_result_that_overflows_is_a_user_error() -> None:
    with pytest.raises(UserError, match="more than a float can hold"):
        convert("1e308", "s", "ns")
