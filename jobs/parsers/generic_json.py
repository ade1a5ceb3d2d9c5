"""Reads lists of {name, unit, value} as github-action-benchmark's custom tools take them.

Names and units are the writer's own: nothing is canonical, and no direction is known, until a person maps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, is_text, shown

TOOL = "generic_json"
_KEYS = frozenset({"name", "unit", "value", "range", "extra", "biggerIsBetter"})


class GenericJson:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "lists of name, unit, value (customBiggerIsBetter, customSmallerIsBetter)"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {}}

    def recognises(self, content: Content) -> str | None:
        """Return the id for a list whose first entry has a name, a unit and a value."""
        outline = content.outline
        first = outline[0] if isinstance(outline, list) and outline else None
        return TOOL if isinstance(first, dict) and {"name", "unit"} <= first.keys() <= _KEYS else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run with every value under its own name."""
        run = RunBuilder()
        taken: dict[str, tuple[str, str]] = {}
        for entry in content.document:
            _take(run, entry, taken)
        built = run.build()
        if not built.own:
            raise Failed(f"no entry has a usable value: {built.rejected[0].reason if built.rejected else 'none'}")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(built,))


def _take(run: RunBuilder, entry: Any, taken: dict[str, tuple[str, str]]) -> None:
    """Take one entry; one that says something else under a name taken before is set aside."""
    if not isinstance(entry, dict) or not is_text(entry.get("name")) or not is_text(entry.get("unit")):
        raise Refused(f"expected an object with name, unit and value, found {shown(entry)}")
    name, unit, value = entry["name"].strip(), entry["unit"], entry.get("value")
    if not name:
        raise Refused("expected a name that is not empty")
    if not isinstance(value, Number):
        run.reject(name, value, "expected a number", unit)
    elif name in taken:
        if taken[name] != (value, unit):
            run.reject(name, value, f"the name is already given with {taken[name][0]} {taken[name][1]}", unit)
    else:
        taken[name] = (value, unit)
        run.take_own(name, value, unit)


def create() -> GenericJson:
    """Return the parser."""
    return GenericJson()
