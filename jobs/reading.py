"""Reads one result file: finds the tool that wrote it, lets its parser read it, and turns every end into an outcome."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jobs import plugins
from jobs.content import Content
from jobs.errors import Cut, Failed, NoResult, UnknownPlugin
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult, Reading
from jobs.metrics import find_metric
from jobs.protocols import Parser

AUTO = "auto"


@lru_cache(maxsize=1)
def all_parsers() -> Mapping[str, Parser]:
    """Return every parser by its plugin's name, outside ones too; raise UnknownPlugin if one cannot be imported."""
    names = sorted(plugins.known_plugins(plugins.FAMILIES["parser"], "tracker.parser"))
    return {name: plugins.load("parser", name).create() for name in names}


def parser_of(tool: str) -> Parser:
    """Return the parser that reads a tool's files, by the tool's id or the plugin's name; raise UnknownPlugin."""
    by_tool = {found: parser for parser in all_parsers().values() for found in parser.tools}
    known = {**all_parsers(), **by_tool}
    if tool not in known:
        raise UnknownPlugin(f"no parser reads {tool!r}; known tools: {', '.join(sorted(by_tool))}")
    return known[tool]


def recognise(content: Content) -> tuple[Parser, str] | None:
    """Return who reads `content` and the tool's id; None if nobody or more than one claims it."""
    claims = [(parser, tool) for parser in all_parsers().values() if (tool := parser.recognises(content))]
    return claims[0] if len(claims) == 1 else None


def read_result(content: Content, tool: str = AUTO, asked: Mapping[str, Label] | None = None) -> ParseResult:
    """Return what a result file holds; `tool` is a tool's id, a plugin's name, or `auto` to find it from the content.

    Raises UnknownPlugin for an unknown tool; whatever the content is, the answer is an outcome. A parser that breaks is
    a fault of the parser: the file is refused with the place, so that it stops no other file.
    """
    named = None if tool == AUTO else parser_of(tool)
    wrote = "" if named is None else tool
    try:
        if content.problem:
            return _end(wrote, ParseOutcome.REFUSED, content.problem)
        found = recognise(content) if named is None else _recognised_by(named, content)
        if found is None or (named is not None and tool in named.tools and tool != found[1]):
            return _end(wrote, ParseOutcome.REFUSED, _not_recognised(content, tool))
        parser, wrote = found
        return parser.parse(content, wrote, asked or {})
    except NoResult as error:
        return _end(wrote, _OUTCOMES.get(type(error), ParseOutcome.REFUSED), str(error))
    except OSError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name} line {place.lineno}"
        return _end(
            wrote, ParseOutcome.REFUSED, f"{FAULT} ({where}: {type(error).__name__}: {error}); please report it"
        )


FAULT = "a fault in the parser"
_OUTCOMES: Mapping[type[NoResult], ParseOutcome] = {Failed: ParseOutcome.FAILED, Cut: ParseOutcome.PARTIAL}


def _recognised_by(parser: Parser, content: Content) -> tuple[Parser, str] | None:
    wrote = parser.recognises(content)
    return (parser, wrote) if wrote else None


def _not_recognised(content: Content, tool: str) -> str:
    others = [found for parser in all_parsers().values() if (found := parser.recognises(content))]
    if not others and (broken := content.broken_json):
        return broken
    start = " ".join(content.sample.split())[:60]
    if tool != AUTO:
        what = f"one of {' or '.join(others)}" if others else f"what no parser knows; it starts with {start!r}"
        return f"expected a result of {tool}, found {what}"
    if others:
        return f"more than one tool could have written this: {' or '.join(others)}; name it with --tool"
    return f"no parser knows what wrote this; it starts with {start!r}. `tracker parsers list` shows what is read"


def refused(reason: str) -> ParseResult:
    """Return the outcome of what could not even be opened."""
    return _end("", ParseOutcome.REFUSED, reason)


def _end(tool: str, outcome: ParseOutcome, reason: str) -> ParseResult:
    return ParseResult(tool=tool, outcome=outcome, reason=reason)


def result_json(path: str, result: ParseResult) -> dict[str, Any]:
    """Return a parse as plain data in the documented schema (see parsers/README.md)."""
    return {
        "path": path,
        "tool": result.tool or None,
        "outcome": result.outcome.value,
        "reason": result.reason or None,
        "version": result.version,
        "runs": [_run_json(run) for run in result.runs],
    }


def _run_json(run: ParsedRun) -> dict[str, Any]:
    metrics = {name: _reading_json(reading, find_metric(name).direction.value) for name, reading in run.metrics.items()}
    own = {name: _reading_json(reading, "unknown") for name, reading in run.own.items()}
    return {
        "labels": {**run.facts, **run.labels},
        "metrics": {**metrics, **own},
        "flags": list(run.flags),
        "quarantined": [{"key": r.key, "raw": r.raw, "unit": r.unit, "reason": r.reason} for r in run.rejected],
    }


def _reading_json(reading: Reading, direction: str) -> dict[str, Any]:
    shown = {
        "value": reading.value,
        "unit": reading.unit,
        "direction": direction,
        "raw": reading.raw,
        "raw_unit": reading.raw_unit,
        "key": reading.key,
    }
    return shown if reading.samples is None else {**shown, "samples": reading.samples}
