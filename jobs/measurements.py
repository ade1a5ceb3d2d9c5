"""What a parser returns: values in canonical units with where they came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

Label = str | int | float | bool


class ParseOutcome(StrEnum):
    """What became of one result file."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    INVALID = "invalid"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One metric of one result: finite, in the catalogue's unit, with the text it was read from."""

    value: float
    unit: str
    key: str
    raw: str
    raw_unit: str
    samples: int | None = None
    """How many requests or iterations stand behind the value; None where the tool does not say."""
    spread: float | None = None
    """Standard deviation over those samples, in `unit`; None where unknown."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a reading must be finite, found {self.value!r} under {self.key!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A value that was printed but may not enter a series, and why."""

    key: str
    raw: str
    reason: str
    unit: str = ""
    """The unit it was printed in; empty where the tool does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRun:
    """One result inside an output: what was measured, under which labels."""

    labels: Mapping[str, Label]
    """Identity: what was asked for (model, precision, isl, osl, concurrency ...)."""
    metrics: Mapping[str, Reading]
    """Canonical metric name -> reading."""
    facts: Mapping[str, Label] = field(default_factory=lambda: MappingProxyType({}))
    """Not identity: versions, measured lengths, thread placement."""
    flags: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    own: Mapping[str, Reading] = field(default_factory=lambda: MappingProxyType({}))
    """Values under names and units of the tool's own: shown and kept aside, never a point until someone maps them."""

    @property
    def barred(self) -> str | None:
        """Why none of its values may enter a series although they were read well; None where they may."""
        if "snapshot" in self.flags:
            return "a reading of one moment, not a measurement of a benchmark"
        doubtful = next((one for one in self.rejected if one.key.startswith("label ")), None)
        return None if doubtful is None else f"nobody can say which series it belongs to: {doubtful.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseResult:
    """Everything one parse found; `runs` is empty unless the outcome is ok or partial."""

    tool: str
    outcome: ParseOutcome
    reason: str = ""
    version: str | None = None
    """The version of the software under test as the tool printed it."""
    runs: tuple[ParsedRun, ...] = ()
