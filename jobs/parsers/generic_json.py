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
from jobs.strict_json import is_text, shown

TOOL = "generic_json"
_KEYS = frozenset({"name", "unit", "value", "range", "extra"})


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
        own = isinstance(first, dict) and {"name", "unit"} <= first.keys() <= _KEYS
        return TOOL if own else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run with every value under its own name."""
        run = RunBuilder()
        for entry in content.document:
            _take(run, entry)
        built = run.build()
        if not built.own:
            raise Failed("no entry has a usable value")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(built,))


def create() -> GenericJson:
    """Return the parser."""
    return GenericJson()


def _take(run: RunBuilder, entry: Any) -> None:
    if not isinstance(entry, dict) or not is_text(entry.get("name")) or not is_text(entry.get("unit")):
        raise Refused(f"expected an object with name, unit and value, found {shown(entry)}")
    run.take_own(entry["name"], entry.get("value"), entry["unit"])
