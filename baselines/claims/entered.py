"""A claim as somebody states it: figures with the digits they were printed with, and what was held constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Figure = Literal[
    "usd_per_m_tokens",
    "tok_s_per_gpu",
    "tok_s_per_mw",
    "j_per_token",
    "tok_s_user",
    "usd_per_gpu_hour",
    "kw_per_gpu",
]
FIGURES: Mapping[str, Literal["higher", "lower"]] = {
    "usd_per_m_tokens": "lower",
    "tok_s_per_gpu": "higher",
    "tok_s_per_mw": "higher",
    "j_per_token": "lower",
    "tok_s_user": "higher",
    "usd_per_gpu_hour": "lower",
    "kw_per_gpu": "lower",
}
"""Figure -> which way is better."""
HOLDABLE = ("price", "power", "workload")
KINDS = ("software", "hardware", "price", "level")
"""What a claim says the change is of; `level` states a figure and no change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A number with the interval that its printed digits allow: 0.02 may be anything from 0.015 to 0.025."""

    value: Fraction
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.value <= self.high:
            raise ValueError(f"expected 0 < low <= value <= high, found {self.low}, {self.value}, {self.high}")

    def over(self, other: Ratio) -> Ratio:
        """Return this over the other, with the widest interval of both."""
        return Ratio(value=self.value / other.value, low=self.low / other.high, high=self.high / other.low)

    def times(self, other: Ratio) -> Ratio:
        """Return the product, with the widest interval of both."""
        return Ratio(value=self.value * other.value, low=self.low * other.low, high=self.high * other.high)

    def meets(self, other: Ratio) -> bool:
        """Return whether the two intervals have a number in common."""
        return self.low <= other.high and other.low <= self.high


ONE = Ratio(value=Fraction(1), low=Fraction(1), high=Fraction(1))


def exact(value: Fraction) -> Ratio:
    """Return a number that is known exactly."""
    return Ratio(value=value, low=value, high=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is stated of one of the two times: figures, and texts such as gpu, model, date, release."""

    figures: Mapping[str, Ratio] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim with its source."""

    name: str
    says: str
    source: str
    before: Side
    after: Side
    stated: Mapping[str, Ratio]
    """Figure -> after / before, as the claim states it."""
    held: tuple[str, ...]
    """What the source says was the same on both sides."""
    kind: str | None
    """What the claim says it is of."""
