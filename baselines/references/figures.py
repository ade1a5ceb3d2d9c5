"""Figures as pages print them (`2,494,310 tokens/sec`, `.2 images/sec`), their units, and what they are in ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from jobs.metrics import Direction, find_metric
from jobs.units import convert

NUMBER = r"(?:\d{1,3}(?:[,\u00a0\u202f']\d{3})+|\d{1,15})(?:\.\d{1,12})?|\.\d{1,12}"
_FIGURE = re.compile(rf"^(?P<number>{NUMBER})(?![\d.,])\s*(?P<unit>.*)$")
_GROUPS = re.compile(r"[,\u00a0\u202f']")
_NOTHING = frozenset({"", "-", "–", "—", "n/a", "na", "none", "tbd", "--"})
_COUNTED = {
    "token": "token",
    "tok": "token",
    "tk": "token",
    **dict.fromkeys(
        ("query", "querie", "sample", "image", "img", "request", "req", "inference", "infer", "video", "frame",
         "sequence", "sentence", "item", "page", "document"),
        "request",
    ),
}  # fmt: skip
_TIMES = {
    **dict.fromkeys(("second", "sec", "s"), "s"),
    **dict.fromkeys(("millisecond", "msec", "ms"), "ms"),
    **dict.fromkeys(("minute", "min"), "min"),
    **dict.fromkeys(("hour", "hr", "h"), "h"),
}
_SECONDS = {"s": Fraction(1), "ms": Fraction(1, 1000), "min": Fraction(60), "h": Fraction(3600)}
_SHORT = {"tps": "tokens/s", "qps": "queries/s", "fps": "frames/s", "ips": "images/s"}
_KINDS = frozenset({"output", "generated", "generation", "decode", "total", "input", "prompt", "prefill"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a printed unit says: what is counted, over which time, and for what (a GPU, a user, the whole system)."""

    counted: str
    """`token`, `request` (samples, queries, images ...) or `time` (a duration, where lower is better)."""
    kind: str = ""
    """Which tokens: output, total, input; empty where the page does not say."""
    seconds: Fraction = Fraction(1)
    """Length of the unit's time."""
    per: str = ""
    """`gpu`, `user`, or empty for the whole system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """A figure as the catalogue names it."""

    metric: str
    value: float
    unit: str
    direction: Direction


def is_nothing(text: str) -> bool:
    """Return whether a cell says that there is nothing."""
    return text.strip().casefold() in _NOTHING


def split_figure(text: str) -> tuple[str | None, str | None]:
    """Return number (no separators) and unit as printed; None for what is not there. (None, None): not a figure."""
    match = _FIGURE.match(text.strip())
    if match is None:
        return None, (text.strip() if read_unit(text) is not None else None)
    return _GROUPS.sub("", match["number"]), match["unit"].strip() or None


def is_figure(text: str) -> bool:
    """Return whether a text is a number with a unit that is known."""
    number, unit = split_figure(text)
    return number is not None and unit is not None and read_unit(unit) is not None


def is_rate(text: str) -> bool:
    """Return whether a text is a number with the unit of a rate."""
    number, unit = split_figure(text)
    known = read_unit(unit) if number is not None and unit is not None else None
    return known is not None and known.counted != "time"


def names_unit(text: str) -> bool:
    """Return whether a text is a rate's unit alone, its number missing."""
    unit = read_unit(text)
    return unit is not None and unit.counted != "time" and not text[:1].isdigit()


def is_bare_number(text: str) -> bool:
    """Return whether a text is a number and nothing else."""
    number, unit = split_figure(text)
    return number is not None and unit is None


def read_unit(text: str) -> Unit | None:
    """Return what a printed unit means, None for one that is not known (also one per watt)."""
    plain = re.sub(r"\s*(?:/|\bper\b)\s*", "/", text.casefold().strip())
    head, _, tail = plain.partition("/")
    plain = f"{_SHORT[head]}/{tail}".rstrip("/") if head in _SHORT else plain
    first, *rest = plain.split("/")
    words = first.split()
    if not words or not all(re.fullmatch(r"[a-z]+", word) for word in words):
        return None
    if not rest:
        time = _TIMES.get(_singular(words[0])) if len(words) == 1 else None
        return Unit(counted="time", seconds=_SECONDS[time]) if time else None
    counted = _COUNTED.get(_singular(words[-1]))
    kind = " ".join(words[:-1])
    if counted is None or (kind and (counted != "token" or kind not in _KINDS)):
        return None
    return _read_rest(counted, kind, [_singular(part.strip()) for part in rest])


def _read_rest(counted: str, kind: str, parts: list[str]) -> Unit | None:
    times = [_TIMES[part] for part in parts if part in _TIMES]
    owners = [part for part in parts if part in ("gpu", "user")]
    if len(times) != 1 or len(owners) + 1 != len(parts) or len(owners) > 1:
        return None
    return Unit(counted=counted, kind=kind, seconds=_SECONDS[times[0]], per=owners[0] if owners else "")


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 1 and word.endswith("s") and word not in ("ms", "tps") else word


def convert_figure(number: str, unit: Unit, gpus: int | None, *, tail: bool) -> Canonical | None:
    """Return the figure in the catalogue's metric and unit; None where the catalogue has none for it.

    A duration names no statistic; `tail` says that its source judges durations by their 90th percentile.
    """
    value = Fraction(number)
    if unit.counted == "time":
        metric = "latency_p90_ms" if tail else "latency_mean_ms"
        return _canonical(metric, convert(number, "s", "ms") if unit.seconds == 1 else value * unit.seconds * 1000)
    rate = value / unit.seconds
    if unit.counted == "request":
        if unit.per == "user" or (unit.per == "gpu" and not gpus):
            return None
        return _canonical("req_s", rate * (gpus or 1) if unit.per == "gpu" else rate)
    tokens = _token_metric(unit)
    return _canonical(tokens, rate) if tokens else None


def _token_metric(unit: Unit) -> str | None:
    if unit.per == "user":
        return "tok_s_user" if unit.kind in ("", "output", "generated", "generation", "decode") else None
    if unit.kind in ("input", "prompt", "prefill"):
        return None if unit.per else "prompt_tok_s"
    name = "total_tok_s" if unit.kind == "total" else "output_tok_s"
    return f"{name}_per_gpu" if unit.per == "gpu" else name


def _canonical(metric: str, value: Fraction | float) -> Canonical:
    known = find_metric(metric)
    return Canonical(metric=metric, value=float(value), unit=known.unit, direction=known.direction)


def share_of_one(number: str, unit: Unit, gpus: int | None) -> float | None:
    """Return the figure of one GPU in the printed unit; None for what cannot be shared out (durations, per user)."""
    if unit.per == "gpu":
        return float(Fraction(number))
    if unit.counted == "time" or unit.per or not gpus:
        return None
    return float(Fraction(number) / gpus)


def half_step(number: str) -> Fraction:
    """Return half of the last printed digit: how far the true value may lie from the printed one."""
    return Fraction(1, 2 * 10 ** len(number.partition(".")[2]))
