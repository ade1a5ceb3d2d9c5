"""The text of claims entered by hand, read strictly: every mistake is told at once with file, key and cure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from baselines.claims.entered import FIGURES, HOLDABLE, KINDS, Claim, Ratio, Side
from baselines.problems import Problems

_CLAIM_KEYS = ("name", "says", "source", "kind", "held", "stated", "before", "after")
_TEXTS = ("gpu", "model", "date", "release", "precision", "workload", "note")
_LARGEST = Decimal(10) ** 12


def parse_claims(text: str, file: str) -> list[Claim]:
    """Return the claims that a TOML text holds; ValueError with one line for each mistake."""
    problems = Problems(file)
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{file}: the whole file: expected TOML, found {error}") from error
    problems.refuse_unknown("", document, ("claim",))
    tables = document.get("claim")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        problems.add("claim", "one [[claim]] table or more", "nothing" if tables is None else tables)
        tables = []
    claims = [_read(problems, f"claim[{place}].", table) for place, table in enumerate(tables, 1)]
    names = [claim.name for claim in claims]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        problems.add("claim.name", "a name of its own for each claim", name)
    if problems.found:
        raise ValueError("\n".join(problems.found))
    return claims


def _read(problems: Problems, where: str, table: Mapping[str, Any]) -> Claim:
    problems.refuse_unknown(where, table, _CLAIM_KEYS)
    before, after = (_read_side(problems, f"{where}{name}", table.get(name, {})) for name in ("before", "after"))
    stated = _read_figures(problems, f"{where}stated", table.get("stated", {}), ratios=True)
    if not before.figures and not after.figures and not stated:
        problems.add(f"{where}after", f"a figure ({', '.join(FIGURES)}), or stated ratios", "none")
    days = [_day_of(side.texts.get("date")) for side in (before, after)]
    if days[0] and days[1] and days[0] > days[1]:
        problems.add(f"{where}after.date", f"a day from before.date ({days[0]}) on", str(days[1]))
    return Claim(
        name=problems.text(where, table, "name", needed=True, name=True),
        says=problems.text(where, table, "says", needed=True),
        source=problems.text(where, table, "source", needed=True),
        before=before,
        after=after,
        stated=stated,
        held=_read_held(problems, f"{where}held", table.get("held", [])),
        kind=_read_kind(problems, f"{where}kind", table.get("kind")),
    )


def _day_of(text: str | None) -> date | None:
    """Return the day of a text; None for none, and for what is no day, such as a quarter."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _read_kind(problems: Problems, key: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value in KINDS):
        return value
    problems.add(key, f"one of {', '.join(KINDS)}", value)
    return None


def _read_held(problems: Problems, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) and one in HOLDABLE for one in value):
        return tuple(value)
    problems.add(key, f"a list of {', '.join(HOLDABLE)}", value)
    return ()


def _read_side(problems: Problems, where: str, table: object) -> Side:
    if not isinstance(table, dict):
        problems.add(where, 'a table such as { gpu = "B200", usd_per_m_tokens = 0.02 }', table)
        return Side()
    problems.refuse_unknown(f"{where}.", table, (*_TEXTS, *FIGURES))
    figures = {key: value for key, value in table.items() if key in FIGURES}
    texts = {key: _text(problems, f"{where}.{key}", value) for key, value in table.items() if key in _TEXTS}
    return Side(figures=_read_figures(problems, where, figures, ratios=False), texts=texts)


def _text(problems: Problems, key: str, value: object) -> str:
    text = str(value).strip() if isinstance(value, str) or hasattr(value, "isoformat") else ""
    if not text:
        problems.add(key, "a text or a date", value)
    return text


def _read_figures(problems: Problems, where: str, table: object, *, ratios: bool) -> dict[str, Ratio]:
    if not isinstance(table, dict):
        problems.add(where, "a table of figures", table)
        return {}
    problems.refuse_unknown(f"{where}.", table, tuple(FIGURES))
    found = {}
    for key, value in table.items():
        number = read_ratio(value) if ratios or not isinstance(value, str) else None
        if number is None:
            wanted = 'a number above 0, or a share such as "1/35"' if ratios else "a number above 0"
            problems.add(f"{where}.{key}", wanted, value)
        elif key in FIGURES:
            found[key] = number
    return found


def read_ratio(value: object) -> Ratio | None:
    """Return a number, or a share written as `1/35`, with what its printed digits allow; None for anything else."""
    if isinstance(value, str):
        parts = [_number(part) for part in value.split("/")]
        if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
            return parts[0].over(parts[1]) if value.split("/")[0].strip() != "1" else _inverse(parts[1])
        return None
    return _number(value)


def _inverse(one: Ratio) -> Ratio:
    return Ratio(value=1 / one.value, low=1 / one.high, high=1 / one.low)


def _number(value: object) -> Ratio | None:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    try:
        number = Decimal(value)
    except (InvalidOperation, ValueError):
        return None
    if not number.is_finite() or not 0 < number <= _LARGEST:
        return None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    half = Fraction(Decimal(1).scaleb(exponent)) / 2
    exactly = Fraction(number)
    return Ratio(value=exactly, low=max(exactly - half, exactly / 2), high=exactly + half)
