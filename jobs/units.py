"""Units and exact conversions between them: decimal shifts on the digits as printed, so 0.0056 s is 5.6 ms."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction

from jobs.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit: units of one `dimension` convert into one another, `factor` being its size in the smallest common one."""

    symbol: str
    dimension: str
    factor: Fraction
    aliases: tuple[str, ...] = ()


def _unit(symbol: str, dimension: str, factor: str | int, *aliases: str) -> Unit:
    return Unit(symbol=symbol, dimension=dimension, factor=Fraction(factor), aliases=aliases)


UNITS = (
    _unit("s", "time", 1, "sec", "second", "seconds"),
    _unit("ms", "time", "1/1000", "millisecond", "milliseconds"),
    _unit("us", "time", "1/1000000", "µs", "usec", "microseconds"),
    _unit("ns", "time", "1/1000000000", "nsec", "nanoseconds"),
    _unit("B", "size", 1, "bytes"),
    _unit("MB", "size", 10**6),
    _unit("GB", "size", 10**9),
    _unit("KiB", "size", 2**10),
    _unit("MiB", "size", 2**20),
    _unit("GiB", "size", 2**30),
    _unit("fraction", "share", 1, "ratio"),
    _unit("%", "share", "1/100", "percent"),
    _unit("tok/s", "token rate", 1, "tokens/s", "tokens/sec", "tokens/second"),
    _unit("tok/s/GPU", "token rate per GPU", 1, "tokens/s/GPU", "tps/gpu"),
    _unit("tok/s/user", "token rate per user", 1, "tokens/s/user", "tokens/sec/user", "tps/user"),
    _unit("req/s", "request rate", 1, "req/sec", "requests/s", "requests/sec", "qps"),
    _unit("W", "power", 1, "watt", "watts"),
    _unit("mW", "power", "1/1000"),
    _unit("kW", "power", 1000),
    _unit("J", "energy", 1, "joule", "joules"),
    _unit("mJ", "energy", "1/1000"),
    _unit("kJ", "energy", 1000),
    _unit("MJ", "energy", 10**6),
    _unit("count", "count", 1),
)
_BY_NAME = {name: unit for unit in UNITS for name in (unit.symbol, *unit.aliases)}


def find_unit(name: str) -> Unit:
    """Return the unit of that symbol or alias; case counts (mJ is not MJ). Raise UserError with the near matches."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = get_close_matches(name, _BY_NAME, n=3) or sorted(unit.symbol for unit in UNITS)
    raise UserError(f"unknown unit {name!r}; upper and lower case differ. Use one of: {', '.join(near)}")


LONGEST_NUMBER = 400
"""Characters; a longer one is not a measurement, and exact arithmetic on it would take for ever."""


def _digits(value: int | float | str | Decimal, unit: str) -> Decimal:
    """Return the value as exact decimal digits; raise UserError unless it is a finite number of sane size."""
    try:
        text = str(value)
        digits = Decimal(text) if len(text) <= LONGEST_NUMBER else Decimal("Infinity")
    except (InvalidOperation, ValueError) as error:
        raise UserError(f"expected a number in {unit}, found something else") from error
    if not digits.is_finite() or abs(digits.adjusted()) > LONGEST_NUMBER:
        raise UserError(f"expected a finite number in {unit}, found {text[:40]}")
    return digits


def convert(value: int | float | str | Decimal, unit: str, into: str) -> float:
    """Return the value in the unit `into`, correctly rounded from its digits; raise UserError where it cannot be."""
    source, target = find_unit(unit), find_unit(into)
    if source.dimension != target.dimension:
        raise UserError(f"cannot turn {unit} ({source.dimension}) into {into} ({target.dimension})")
    exact = Fraction(_digits(value, unit)) * source.factor / target.factor
    try:
        return float(exact)
    except OverflowError as error:
        raise UserError(f"expected a finite number in {into}, found more than a float can hold") from error
