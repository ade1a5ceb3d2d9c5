"""Builds one run of a parse: converts, doubts and sets aside, so that no parser can let a wrong value through."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from jobs.errors import UserError
from jobs.labels import IDENTITY_LABELS, label_problem
from jobs.measurements import Label, ParsedRun, Reading, Rejected
from jobs.metrics import Key, Kind, find_metric
from jobs.strict_json import Number, shown
from jobs.units import convert

NOT_MEASURED = frozenset({"", "-", "n/a", "[n/a]", "na", "none", "null", "[not supported]", "not supported"})
"""How tools write that there is no value (lower case); such a value is simply absent."""


class RunBuilder:
    """Collects what one result says: `label`, `fact`, `take`, `flag`, then `build`."""

    def __init__(self) -> None:
        self._labels: dict[str, Label] = {}
        self._facts: dict[str, Label] = {}
        self._metrics: dict[str, Reading] = {}
        self._own: dict[str, Reading] = {}
        self._flags: dict[str, None] = {}
        self._rejected: list[Rejected] = []

    @property
    def metrics(self) -> Mapping[str, Reading]:
        """The values taken so far."""
        return self._metrics

    def label(self, name: str, value: object) -> None:
        """Set a label: identity where its name is one, else a fact. Blanks are not set, misfits are set aside."""
        plain = plain_value(value)
        if plain is None:
            return
        if name not in IDENTITY_LABELS:
            self._facts[name] = plain
        elif problem := label_problem(name, plain):
            self.reject(f"label {name}", plain, problem)
        else:
            self._labels[name] = plain

    def fact(self, name: str, value: object) -> None:
        """Set a fact, also under a name that is otherwise identity (a concurrency that was measured)."""
        plain = plain_value(value)
        if plain is not None:
            self._facts[name] = plain

    def take(
        self,
        own_key: str,
        key: Key,
        raw: object,
        *,
        samples: int | None = None,
        spread: str | None = None,
        said: str = "",
    ) -> None:
        """Take the value that a tool printed under `own_key`; one that may not enter a series is set aside.

        Numbers in words such as `n/a` are absent. A latency of 0 sets the flag `implausible_zero`, failed requests
        set `requests_failed`. `spread` is a standard deviation in the key's unit. `said` stands in place of the digits
        where the parser computed the value from many.
        """
        text = str(raw).strip() if raw is not None else ""
        if text.lower() in NOT_MEASURED:
            return
        metric = find_metric(key.metric)
        try:
            value = convert(text, key.unit, metric.unit)
            deviation = None if spread is None else convert(spread, key.unit, metric.unit)
            doubt = metric.doubt(value)
        except UserError as error:
            value, deviation, doubt = float("nan"), None, str(error)
        if not doubt and deviation is not None and deviation < 0:
            doubt = f"its spread is a standard deviation and cannot be negative, found {spread}"
        if doubt:
            if metric.kind is Kind.LATENCY and value == 0:
                self.flag("implausible_zero")
            self.reject(own_key, raw, doubt, key.unit)
            return
        if metric.name in self._metrics:
            earlier = self._metrics[metric.name]
            if earlier.value != value:
                self.reject(own_key, raw, f"{metric.name} is already given as {earlier.key!r}: {earlier.raw}", key.unit)
            return
        self._metrics[metric.name] = Reading(
            value=value,
            unit=metric.unit,
            key=own_key,
            raw=said or text,
            raw_unit=key.unit,
            samples=samples,
            spread=deviation,
        )
        if metric.name == "requests_failed" and value > 0:
            self.flag("requests_failed")

    def take_as(
        self,
        own_key: str,
        metric: str,
        unit: str,
        raw: object,
        *,
        samples: int | None = None,
        spread: str | None = None,
    ) -> None:
        """Take a value as `take` does, where the unit stands in the file: one that does not fit sets it aside."""
        try:
            key = Key(metric, unit)
        except (UserError, ValueError) as error:
            self.reject(own_key, raw, str(error), unit)
            return
        self.take(own_key, key, raw, samples=samples, spread=spread)

    def take_own(self, name: str, raw: object, unit: str) -> None:
        """Take a value under the tool's own name and unit, which no series will ever hold."""
        try:
            value = convert(str(raw), "count", "count")
        except UserError as error:
            self.reject(name, raw, str(error), unit)
            return
        self._own[name] = Reading(value=value, unit=unit, key=name, raw=str(raw), raw_unit=unit)

    def reject(self, own_key: str, raw: object, reason: str, unit: str = "") -> None:
        """Set a value aside with its reason."""
        self._rejected.append(Rejected(key=own_key, raw=shown(raw), reason=reason, unit=unit))

    def unknown(self, own_key: str, raw: object, tool: str) -> None:
        """Set aside a number under a key that this tool's parser has not met."""
        self.reject(own_key, raw, f"unknown key of {tool}: it has no entry in the catalogue")

    def flag(self, name: str) -> None:
        """Set a flag once."""
        self._flags[name] = None

    def build(self) -> ParsedRun:
        """Return the run."""
        return ParsedRun(
            labels=MappingProxyType(self._labels),
            metrics=MappingProxyType(self._metrics),
            facts=MappingProxyType(self._facts),
            flags=tuple(self._flags),
            rejected=tuple(self._rejected),
            own=MappingProxyType(self._own),
        )


def plain_value(value: object) -> Label | None:
    """Return a text, number or truth value as plain data: digits become numbers; None for blanks and anything else."""
    if isinstance(value, Number):
        try:
            number = convert(value, "count", "count")
        except UserError:
            return None
        return int(value) if value.lstrip("-").isdigit() else number
    if isinstance(value, str):
        return value.strip() or None
    return value if isinstance(value, bool | int | float) else None


_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def without_thousands(text: str) -> str:
    """Return the number without its separators (`1,146.31` is `1146.31`); anything else as it is."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text.strip()) else text


def number_label(text: str) -> Label | None:
    """Return a number printed in a log as int or float; None if it is not one (`1,5` is none: it may mean 1.5)."""
    return plain_value(Number(without_thousands(text).strip()))
